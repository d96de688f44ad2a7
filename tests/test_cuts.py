"""A source cut at every record boundary and continued gives what one import gives."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.events import Event, messages_of
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.storage.store import Store

from .formats.habits import HABITS
from .formats.traffic import Recording

FIXTURES = Path(__file__).parent / "fixtures"


def counting_entropy() -> Callable[[int], bytes]:
    """Salts that are the same in each run, and different from each other."""
    numbers = itertools.count(1)
    return lambda size: next(numbers).to_bytes(size, "big")


def open_ledger(path: Path, entropy: Callable[[int], bytes]) -> Ledger:
    return Ledger.open(path, clock_us=lambda: 1_700_000_000_000_000, entropy=entropy)


def all_events(store: Store) -> Iterator[tuple[int, int, str, Event]]:
    position = 0
    while batch := store.read_after(position, 500):
        for stored in batch:
            yield stored.session, stored.version, stored.actor, stored.event
        position = batch[-1].position


def state_of(ledger: Ledger) -> list[str]:
    """Everything a user can tell apart: sessions, events with their body keys, windows."""
    out = [str(ledger.store.session_names())]
    for session, version, actor, event in all_events(ledger.store):
        out.append(f"{session} {version} {actor} {msgspec.json.encode(event)!r}")
        if messages_of(event):
            out.append(ledger.store.window(session, version).digest())
    return out


def cut_and_continue(source: Path, folder: Path, every: int = 1) -> tuple[list[str], list[str]]:
    """(state after one import, state after an import that was cut at every boundary)."""
    data = source.read_bytes()
    name = folder / source.name
    with open_ledger(folder / "whole.db", counting_entropy()) as ledger:
        name.write_bytes(data)
        import_file(ledger, name)
        whole = state_of(ledger)
    entropy = counting_entropy()
    ends = [i + 1 for i, byte in enumerate(data) if byte == 0x0A][::every]
    if not ends or ends[-1] != len(data):
        ends.append(len(data))
    for end in ends:
        name.write_bytes(data[:end])
        with open_ledger(folder / "cut.db", entropy) as ledger:
            import_file(ledger, name)
    with open_ledger(folder / "cut.db", entropy) as ledger:
        known = import_file(ledger, name)
        assert known.new_records == 0
        source_id = ledger.sources.all()[0].id
        assert b"".join(ledger.sources.read(source_id)) == data
        return whole, state_of(ledger)


@pytest.mark.parametrize(
    "name",
    ["claude-code-interrupts.jsonl"],
)
def test_a_fixture_cut_at_every_boundary(name: str, tmp_path: Path) -> None:
    whole, cut = cut_and_continue(FIXTURES / name, tmp_path)
    assert cut == whole


@pytest.mark.parametrize("name", ["small", "rewind", "auto-compaction", "microcompaction"])
def test_recordings_cut_at_every_boundary(name: str, recordings: Path, tmp_path: Path) -> None:
    whole, cut = cut_and_continue(recordings / "claude-code" / f"{name}.jsonl", tmp_path)
    assert cut == whole


def test_native_lines_cut_at_every_boundary(tmp_path: Path) -> None:
    lines = [
        {"role": "user", "content": "Refactor auth. Never touch production.", "id": "u1"},
        {"type": "call", "call": "k1", "model": "m"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.py"}}
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x = 1"}],
            "id": "r1",
        },
        {"type": "evict", "items": ["r1/0"], "placeholder": "[old result]"},
        {"type": "compact", "sources": ["u1/0"], "brief": "Task: refactor auth."},
        {"type": "reinject", "items": ["u1/0"], "reason": "rule lost"},
        {"type": "note", "kind": "constraint", "text": "Never touch production."},
        {"type": "phase", "name": "verify"},
    ]
    source = tmp_path / "pipe.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    folder = tmp_path / "work"
    folder.mkdir()
    whole, cut = cut_and_continue(source, folder)
    assert cut == whole


def test_traffic_cut_at_every_boundary(tmp_path: Path) -> None:
    recording = Recording()
    for habit in HABITS:
        habit(recording)
    source = tmp_path / "proxy.jsonl"
    source.write_bytes(recording.data)
    folder = tmp_path / "work"
    folder.mkdir()
    whole, cut = cut_and_continue(source, folder)
    assert cut == whole
