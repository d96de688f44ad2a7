"""Recordings with more than one writer, huge lines, odd clocks, lost caches and cut batches.

Damaged and glued lines, gaps and trees are in tests/formats.
"""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger import ConflictError, Ledger
from ctxledger.ledger.caches.catchup import rebuild
from ctxledger.ledger.finding.catalogue import session_rows
from ctxledger.ledger.finding.searching import search
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.storage.migrations import CACHE_TABLES

from .conftest import Told, in_process, texts

Case = Callable[[str], dict[str, Any]]
HUGE_BYTES = 20 * 1024 * 1024
HUGE_MEMORY_FACTOR = 12
"""Peak bytes of an import, over those of the largest line: text, JSON, packed, and two copies."""


def append_100(path: Path, kill_at: int) -> dict[str, int]:
    """What one of two processes does: append with a handle that refuses to be stale."""
    counts = {"appended": 0, "conflicts": 0}
    with Ledger.open(path) as ledger:
        session = ledger.session("S")
        while counts["appended"] < 100:
            try:
                session.append({"role": "user", "content": f"{os.getpid()} {counts['appended']}"})
                counts["appended"] += 1
            except ConflictError:
                counts["conflicts"] += 1
                session.refresh()
            if counts["appended"] == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
    return counts


def test_k06_10_two_writers_of_one_session(told: Told) -> None:
    """Here nobody holds a lock between appends: the slower one is refused, with both versions."""
    told.ledger.session("S")
    told.ledger.close()
    child = os.fork()
    if child == 0:
        append_100(told.db, kill_at=50)
        os._exit(0)
    mine = append_100(told.db, kill_at=-1)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    session = told.reopen().find("S")
    assert mine["appended"] == 100
    assert session.version == 1 + 100 + 50
    shown = texts(session)
    for pid in (child, os.getpid()):
        own = [text for text in shown if text.startswith(f"{pid} ")]
        assert own == [f"{pid} {n}" for n in range(len(own))]
    assert verify(told.ledger.store).ok
    assert session.append({"role": "user", "content": "after the kill"}) == 152


def test_k06_10_a_stale_handle_is_refused_whole(told: Told) -> None:
    first, second = told.ledger.session("S"), told.ledger.session("S")
    first.append({"role": "user", "content": "a"})
    with pytest.raises(ConflictError) as caught:
        second.append({"role": "user", "content": "b"})
    assert (caught.value.expected, caught.value.actual) == (1, 2)
    assert texts(told.ledger.find("S")) == ["a"]


def test_k06_11_a_line_of_20_mb(case: Case, told: Told, tmp_path: Path) -> None:
    """Files above 600 MB are a matter for the benches."""
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * HUGE_BYTES}

    told.ledger.close()

    def take_in() -> list[int]:
        told.reopen()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        report = told.take(
            "huge.jsonl",
            {"role": "user", "content": "one"},
            {"role": "user", "content": [result]},
            {"role": "user", "content": "three"},
        )
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert report.pending_bytes == 0
        told.ledger.close()
        return [report.new_records, after - before]

    records, grown_kb = in_process(take_in)
    assert records == case("k06-11")["expect"]["events"]
    assert grown_kb * 1024 < HUGE_MEMORY_FACTOR * HUGE_BYTES
    session = told.reopen().find("huge")
    entries = session.window().entries
    assert [len(entry.text) for entry in entries] == [3, HUGE_BYTES, 5]
    with (tmp_path / "huge.jsonl").open("a") as file:
        file.write('{"role":"user","content":"four"}\n')
    assert import_file(told.ledger, tmp_path / "huge.jsonl").new_records == 1


def test_k06_13_order_is_that_of_the_lines_whatever_the_clock(case: Case, told: Told) -> None:
    """How times and jumps are shown is tested with the commands."""
    found = case("k06-13")
    lines = [
        {"role": "user", "content": str(event["seq"]), "at": event["ts"]}
        for event in found["input"]["events"]
    ]
    lines[-1].pop("at")
    session = told.tell(*lines)
    assert texts(session) == [str(seq) for seq in found["expect"]["order"]]
    times = [e.event.at_ms for e in session.events(types=("message_appended",))]
    assert times == [1893510000000, 1893492002000, 1893492003000, None]


def answers(ledger: Ledger) -> list[object]:
    session = ledger.find("S")
    return [
        session_rows(ledger.store),
        [session.window(v).text() for v in (5, 64, 101, session.version)],
        [session.window().tokens, session.window("c1^").tokens],
        [(hit.item, hit.in_window) for hit in search(ledger, "number 7*")],
    ]


def hundred(told: Told) -> None:
    lines: list[dict[str, Any]] = [
        {"id": f"m{n}", "role": "user", "content": f"number {n}"} for n in range(100)
    ]
    told.tell(*lines, {"type": "compact", "sources": ["m1/0", "m70/0"], "brief": "S"})
    told.ledger.find("S").rollback()


@pytest.mark.parametrize("table", [None, *CACHE_TABLES])
def test_k06_16_lost_caches_are_made_anew(told: Told, table: str | None) -> None:
    hundred(told)
    before = answers(told.ledger)
    told.ledger.close()
    with sqlite3.connect(told.db) as connection:
        for name in CACHE_TABLES if table is None else (table,):
            connection.execute(f"DROP TABLE {name}")
    connection.close()
    assert answers(told.reopen()) == before
    assert verify(told.ledger.store).ok


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE snapshots SET data = x'00'",
        "DELETE FROM session_rows",
        "UPDATE session_rows SET data = x'FF'",
        "DELETE FROM tokens",
    ],
)
def test_k06_16_damaged_caches_never_stand_in_the_way(told: Told, damage: str) -> None:
    hundred(told)
    before = answers(told.ledger)
    told.ledger.close()
    with sqlite3.connect(told.db) as connection:
        connection.execute(damage)
    connection.close()
    assert answers(told.reopen()) == before


def test_k06_16_rebuild_mends_what_no_reader_can_see(told: Told) -> None:
    hundred(told)
    before = answers(told.ledger)
    told.ledger.close()
    with sqlite3.connect(told.db) as connection:
        connection.execute("DELETE FROM touches")
        connection.execute("DELETE FROM uses")
    connection.close()
    rebuild(told.reopen().store)
    assert answers(told.ledger) == before


BATCH = (
    {"role": "assistant", "content": [
        {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
        {"type": "tool_use", "id": "c2", "name": "f", "input": {}},
    ]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "r1"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "content": "r2"}]},
)  # fmt: skip


@pytest.mark.parametrize("killed_at", [1, 2, 3, 4])
def test_k06_17_a_batch_is_whole_or_absent(told: Told, killed_at: int) -> None:
    told.tell({"role": "user", "content": "start"})
    told.ledger.close()

    def write_and_die() -> None:
        ledger = Ledger.open(told.db)
        original, count = ledger.store.append, 0

        def append(*arguments: Any) -> int:
            nonlocal count
            count += 1
            if count == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments)

        ledger.store.append = append  # type: ignore[method-assign]
        told.ledger = ledger
        told.tell(*BATCH)
        os.kill(os.getpid(), signal.SIGKILL)

    assert in_process(write_and_die) is None
    session = told.reopen().find("S")
    whole = [] if killed_at <= 3 else ["{}", "{}", "r1", "r2"]
    assert texts(session) == ["start", *whole]
    assert verify(told.ledger.store).ok
