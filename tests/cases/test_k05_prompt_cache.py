"""The prompt cache: stable prefixes, and each break told with its reason.

Evicting in batches is a policy's work; here it is only counted how often a prefix broke.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger.cache_breaks import CacheBreak
from ctxledger.ledger.exporting.native import native_lines
from ctxledger.ledger.finding.caching import cache_report
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.session import Session
from ctxledger.ledger.views.comparing import compare

from .conftest import Told

Case = Callable[[str], dict[str, Any]]
Line = dict[str, Any]
MODEL = "claude-sonnet-4-5"


def breaks(session: Session) -> list[CacheBreak]:
    """All breaks of a session."""
    return [found.found for found in cache_report(session, session.version).breaks]


def call(
    number: int, usage: Line | None = None, minutes: int | None = None, **more: Any
) -> list[Line]:
    """A call, its answer and its usage."""
    at = {} if minutes is None else {"at": 1_893_456_000_000 + minutes * 60_000}
    lines: list[Line] = [
        {"type": "call", "call": f"k{number}", "model": MODEL, **at, **more},
        {"id": f"a{number}", "role": "assistant", "content": f"answer {number}", **at},
    ]
    if usage is not None:
        lines.append({"type": "result", "call": f"k{number}", "usage": usage, **at})
    return lines


def rounds(count: int) -> list[list[Line]]:
    """A tool call and its result each."""
    return [
        [
            {"type": "call", "call": f"k{n}", "model": MODEL},
            {"id": f"a{n}", "role": "assistant",
             "content": [{"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"n": n}}]},
            {"type": "result", "call": f"k{n}"},
            {"id": f"o{n}", "role": "user",
             "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"text {n}"}]},
        ]
        for n in range(1, count + 1)
    ]  # fmt: skip


START: list[Line] = [{"id": "u", "role": "user", "content": "go on"}]


def test_k05_01_the_projection_is_pure_and_the_prefix_stable(told: Told, case: Case) -> None:
    count = len(case("k05-01")["input"]["events"]) // 2
    session = told.tell(*START, *(line for part in rounds(count) for line in part))
    ends = [e.version for e in session.events(types=("message_appended",))][::2]
    sent = [session.render(version).body["messages"] for version in ends]
    assert sent == [session.render(version).body["messages"] for version in ends]
    for older, newer in itertools.pairwise(sent):
        assert newer[: len(older)] == older
    windows = [session.structure(version).entries for version in ends]
    for was, now in itertools.pairwise(windows):
        assert now[: len(was)] == was
    assert breaks(session) == []


def test_k05_02_one_eviction_a_request_breaks_the_prefix_each_time(told: Told, case: Case) -> None:
    expect = case("k05-02")["expect"]
    lines: list[Line] = []
    for n, part in enumerate(rounds(31), 1):
        evicted = [f"o{n - 6}/0"] if n > 6 else []
        lines += [{"type": "evict", "items": evicted, "placeholder": "[gone]"}] * bool(evicted)
        lines += part
    naive = told.tell(*START, *lines, name="naive")
    assert len(breaks(naive)) == expect["prefix_breaks_naive"]
    assert {(b.reason, b.is_seen) for b in breaks(naive)} == {("edit", None)}
    lines = []
    for n, part in enumerate(rounds(31), 1):
        batch = [f"o{m}/0" for m in range(n - 13, n - 3)] if n in (14, 24) else []
        lines += [{"type": "evict", "items": batch, "placeholder": "[gone]"}] * bool(batch)
        lines += part
    batched = told.tell(*START, *lines, name="batched")
    assert 0 < len(breaks(batched)) <= expect["prefix_breaks_max"]


def test_k05_04_a_break_that_nothing_explains(told: Told, case: Case) -> None:
    told_case = case("k05-04")
    usages = told_case["input"]["usages"]
    lines = [line for n, usage in enumerate(usages, 1) for line in call(n, usage)]
    session = told.tell(*START, *lines)
    (expected,) = told_case["expect"]["breaks"]
    (found,) = breaks(session)
    assert (found.number, found.reason, found.is_seen) == (expected["call"], "unexplained", True)
    assert (found.expected_tokens, found.read_tokens) == (
        expected["expected_read_about"], expected["read"],
    )  # fmt: skip
    report = cache_report(session, session.version)
    lost = expected["expected_read_about"] - expected["read"]
    assert report.lost_tokens == lost
    assert report.extra_usd == pytest.approx(lost * (3.75 - 0.30) / 1e6)  # written, not read


def test_k05_05_a_resumed_session_gives_the_same_bytes(told: Told, case: Case) -> None:
    assert case("k05-05")["input"]["steps"][0] == "project window W1 and save sha256"
    session = told.tell(*START, *(line for part in rounds(3) for line in part),
                        {"type": "evict", "items": ["o1/0"], "placeholder": "[é 中]"})  # fmt: skip
    name = session.name
    told.ledger.close()
    digests = set()
    for locale, zone, seed in (("C", "UTC", "1"), ("de_DE.UTF-8", "Asia/Tokyo", "77")):
        environment = os.environ | {"LC_ALL": locale, "TZ": zone, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "ctxledger.cli", "--db", str(told.db), "window", name]
        ran = subprocess.run(
            [*command, "--format", "anthropic"], env=environment, capture_output=True, check=True
        )
        assert b"[\\u00e9" in ran.stdout or "[é".encode() in ran.stdout
        digests.add(hashlib.sha256(ran.stdout).hexdigest())
    assert len(digests) == 1


def test_k05_07_a_gap_is_not_an_edit(told: Told, case: Case) -> None:
    given = case("k05-07")["input"]
    lines: list[Line] = []
    for n, entry in enumerate(given["calls"], 1):
        written = entry["usage"]["cache_creation_input_tokens"]
        usage = {**entry["usage"], "cache_creation": {"ephemeral_1h_input_tokens": written}}
        lines += call(n, usage, minutes=entry["t"])
    (found,) = breaks(told.tell(*START, *lines))
    assert (found.reason, found.item) == ("expired", "")
    assert found.gap_ms == 125 * 60_000


@pytest.mark.parametrize(("minutes", "is_long", "reason"), [
    (4, False, "unexplained"), (6, False, "expired"), (59, True, "unexplained"),
    (61, True, "expired"),
])  # fmt: skip
def test_k05_07_the_time_is_that_of_the_newest_write(
    told: Told, minutes: int, is_long: bool, reason: str
) -> None:
    written = {"cache_creation": {"ephemeral_1h_input_tokens": 5_000 if is_long else 0}}
    first = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 5_000, **written}
    second = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 5_100, **written}
    (found,) = breaks(told.tell(*START, *call(1, first, 0), *call(2, second, minutes)))
    assert found.reason == reason


def test_k05_08_another_order_of_the_same_tools(told: Told, case: Case) -> None:
    first, second = (window["tools"] for window in case("k05-08")["input"]["windows"])
    session = told.tell(
        {"type": "tools", "tools": first}, *START, *call(1), {"type": "tools", "tools": second},
        *call(2),
    )  # fmt: skip
    (found,) = breaks(session)
    assert found.reason == "tool_order"
    assert session.item_block(found.item).tool_name == "mcp_x"
    calls = [e.version for e in session.events(types=("model_called",))]
    compared = compare(session, *calls)
    assert {e.role for e in compared.moved} == {"tools"}
    assert not [e for e in (*compared.added, *compared.dropped) if e.role == "tools"]


@pytest.mark.parametrize(
    ("change", "reason", "by"),
    [
        ([{"type": "system", "content": "Be brief."}], "system", True),
        ([{"type": "tools", "tools": [{"name": "other"}]}], "tools", True),
        ([{"type": "evict", "items": ["o1/0"], "placeholder": "[gone]"}], "edit", True),
        ([{"type": "compact", "sources": ["u/0"], "brief": "short"}], "edit", True),
    ],
)
def test_every_change_is_told_to_the_item(
    told: Told, change: list[Line], reason: str, by: bool
) -> None:
    session = told.tell(
        {"type": "tools", "tools": [{"name": "read"}]}, {"type": "system", "content": "Be good."},
        *START, *rounds(1)[0], *call(2), *change, *call(3),
    )  # fmt: skip
    (found,) = breaks(session)
    assert (found.number, found.reason, bool(found.changed_by)) == (3, reason, by)
    changed = next(session.events(after=found.changed_by - 1))
    assert getattr(changed.event, "delta", None) is not None
    assert found.item


def test_another_model_and_other_settings(told: Told) -> None:
    thinking = {"params": {"thinking": {"type": "enabled", "budget_tokens": 2_000}}}
    plain = {"params": {"max_tokens": 100}}
    session = told.tell(
        *START, *call(1, **plain), *call(2, **thinking), *call(3, model="claude-opus-4-5")
    )
    assert [(b.number, b.reason) for b in breaks(session)] == [(2, "settings"), (3, "model")]


def test_a_failed_call_has_cached_nothing(told: Told) -> None:
    usage = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 5_000}
    again = {"cache_read_input_tokens": 5_000, "cache_creation_input_tokens": 0}
    failed: list[Line] = [
        {"type": "call", "call": "f", "model": "claude-opus-4-5"},
        {"type": "result", "call": "f", "error": "overloaded"},
    ]
    assert breaks(told.tell(*START, *call(1, usage), *failed, *call(2, again))) == []


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("auto-compaction", [(31, "unexplained", ""), (37, "edit", "c1")]),
        ("microcompaction", [(21, "thinking", ""), (31, "thinking", ""), (39, "edit", "e1"),
                             (90, "expired", "")]),
        ("small", []),
    ],
)  # fmt: skip
def test_real_sessions_break_where_something_happened(
    told: Told, recordings: Path, name: str, seen: list[tuple[int, str, str]]
) -> None:
    """The other 200 calls read to the token what was there before."""
    import_file(told.ledger, recordings / "claude-code" / f"{name}.jsonl")
    session = told.ledger.find("@")
    report = cache_report(session, session.version)
    assert [(b.found.number, b.found.reason, b.handle) for b in report.seen] == seen
    assert (report.lost_tokens > 150_000) == bool(seen)


def test_how_long_a_write_is_kept_survives_an_export(told: Told) -> None:
    usage = {"cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 9}}
    session = told.tell(*START, *call(1, usage))
    lines = [line for _, part in native_lines(session) for line in part]
    assert [line["usage"] for line in lines if "usage" in line] == [usage]
