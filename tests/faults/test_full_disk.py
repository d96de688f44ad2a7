"""No room left: refused, still readable, and going on when there is room again."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from ctxledger.ledger import Ledger, LedgerError, StorageFailed
from ctxledger.ledger.integrity.verify import verify

from .harness import in_child, make_ledger, open_ledger, say


def fill_to_the_limit(path: Path, spare_bytes: int) -> list[object]:
    """Append until files may not grow further, then with more room again."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ledger = Ledger.open(path)
    session = ledger.session("work")
    say(session, "the log exists now")
    size = max(Path(f"{path}{suffix}").stat().st_size for suffix in ("", "-wal"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + spare_bytes, hard))
    acked = session.version
    refused = []
    for number in range(1000):
        try:
            acked = say(session, f"{number} " + "y" * (number * 97 % 2500))
        except LedgerError as error:
            refused.append([type(error).__name__, error.exit_code, error.message])
            break
    readable = len(session.window().entries)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    resumed = say(session, "room again")
    proof = verify(ledger.store)
    ledger.close()
    return [acked, refused, readable, resumed, proof.ok]


@pytest.mark.parametrize("spare_bytes", [0, 1000, 5000, 9000, 20_000, 33_000, 70_001])
def test_a_full_disk_refuses_keeps_and_resumes(tmp_path: Path, spare_bytes: int) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, None)
    acked, refused, readable, resumed, is_ok = in_child(
        lambda: fill_to_the_limit(path, spare_bytes)
    )
    ((name, code, message),) = refused
    assert (name, code) == ("StorageFailed", 5)
    assert str(path) in message
    assert readable
    assert resumed == acked + 1
    assert is_ok


def test_a_checkpoint_that_finds_no_room_does_not_undo_what_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, None)
    ledger = Ledger.open(path)
    session = ledger.session("work")
    version = say(session, "in the log")
    monkeypatch.setattr("ctxledger.ledger.storage.connection.CHECKPOINT_BYTES", 0)

    def full() -> None:
        raise StorageFailed("The disk is full.", "Free some.")

    monkeypatch.setattr(ledger.db, "checkpoint", full)
    assert say(session, "acknowledged") == version + 1
    assert say(session, "and this") == version + 2
    monkeypatch.undo()
    ledger.close()
    with open_ledger(path, "read") as reopened:
        assert verify(reopened.store).ok
        assert reopened.session("work").version == version + 2
