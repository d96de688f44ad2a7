"""Numbers about a ledger and about sessions: each call counted once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ctxledger.ledger import Ledger
from ctxledger.ledger.finding.statistics import TokensUsed, ledger_numbers, session_numbers
from ctxledger.ledger.importing import import_file

LINES: list[dict[str, Any]] = [
    {"id": "first", "role": "user", "content": "hello"},
    {"type": "call", "call": "a", "model": "m"},
    {"type": "result", "call": "a", "usage": {"input_tokens": 5, "output_tokens": 1}},
    {"type": "result", "call": "a", "usage": {"input_tokens": 5, "output_tokens": 9,
                                              "cache_read_input_tokens": 100}},
    {"role": "assistant", "content": "hi"},
    {"type": "call", "call": "b", "model": "m"},
    {"type": "result", "call": "b", "error": "overloaded"},
    {"type": "compact", "sources": ["first/0"], "brief": "they met"},
]  # fmt: skip


def write(folder: Path, name: str, lines: list[dict[str, Any]], tail: str = "") -> Path:
    path = folder / name
    text = "".join(json.dumps({**line, "session": "s"}) + "\n" for line in lines)
    path.write_text(text + tail, "utf-8")
    return path


def test_a_call_is_counted_once_with_its_newest_usage(tmp_path: Path) -> None:
    with Ledger.open() as ledger:
        import_file(ledger, write(tmp_path, "s.jsonl", LINES))
        numbers = session_numbers(ledger.find("s"), ledger.find("s").version)
    assert numbers.calls == 2
    assert numbers.calls_reported == 1
    assert numbers.calls_failed == 1
    assert numbers.used == TokensUsed(input=5, cache_read=100, output=9)
    assert numbers.used.total == 114
    assert numbers.context_tokens_max == 105


def test_numbers_go_up_to_a_version(tmp_path: Path) -> None:
    with Ledger.open() as ledger:
        import_file(ledger, write(tmp_path, "s.jsonl", LINES))
        session = ledger.find("s")
        assert session_numbers(session, session.version).compactions == 1
        early = session_numbers(session, session.resolve("c1^"))
        assert early.compactions == 0
        session.rollback("c1")
        later = session_numbers(session, session.version)
        assert (later.compactions, later.compactions_undone) == (0, 1)


def test_a_ledger_is_measured(tmp_path: Path) -> None:
    path = write(tmp_path, "s.jsonl", LINES, tail="{broken\n")
    with Ledger.open(tmp_path / "l.db") as ledger:
        empty = ledger_numbers(ledger)
        assert (empty.events, empty.sources, empty.disk_ratio) == (0, (), None)
        import_file(ledger, path)
        found = ledger_numbers(ledger)
        head = ledger.store.head().size
    assert found.sessions == 1
    assert found.events == sum(found.event_types.values()) == head
    assert found.source_bytes == path.stat().st_size
    (source,) = found.sources
    assert sum(source.records.values()) == len(LINES) + 1
    assert source.records["quarantined"] == 1
    assert found.disk_bytes > 0
