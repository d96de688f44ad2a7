"""Changes made with plain SQL: refused by the file itself, else found by `verify`."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxledger.ledger.integrity.verify import Verification
from ctxledger.ledger.storage.chain import Head, link

from .harness import checked, make_ledger

REFUSED = (
    "UPDATE events SET actor = 'x' WHERE position = 3",
    "UPDATE events SET data = x'00' WHERE version = 2",
    "UPDATE events SET recorded_at = recorded_at + 1",
    "DELETE FROM events WHERE position = 3",
    "DELETE FROM events",
    "INSERT OR REPLACE INTO events SELECT * FROM events WHERE position = 3",
    (
        "REPLACE INTO events(position, session, version, type, recorded_at, actor, data, hash)"
        " SELECT position + 100000, session, version, type, recorded_at, actor, data, hash"
        " FROM events WHERE position = 3"
    ),
    "UPDATE bodies SET data = x'0041'",
    "UPDATE bodies SET salt = x'00'",
    "UPDATE bodies SET key = x'00' WHERE id = 1",
    "DELETE FROM bodies WHERE id = 1",
    "INSERT OR REPLACE INTO bodies SELECT * FROM bodies WHERE id = 1",
    (
        "INSERT OR REPLACE INTO bodies(key, salt, size, data) SELECT key, x'01', 1, x'0041'"
        " FROM bodies WHERE id = 1"
    ),
)


def recompute(db: sqlite3.Connection) -> None:
    """Make the chain fit whatever the events are now."""
    previous = db.execute("SELECT value FROM meta WHERE key = 'origin'").fetchone()[0]
    fields = "position, session, version, recorded_at, type, actor, data"
    for row in db.execute(f"SELECT {fields} FROM events ORDER BY position").fetchall():
        previous = link(previous, *row)
        db.execute("UPDATE events SET hash = ? WHERE position = ?", (previous, row[0]))


def reorder(db: sqlite3.Connection) -> None:
    db.execute("UPDATE events SET position = -1 WHERE position = 5")
    db.execute("UPDATE events SET position = 5 WHERE position = 6")
    db.execute("UPDATE events SET position = 6 WHERE position = -1")


def insert_in_the_middle(db: sqlite3.Connection) -> None:
    for (position,) in db.execute(
        "SELECT position FROM events WHERE position > 20 ORDER BY position DESC"
    ).fetchall():
        db.execute("UPDATE events SET position = ? WHERE position = ?", (position + 1, position))
    db.execute(
        "INSERT INTO events SELECT 21, session, 9999, type, recorded_at, actor, data, hash"
        " FROM events WHERE position = 5"
    )


def sql(*statements: str) -> Callable[[sqlite3.Connection], None]:
    def attack(db: sqlite3.Connection) -> None:
        for statement in statements:
            changed = db.execute(statement).rowcount
            assert changed, f"changes nothing: {statement}"

    return attack


FOUND = {
    "actor": (sql("UPDATE events SET actor = 'human' WHERE position = 3"), "was changed"),
    "time": (sql("UPDATE events SET recorded_at = 0 WHERE position = 3"), "was changed"),
    "type": (sql("UPDATE events SET type = 'check_ran' WHERE position = 3"), "was changed"),
    "data": (
        sql("UPDATE events SET data = (SELECT data FROM events WHERE position = 4) WHERE"
            " position = 3"),
        "was changed",
    ),
    "removed": (sql("DELETE FROM events WHERE position = 7"), "missing between positions 6 and 8"),
    "reordered": (reorder, "was changed"),
    "inserted": (insert_in_the_middle, "was changed"),
    "another session": (sql("UPDATE events SET session = 1 WHERE position = 40"), "was changed"),
    "origin": (sql("UPDATE meta SET value = x'00' WHERE key = 'origin'"), "was changed"),
    "body": (sql("UPDATE bodies SET data = x'0041', size = 1 WHERE id = 4"), "were changed"),
    "body removed": (sql("DELETE FROM bodies WHERE id = 4"), "are missing"),
    "quietly redacted": (
        sql("UPDATE bodies SET data = NULL, salt = NULL, lookup = NULL WHERE id = 4"),
        "no event says so",
    ),
    "shared with another": (sql("UPDATE bodies SET lookup = NULL WHERE size > 1023"), "filed"),
    "source bytes": (sql("UPDATE chunks SET data = x'0041' WHERE offset = 0"), "damaged"),
    "source cut": (sql("UPDATE sources SET length = length - 1"), "bytes, not"),
    "source renamed": (sql("UPDATE sources SET name = 'b.jsonl'"), "description"),
    "source removed": (sql("DELETE FROM sources"), "which is not there"),
    "record": (sql("UPDATE records SET version = version + 1 WHERE version = 5"), "was changed"),
    "record key": (sql("UPDATE records SET key = x'00' WHERE offset = 0"), "was changed"),
    "record removed": (sql("DELETE FROM records WHERE offset = 0"), "at byte 0 is missing"),
    "snapshot": (sql("UPDATE snapshots SET data = x'005B5D'"), "snapshot differs"),
    "names": (sql("UPDATE session_rows SET name = 'mine' WHERE name = 'work'"), "table of sess"),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Head]:
    path = tmp_path_factory.mktemp("made") / "ledger.db"
    return path, make_ledger(path)


@pytest.fixture
def copy(made: tuple[Path, Head], tmp_path: Path) -> Path:
    return Path(shutil.copy(made[0], tmp_path / "copy.db"))


def attack(path: Path, work: Callable[[sqlite3.Connection], None]) -> None:
    db = sqlite3.connect(path)
    triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    assert len(triggers) >= 6
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    work(db)
    for _, text in triggers:
        db.execute(text)
    db.commit()
    db.close()


def problems(path: Path, head: Head | None = None) -> list[str]:
    outcome = checked(path, head)
    assert isinstance(outcome, Verification)
    assert outcome.ok == (not outcome.problems)
    return [problem.problem for problem in outcome.problems]


def test_an_untouched_ledger_is_fine_and_counts_what_was_redacted(made: tuple[Path, Head]) -> None:
    outcome = checked(*made)
    assert isinstance(outcome, Verification)
    assert (outcome.ok, outcome.problems, outcome.redacted, outcome.sources) == (True, (), 1, 1)
    assert outcome.events == made[1].size > 60
    assert outcome.bodies > 50


@pytest.mark.parametrize("statement", REFUSED)
def test_the_file_itself_refuses_to_change_history(copy: Path, statement: str) -> None:
    db = sqlite3.connect(copy)  # another program: none of our settings
    with pytest.raises(sqlite3.IntegrityError, match=r"never|only ever"):
        db.execute(statement)
    db.close()


@pytest.mark.parametrize("name", FOUND)
def test_a_change_behind_our_back_is_found(copy: Path, name: str) -> None:
    work, words = FOUND[name]
    attack(copy, work)
    found = problems(copy)
    assert any(words in problem for problem in found), found


def test_a_dropped_trigger_is_found(copy: Path) -> None:
    db = sqlite3.connect(copy)
    db.execute("DROP TRIGGER events_no_delete")
    db.commit()
    db.close()
    assert problems(copy) == ["the schema has lost events_no_delete"]


def cut_tail(db: sqlite3.Connection) -> None:
    """Remove the last session whole, with its records and source, as if it never was."""
    (first,) = db.execute("SELECT max(id) FROM session_rows").fetchone()
    db.execute("DELETE FROM events WHERE position >= ?", (first,))
    db.execute("DELETE FROM session_rows WHERE id = ?", (first,))
    for table in ("sources", "chunks", "records", "snapshots"):
        db.execute(f"DELETE FROM {table}")


def recomputed(db: sqlite3.Connection) -> None:
    db.execute("UPDATE events SET actor = 'human' WHERE position = 3")
    recompute(db)


def test_a_cut_tail_is_found_only_with_a_saved_head(copy: Path, made: tuple[Path, Head]) -> None:
    attack(copy, cut_tail)
    assert problems(copy) == []
    (problem,) = problems(copy, made[1])
    assert problem.startswith("the log ends at ")
    assert problem.endswith(f"the saved head says {made[1].size}")


def test_a_recomputed_chain_is_found_only_with_a_saved_head(
    copy: Path, made: tuple[Path, Head]
) -> None:
    attack(copy, recomputed)
    assert problems(copy) == []
    assert problems(copy, made[1]) == [
        f"event {made[1].size} is not the one of the saved head: history was rewritten"
    ]


def test_an_older_head_fits_and_another_ledgers_does_not(made: tuple[Path, Head]) -> None:
    path, head = made
    db = sqlite3.connect(path)
    (digest,) = db.execute("SELECT hash FROM events WHERE position = 9").fetchone()
    db.close()
    assert problems(path, Head(head.origin, 9, digest.hex())) == []
    assert problems(path, Head(head.origin, 0, head.origin)) == []
    other = Head("00" * 16, head.size, head.hash)
    assert problems(path, other) == [f"the saved head is of another ledger ({'00' * 16})"]
