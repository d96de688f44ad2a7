"""After any evictions, compactions, roll-backs and additions the next request is one to send.

The judge is `messages_api`, which shares nothing with the renderer.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger.content import block_from
from ctxledger.ledger.drafts import EvictItems, ImportCompaction, ReinjectItems
from ctxledger.ledger.errors import BadInput, UnknownReference
from ctxledger.ledger.render.anthropic_rules import check_request
from ctxledger.ledger.session import Session

from ..formats.traffic import MARK, TOOLS, Recording, agent, answer, result, said, take

from ..formats.traffic import text, use, user  # isort: skip
from .messages_api import faults

Json = dict[str, Any]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
SEARCH = [
    {"type": "server_tool_use", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "content": []},
]


def parameters(rng: random.Random) -> Json:
    fields: Json = {"model": rng.choice(["claude-sonnet-4-5", "claude-opus-4-6"])}
    fields["max_tokens"] = 8000
    if rng.random() < 0.5:
        fields["thinking"] = {"type": "enabled", "budget_tokens": 4000}
    elif rng.random() < 0.4:
        fields["tool_choice"] = {"type": "tool", "name": "Edit"}
    if rng.random() < 0.4:
        fields["context_management"] = {"edits": [{"type": "compact_20260112"}]}
    return fields


def blocks_of_an_answer(rng: random.Random, number: int, fields: Json) -> list[Json]:
    blocks: list[Json] = []
    if "context_management" in fields and rng.random() < 0.2:
        blocks.append({"type": "compaction", "content": rng.choice(["sum", None])})
    if "thinking" in fields:
        blocks.append({"type": "thinking", "thinking": "hm", "signature": f"SIG{number}"})
    if rng.random() < 0.3:
        call, found = SEARCH
        blocks += [{**call, "id": f"srv_{number}"}, {**found, "tool_use_id": f"srv_{number}"}]
    if rng.random() < 0.6:
        blocks.append(text(f"answer {number} "))
    calls = [use(f"t{number}_{n}", rng.choice(["Read", "Bash"])) for n in range(rng.randint(0, 3))]
    return [*blocks, *(calls or [text("That is it.")])]


def recorded(rng: random.Random) -> Recording:
    recording, fields = Recording(), parameters(rng)
    history = [user("<system-reminder>r</system-reminder>", "Never touch production.")]
    for number in range(rng.randint(3, 8)):
        blocks = blocks_of_an_answer(rng, number, fields)
        body = answer(number, *blocks, model=fields["model"])
        recording.pair("agent", agent(*history, **fields), body=body)
        history.append(said(*blocks))
        outs = ["o", "", [text("x"), IMAGE], [text(" ")]]
        parts = [result(b["id"], rng.choice(outs)) for b in blocks if b["type"] == "tool_use"]
        more = [f"next {number}"] if not parts or rng.random() < 0.4 else []
        history.append(user(*parts, *more))
    return recording


def evict(rng: random.Random, session: Session) -> None:
    items = [entry.item_id for entry in session.structure().entries[4:]]
    some = tuple(rng.sample(items, min(len(items), 3)))
    session.ledger.writer.write(EvictItems(session=session.name, items=some), is_local=True)


def reinject(rng: random.Random, session: Session) -> None:
    item = f"{rng.randint(3, session.version)}.0"
    session.ledger.writer.write(ReinjectItems(session=session.name, items=(item,)), is_local=True)


def compact(rng: random.Random, session: Session) -> None:
    items = [entry.item_id for entry in session.structure().entries[4:]]
    first = rng.randint(0, len(items))
    draft = ImportCompaction(
        session=session.name,
        message=f"b{session.version}",
        role="user",
        blocks=(block_from(text("brief"), "summary"),),
        sources=tuple(items[first : rng.randint(first, len(items)) + 1]),
    )
    session.ledger.writer.write(draft, is_local=True)


def undo(rng: random.Random, session: Session) -> None:
    session.rollback(rng.choice(["c1", "e1", "e2", "r1", "r2"]), is_raw=rng.random() < 0.5)


def restore(rng: random.Random, session: Session) -> None:
    session.rollback(to=str(rng.randint(3, session.version)))


def ask(rng: random.Random, session: Session) -> None:
    marks = [text("x", cache_control=MARK), text("y", cache_control={**MARK, "ttl": "1h"})]
    session.append({"role": "user", "content": rng.choice(["hi", " ", marks])})


def reply(rng: random.Random, session: Session) -> None:
    contents: list[Any] = ["sure", "sure ", [use("loose")], [IMAGE]]
    session.append({"role": "assistant", "content": rng.choice(contents)})


def take_tools(rng: random.Random, session: Session) -> None:
    session.set_tools(rng.choice([[], TOOLS[:1]]))


CHANGES: list[Callable[[random.Random, Session], None]] = [
    evict, reinject, compact, undo, restore, ask, reply, take_tools,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(24))
def test_every_next_request_can_be_sent(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    session = take(recorded(rng).data, tmp_path).main
    for stored in list(session.events()):
        assert faults(session.render(stored.version).body) == []
    done = []
    for _ in range(8):
        change = rng.choice(CHANGES)
        session.refresh()
        try:
            change(rng, session)
        except (BadInput, UnknownReference):
            continue  # nothing to undo, nothing to bring back
        done.append(change.__name__)
        session.refresh()
        for limit in (0, 500):
            body = session.render(max_tokens=limit).body
            assert faults(body) == [], done
            assert check_request(body) == (), done
    assert done
