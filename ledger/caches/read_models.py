"""The tables that the read models live in, and how far each has come.

They stand in the ledger file. Where that cannot be written (a file opened to read, a writer that
does not let go, a full disk, a damaged cache), what is missing is kept in temporary tables of
this connection, and views join both: `late` tables. Knows nothing about what is in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from ..errors import CorruptLedger
from ..storage.connection import Connection
from ..storage.migrations import CACHES, statements

MODEL = "read models 1"
"""Raised with any change of what is in the rows; those of another number are made anew."""
TABLES = ("caught_up", "session_rows", "uses", "touches", "search")
UNUSABLE = -1
"""Base of late tables that stand for damaged ones of the file."""
_BASE = "late base"


class Models(Struct, frozen=True):
    """Names of the tables to read; `write` stands before the names of those to write."""

    rows: str
    uses: str
    touches: str
    search: tuple[tuple[str, str], ...]
    """(table, its own name) of the full-text tables that together hold every body."""
    write: str


MAIN = Models(
    "main.session_rows", "main.uses", "main.touches", (("main.search", "search"),), "main."
)
_LATE_SEARCH = ("temp.late_search", "late_search")
LATE = Models(
    "temp.now_session_rows",
    "temp.now_uses",
    "temp.now_touches",
    (*MAIN.search, _LATE_SEARCH),
    "temp.late_",
)
"""The file's tables up to where they came, temporary ones behind that."""
ALONE = Models(
    "temp.late_session_rows", "temp.late_uses", "temp.late_touches", (_LATE_SEARCH,), "temp.late_"
)
"""Temporary tables for everything."""

_VIEWS = (
    """CREATE TEMP VIEW now_session_rows AS SELECT * FROM temp.late_session_rows UNION ALL
    SELECT * FROM main.session_rows WHERE id NOT IN (SELECT id FROM temp.late_session_rows)""",
    "CREATE TEMP VIEW now_uses AS SELECT * FROM main.uses UNION ALL SELECT * FROM temp.late_uses",
    """CREATE TEMP VIEW now_touches AS
    SELECT * FROM main.touches UNION ALL SELECT * FROM temp.late_touches""",
)
"""A row is in both halves while another process moves the file's tables on: readers take care."""


def head_position(db: Connection) -> int:
    """Position of the last event; 0 in an empty ledger."""
    row = db.row("SELECT max(position) FROM events")
    return int(row[0] or 0) if row is not None else 0


def has_tables(db: Connection) -> bool:
    """True if the file has all tables of the read models."""
    marks = ",".join("?" * len(TABLES))
    query = f"SELECT count(*) FROM main.sqlite_master WHERE name IN ({marks})"
    return db.row(query, TABLES) == (len(TABLES),)


def watermark(db: Connection, models: Models) -> int | None:
    """Position of the last event that the tables know; None when they are to be made anew."""
    query = f"SELECT position FROM {models.write}caught_up WHERE model = ?"
    row = db.row(query, (MODEL,))
    return None if row is None else int(row[0])


def move_watermark(db: Connection, models: Models, position: int) -> None:
    """Say how far the tables are, inside the transaction that filled them."""
    db.execute(
        f"INSERT OR REPLACE INTO {models.write}caught_up(model, position) VALUES (?, ?)",
        (MODEL, position),
    )


def clear(db: Connection, models: Models) -> None:
    """Empty the tables, inside a transaction; names of sessions stay."""
    for name in ("uses", "touches", "caught_up"):
        db.execute(f"DELETE FROM {models.write}{name}")
    table, column = models.search[-1]
    db.execute(f"INSERT INTO {table}({column}) VALUES ('delete-all')")


def late_base(db: Connection) -> int | None:
    """How far the file's tables were when the late ones were made; None: there are none."""
    exists = "SELECT 1 FROM sqlite_temp_master WHERE name = 'late_caught_up'"
    if db.row(exists) is None:
        return None
    row = db.row("SELECT position FROM temp.late_caught_up WHERE model = ?", (_BASE,))
    return None if row is None else int(row[0])


def late_models(base: int) -> Models:
    """What to read when late tables begin at `base`."""
    return LATE if base > 0 else ALONE


def make_late(db: Connection, base: int) -> Models:
    """Make empty late tables behind `base`: what the file's tables know, or `UNUSABLE`."""
    with late_transaction(db):
        drop_late(db)
        for statement in statements(CACHES):
            for name in TABLES:
                late = statement.replace(f"IF NOT EXISTS {name}", f"temp.late_{name}", 1)
                if late != statement:
                    db.execute(late)
        if base > 0:
            for view in _VIEWS:
                db.execute(view)
        insert = "INSERT INTO temp.late_caught_up(model, position) VALUES (?, ?)"
        db.execute(insert, (_BASE, base))
        db.execute(insert, (MODEL, max(base, 0)))
    return late_models(base)


def drop_late(db: Connection) -> None:
    """Drop the late tables."""
    if late_base(db) is None:
        return
    for name in ("now_session_rows", "now_uses", "now_touches"):
        db.execute(f"DROP VIEW IF EXISTS temp.{name}")
    for name in TABLES:
        db.execute(f"DROP TABLE IF EXISTS temp.late_{name}")


@contextmanager
def late_transaction(db: Connection) -> Iterator[None]:
    """A transaction for temporary tables alone: takes no lock on the file."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def drop_search(db: Connection) -> None:
    """Drop the file's full-text table, inside a transaction, however damaged it is.

    FTS5 drops nothing that it cannot open, so its inner tables become those of a new one first.
    """
    try:
        db.execute("DROP TABLE IF EXISTS main.search")
        return
    except CorruptLedger:
        db.execute("CREATE VIRTUAL TABLE temp.fresh USING fts5(text, content='')")
    inner = "SELECT name, sql FROM sqlite_temp_master WHERE name LIKE 'fresh\\_%' ESCAPE '\\'"
    for name, sql in list(db.rows(inner)):
        own = f"main.search{name.removeprefix('fresh')}"
        db.execute(f"DROP TABLE IF EXISTS {own}")
        db.execute(sql.replace(f"'{name}'", own, 1))
        db.execute(f"INSERT INTO {own} SELECT * FROM temp.{name}")
    db.execute("DROP TABLE temp.fresh")
    db.execute("DROP TABLE main.search")
