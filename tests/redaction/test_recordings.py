"""Redaction over real recordings: every view still works, the rest of the text stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.exporting.native import native_lines
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.redacting import redact
from ctxledger.ledger.redaction_orders import order_pattern

from .planted import unpacked_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
PATTERN = r"\b[Tt]he [a-z]+\b"


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.glob("*.[jy]*")))
def test_a_pattern_is_gone_from_a_recording_of_each_format(tmp_path: Path, name: str) -> None:
    check(FIXTURES / name, tmp_path)


@pytest.mark.recordings
def test_a_pattern_is_gone_from_real_recordings(recordings: Path, tmp_path: Path) -> None:
    paths = sorted(p for p in recordings.rglob("*.jsonl") if 10_000 < p.stat().st_size < 400_000)
    taken = [path for path in paths if "claude" in str(path).lower()][:8]
    assert taken
    for number, path in enumerate(taken):
        folder = tmp_path / str(number)
        folder.mkdir()
        check(path, folder)


def check(path: Path, folder: Path) -> None:
    with Ledger.open(folder / "ledger.db") as ledger:
        import_file(ledger, path)
        before = {
            name: ledger.find(name).structure().digest() for _, name in ledger.store.session_names()
        }
        plan = redact(ledger, order_pattern(PATTERN))
        for name, digest in before.items():
            session = ledger.find(name)
            assert session.structure().digest() == digest
            json.dumps(session.render().body)
            list(native_lines(session))
            assert session.window().tokens >= 0
        assert verify(ledger.store).problems == ()
        again = import_file(ledger, path)
        assert again.new_records == 0
        if plan.is_empty:
            return
        assert b"[redacted:pattern]" in unpacked_of(ledger.db)
        out = b"".join(source for s in ledger.sources.all() for source in ledger.sources.read(s.id))
        assert len(out) == path.stat().st_size - again.pending_bytes
        if path.suffix == ".jsonl":
            for line, original in zip(
                out.splitlines(), path.read_bytes().splitlines(), strict=False
            ):
                assert shape(line) == shape(original)


def shape(line: bytes) -> str:
    """The structure of a JSON line: types, not words."""
    try:
        value = json.loads(line)
    except ValueError:
        return "none"
    return _shape(value)


def _shape(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(_shape(part) for part in value.values()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_shape, value)) + "]"
    return type(value).__name__
