"""Redaction while others have the ledger open, when it is cut short, and at write time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger import Ledger, LedgerBusy
from ctxledger.ledger.importing import import_file, open_pipe
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.redacting import finish_redaction, redact
from ctxledger.ledger.redaction_orders import (
    order_secrets,
)
from ctxledger.ledger.secrets import KINDS
from ctxledger.ledger.storage.connection import Connection

from .planted import (
    LINES,
    SECRET,
    assert_gone,
    planted,
    tell,
    unpacked_of,
)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.db") as opened:
        yield opened


# -- others have it open, and crashes -------------------------------------------------------------


def test_a_reader_in_the_middle_keeps_old_pages_and_it_is_said(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxledger.ledger.redacting.BUSY_WAIT_S", 0.1)
    tell(ledger, tmp_path, *LINES)
    with Ledger.open(tmp_path / "ledger.db", "read") as reader:
        with reader.db.reading():
            assert SECRET in reader.find("work").window().text()
            with pytest.raises(LedgerBusy, match="old pages") as told:
                redact(ledger, order_secrets())
            assert "--finish" in told.value.hint
            assert SECRET in reader.find("work").window().text()
        assert SECRET not in ledger.find("work").window().text()
        assert finish_redaction(ledger)
        assert not finish_redaction(ledger)
        assert_gone(ledger, tmp_path, [SECRET])


class Stop(Exception):
    """A crash."""


def stopping(inner: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
    """The method, which raises when `left` of both have run."""

    def run(*args: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise Stop
        return inner(*args)

    return run


def test_a_crash_at_any_statement_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    outcomes = set()
    for step in range(1, 400):
        folder = tmp_path / str(step)
        folder.mkdir()
        with Ledger.open(folder / "ledger.db") as ledger:
            tell(ledger, folder, *LINES)
            before = unpacked_of(ledger.db).count(SECRET.encode())
            with pytest.MonkeyPatch.context() as patch:
                left = [step]
                patch.setattr(Connection, "execute", stopping(Connection.execute, left))
                patch.setattr(Connection, "executemany", stopping(Connection.executemany, left))
                try:
                    redact(ledger, order_secrets())
                except Stop:
                    pass
                else:
                    break
        with Ledger.open(folder / "ledger.db") as ledger:
            assert verify(ledger.store).ok
            contents = unpacked_of(ledger.db).count(SECRET.encode())
            outcomes.add(contents == 0)
            assert contents in (0, before)
            redact(ledger, order_secrets())
            assert_gone(ledger, folder, [SECRET])
    else:
        raise AssertionError("it never came to its end")
    assert outcomes == {True, False}


# -- at write time --------------------------------------------------------------------------------


@pytest.mark.parametrize("pause", [True, False])
def test_what_is_redacted_at_write_time_never_reaches_the_disk(
    ledger: Ledger, tmp_path: Path, pause: bool
) -> None:
    path = tmp_path / "work.jsonl"
    secrets = planted(path)
    if pause:  # the same in two halves
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        import_file(ledger, path, secrets="redact")
        path.write_bytes(whole)
    report = import_file(ledger, path, secrets="redact")
    assert set(report.secrets) == set(KINDS)
    assert_gone(ledger, tmp_path, secrets)
    assert "[redacted:anthropic]" in ledger.find("work").window().text()
    assert verify(ledger.store).problems == ()
    again = import_file(ledger, path, secrets="keep")
    assert (again.new_records, "redacted" in again.warnings[0]) == (0, True)


def test_redacting_at_write_time_changes_nothing_but_the_words(tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    planted(path, 72)
    shapes = []
    for mode in ("keep", "redact"):
        with Ledger.open(tmp_path / f"{mode}.db") as ledger:
            import_file(ledger, path, secrets=mode)  # type: ignore[arg-type]
            window = ledger.find("work").window()
            shapes.append([(e.item, e.role, e.type, e.origin) for e in window.entries])
    assert shapes[0] == shapes[1]


def test_a_pipe_is_redacted_as_it_comes(ledger: Ledger, tmp_path: Path) -> None:
    text = "".join(json.dumps(line) + "\n" for line in LINES).encode()
    reader = open_pipe(ledger, text, name="(pipe)", session=f"my {SECRET}", secrets="redact")
    for at in range(0, len(text), 7):
        reader.push(text[at : at + 7])
        reader.commit()
    assert reader.finish().secrets == {"github": 4}
    assert_gone(ledger, tmp_path, [SECRET])
    assert verify(ledger.store).ok


def test_marking_counts_and_stores_as_it_came(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    report = import_file(ledger, path, secrets="mark")
    assert (report.secrets, report.are_secrets_redacted) == ({"github": 4}, False)
    assert b"".join(ledger.sources.read(1)) == path.read_bytes()
    assert verify(ledger.store).masked_bytes == 0
