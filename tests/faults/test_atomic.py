"""A fault at each statement of each kind of write: the old state or the new one, never between."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxledger.ledger import Ledger, LedgerError, Session, StorageFailed
from ctxledger.ledger.drafts import AppendMessage, EvictItems, Note
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.verify import verify

from .harness import RECORDING, make_ledger, open_ledger, say, text_block, write


class FailingDriver:
    """Stands in for the driver's connection: the n-th statement fails, before or after it ran."""

    def __init__(self, driver: sqlite3.Connection, fail_at: int) -> None:
        self._driver = driver
        self._left = fail_at
        self.failed_on = ""
        self.has_committed = False
        """Events were committed, caches alone do not count."""
        self._has_appended = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._driver, name)

    def _count(self, sql: str) -> None:
        self._left -= 1
        if self._left == 0:
            self.failed_on = sql
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error

    def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
        self._count(sql)
        cursor = self._driver.execute(sql, *values)  # type: ignore[arg-type]
        self._has_appended |= sql.startswith("INSERT INTO events")
        self._has_appended &= sql != "ROLLBACK"
        self.has_committed |= self._has_appended and sql == "COMMIT"
        return cursor

    def executemany(self, sql: str, rows: object) -> sqlite3.Cursor:
        self._count(sql)
        return self._driver.executemany(sql, rows)  # type: ignore[arg-type]


def append_batch(ledger: Ledger) -> None:
    """Four drafts and a snapshot in one transaction."""
    session = ledger.session("work")
    write(
        session,
        AppendMessage(session="work", role="user", blocks=(text_block("a" * 2000),), message="a"),
        AppendMessage(session="work", role="user", blocks=(text_block("b"),), message="b"),
        EvictItems(session="work", items=("a/0",), placeholder="[gone]"),
        Note(session="work", kind="fact", text="noted", is_pinned=False),
    )


def roll_back(ledger: Ledger) -> None:
    ledger.session("work").rollback("e1", reason="needed after all")


def open_session(ledger: Ledger) -> None:
    ledger.session("new", title="A new one")


def import_recording(ledger: Ledger) -> None:
    import_file(ledger, RECORDING)


WRITES: dict[str, Callable[[Ledger], None]] = {
    "batch": append_batch,
    "roll back": roll_back,
    "open": open_session,
    "import": import_recording,
}


def state_of(ledger: Ledger) -> list[object]:
    """All stored rows that matter."""
    tables = ("events", "bodies", "sources", "chunks", "records", "snapshots", "session_rows")
    return [list(ledger.db.rows(f"SELECT * FROM {table}")) for table in tables]


def fail_once(path: Path, work: Callable[[Ledger], None], fail_at: int) -> FailingDriver:
    """Do a write whose `fail_at`-th statement fails, and check what it left."""
    ledger = open_ledger(path, seed="more")
    before = state_of(ledger)
    driver = ledger.db._db
    failing = FailingDriver(driver, fail_at)
    ledger.db._db = failing  # type: ignore[assignment]
    refused = ""
    try:
        work(ledger)
    except StorageFailed as error:
        refused = error.message
    ledger.db._db = driver
    assert str(path) in refused or not refused
    # What follows a commit may fail too, and a cache may: the new state then, none between.
    is_old = state_of(ledger) == before
    assert is_old == (bool(refused) and not failing.has_committed), failing.failed_on
    assert failing.failed_on or not refused
    assert not ledger.db.in_transaction
    assert verify(ledger.store).problems == ()
    assert say(ledger.session("work"), "goes on") > 1
    ledger.close()
    return failing


@pytest.mark.parametrize("name", WRITES)
def test_a_fault_at_any_statement_leaves_the_old_state(tmp_path: Path, name: str) -> None:
    made = tmp_path / "made.db"
    make_ledger(made, None)
    failed_on: list[str] = []
    for fail_at in range(1, 2000, 3 if name == "import" else 1):
        path = Path(shutil.copy(made, tmp_path / "copy.db"))
        failing = fail_once(path, WRITES[name], fail_at)
        if not failing.failed_on:
            break
        failed_on.append(failing.failed_on)
    else:
        pytest.fail("never came to the end")
    if name != "import":
        assert {"BEGIN IMMEDIATE", "COMMIT"} <= set(failed_on)
    assert any(statement.startswith("INSERT INTO events") for statement in failed_on)


def interrupted(session: Session) -> None:
    with session.writing():
        draft = AppendMessage(session="work", role="user", blocks=(text_block("x"),))
        session.ledger.writer.write(draft)
        raise KeyboardInterrupt


def test_an_interrupt_inside_a_batch_leaves_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, None)
    with open_ledger(path) as ledger:
        session = ledger.session("work")
        before = state_of(ledger)
        with pytest.raises(KeyboardInterrupt):
            interrupted(session)
        assert state_of(ledger) == before
        assert say(session, "the next one has the next version") == session.version


def test_a_refused_draft_leaves_nothing_of_its_batch(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, None)
    with open_ledger(path) as ledger:
        session = ledger.session("work")
        before = state_of(ledger)
        with pytest.raises(LedgerError):
            write(
                session,
                AppendMessage(session="work", role="user", blocks=(text_block("x"),)),
                EvictItems(session="work", items=("999.0",)),
            )
        assert state_of(ledger) == before
