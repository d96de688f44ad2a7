"""Clients as they behave: every request is rebuilt, each call is in the session it belongs to."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger.events import CallCompleted, WindowRewritten

from .habits import HABITS
from .traffic import (  # fmt: skip
    Recording,
    Taken,
    agent,
    answer,
    said,
    stream,
    take,
    text,
    use,
    user,
)

Json = dict[str, Any]


def check(recording: Recording, taken: Taken) -> None:
    assert [json.dumps(body, sort_keys=True) for body in taken.requests] == [
        json.dumps(body, sort_keys=True) for body in recording.sent
    ]
    pairs = set(zip(recording.truth, taken.sessions, strict=True))
    assert len(pairs) == len({truth for truth, _ in pairs}), "a conversation is split"
    assert len(pairs) == len({session for _, session in pairs}), "conversations are glued"


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.__name__)
def test_a_habit(habit: Callable[[Recording], None], tmp_path: Path) -> None:
    recording = Recording()
    habit(recording)
    check(recording, take(recording.data, tmp_path))


@pytest.mark.parametrize("seed", range(12))
def test_clients_of_all_habits_at_the_same_time(seed: int, tmp_path: Path) -> None:
    """Calls of several clients in one file, in any order that each could have sent them."""
    rng = random.Random(seed)
    queues = []
    for habit in rng.sample(HABITS, 4):
        alone = Recording()
        habit(alone)
        for row, body in zip(alone.rows, alone.sent, strict=True):
            name = {"type": "text", "text": f"You work on {habit.__name__}."}
            body["messages"][0]["content"].insert(0, name)
            assert row["request"]["body"] is body
        queues.append([(habit.__name__, *entry) for entry in
                       zip(alone.truth, alone.rows, alone.sent, strict=True)])  # fmt: skip
    mixed = Recording()
    while any(queues):
        habit_name, truth, row, body = rng.choice([q for q in queues if q]).pop(0)
        mixed.truth.append(f"{habit_name} {truth}")
        mixed.rows.append(row)
        mixed.sent.append(body)
    check(mixed, take(mixed.data, tmp_path))


def test_a_call_cut_off_and_sent_again_is_a_retry(tmp_path: Path) -> None:
    recording, body = Recording(), agent(user("a"))
    whole = stream(answer(1, "a long answer", use("t1", path="x")))
    recording.pair("agent", body, body_raw=whole[: len(whole) * 2 // 3])
    error = {"type": "overloaded_error", "message": "busy"}
    started = whole[: whole.index("event: message_delta")]
    recording.pair("agent", body, body_raw=started + f"event: error\ndata: "
                   f"{json.dumps({'type': 'error', 'error': error})}\n\n")  # fmt: skip
    recording.pair("agent", body, status_code=429)
    recording.pair("agent", body, body_raw=whole)
    recording.pair("agent", body, body_raw=whole)
    taken = take(recording.data, tmp_path)
    check(recording, taken)
    assert [event.is_retry for _, _, event in taken.calls] == [False, True, True, True, False]
    outcomes = [e.event.outcome for e in taken.main.events() if isinstance(e.event, CallCompleted)]
    assert outcomes == ["cut_off", "error", "error", "ok", "ok"]


def test_a_failed_compaction_of_the_provider_drops_nothing(tmp_path: Path) -> None:
    recording = Recording()
    asks = {"context_management": {"edits": [{"type": "compact_20260112"}]}}
    history = [user("go")]
    for number, summary in enumerate(["first", "second", None]):
        blocks = [{"type": "compaction", "content": summary}, text(f"r{number}")]
        body = answer(number, *blocks)
        recording.pair("agent", agent(*history, **asks), body=body)
        history += [said(*blocks), user(f"n{number}")]
    recording.pair("agent", agent(*history, **asks), "end")
    taken = take(recording.data, tmp_path)
    check(recording, taken)
    for at in (taken.calls[-1][1], "head"):
        shown = taken.main.window(at, view="effective").entries
        words = [e.block.text for e in shown if e.role not in ("system", "tools")]
        assert words[:5] == ["second", "r1", "n1", "", "r2"]


def test_items_of_blocks_that_come_back_are_the_same(tmp_path: Path) -> None:
    recording = Recording()
    start = [user("a"), said("b")]
    recording.pair("agent", agent(user("a")), "b")
    recording.pair("agent", agent(*start, user("c")), "d")
    recording.pair("agent", agent(*start, user("other")), "e")
    recording.pair("agent", agent(*start, user("c"), said("d"), user("f")), "g")
    taken = take(recording.data, tmp_path)
    check(recording, taken)
    windows = [[e.item_id for e in session.structure(version).entries]
               for session, version, _ in taken.calls]  # fmt: skip
    assert windows[3][: len(windows[1])] == windows[1]
    causes = [e.event.cause for e in taken.main.events() if isinstance(e.event, WindowRewritten)]
    assert causes == ["rewind", "rewind"]
