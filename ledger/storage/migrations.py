"""The schema, as forward-only steps applied by sqlite-utils.

Events, bodies, sources, chunks and records are the ledger; all other tables are caches that
`rebuild` makes anew. Knows nothing about what is in the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .connection import APPLICATION_ID, SCHEMA_VERSION, Connection

if TYPE_CHECKING:
    from sqlite_utils import Database

MARK_TYPES_SQL = (
    "('items_evicted','window_compacted','items_reinjected','check_ran','rolled_back',"
    "'window_rewritten','compaction_proposed','proposal_discarded','state_noted','item_pinned',"
    "'item_unpinned','phase_changed','record_quarantined','content_redacted','session_opened',"
    "'model_called','call_completed','system_set','tools_set')"
)
"""Rare events that people refer to; queries repeat the text exactly to use their index."""

_LEDGER = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
CREATE TABLE events(
    position INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    version INTEGER NOT NULL,
    type TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    data BLOB NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE(session, version)
) STRICT;
CREATE TABLE bodies(
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    salt BLOB,
    size INTEGER NOT NULL,
    data BLOB,
    lookup BLOB,
    instead BLOB
) STRICT;
CREATE INDEX bodies_lookup ON bodies(lookup) WHERE lookup IS NOT NULL;
CREATE TABLE sources(
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    format TEXT NOT NULL,
    head BLOB,
    length INTEGER NOT NULL,
    options TEXT NOT NULL,
    digest BLOB NOT NULL
) STRICT;
CREATE INDEX sources_head ON sources(head);
CREATE TABLE chunks(
    source INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    records INTEGER NOT NULL,
    digest BLOB NOT NULL,
    rows BLOB NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY(source, offset)
) STRICT;
CREATE TABLE records(
    source INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    key BLOB NOT NULL,
    digest BLOB NOT NULL,
    kind INTEGER NOT NULL,
    session INTEGER,
    version INTEGER,
    events INTEGER NOT NULL,
    PRIMARY KEY(source, offset)
) STRICT, WITHOUT ROWID;
CREATE TABLE masks(
    source INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    kind TEXT NOT NULL,
    PRIMARY KEY(source, offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX records_key ON records(key);
CREATE INDEX records_version ON records(session, version) WHERE events > 0;
CREATE INDEX events_marks ON events(session, type, version) WHERE type IN {marks};

CREATE TRIGGER events_no_update BEFORE UPDATE ON events
BEGIN SELECT raise(ABORT, 'events are never changed'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
BEGIN SELECT raise(ABORT, 'events are never removed'); END;
CREATE TRIGGER events_no_replace BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE position = new.position
             OR (session = new.session AND version = new.version))
BEGIN SELECT raise(ABORT, 'events are never replaced'); END;
CREATE TRIGGER bodies_only_redacted BEFORE UPDATE ON bodies
WHEN new.id <> old.id OR new.key <> old.key OR new.size <> old.size
     OR new.data IS NOT NULL OR new.salt IS NOT NULL OR new.lookup IS NOT NULL
     OR (old.data IS NULL AND new.instead IS NOT old.instead)
BEGIN SELECT raise(ABORT, 'bodies are only ever redacted'); END;
CREATE TRIGGER bodies_no_replace BEFORE INSERT ON bodies
WHEN EXISTS (SELECT 1 FROM bodies WHERE key = new.key OR id = new.id)
     OR new.instead IS NOT NULL
BEGIN SELECT raise(ABORT, 'bodies are never replaced'); END;
CREATE TRIGGER bodies_no_delete BEFORE DELETE ON bodies
BEGIN SELECT raise(ABORT, 'bodies are never removed'); END;
"""

CACHES = """
CREATE TABLE IF NOT EXISTS snapshots(
    session INTEGER NOT NULL,
    version INTEGER NOT NULL,
    projector INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY(session, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS caught_up(model TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS session_rows(
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    opened INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS uses(
    body INTEGER NOT NULL,
    session INTEGER NOT NULL,
    version INTEGER NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY(body, session, version, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS touches(
    session INTEGER NOT NULL,
    item_version INTEGER NOT NULL,
    item_place INTEGER NOT NULL,
    version INTEGER NOT NULL,
    what INTEGER NOT NULL,
    PRIMARY KEY(session, item_version, item_place, version, what)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens(
    body INTEGER NOT NULL,
    counter TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY(body, counter)
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5(text, content='', tokenize='unicode61');
"""
CACHE_TABLES = ("snapshots", "caught_up", "session_rows", "uses", "touches", "tokens", "search")


def statements(script: str) -> list[str]:
    """Cut a script into statements; triggers end with `END;`."""
    out: list[str] = []
    current: list[str] = []
    for line in script.splitlines():
        current.append(line)
        joined = "\n".join(current).strip()
        if joined.endswith(";") and ("CREATE TRIGGER" not in joined or joined.endswith("END;")):
            out.append(joined)
            current = []
    return out


def _first_schema(db: Database) -> None:
    ledger = _LEDGER.replace("{marks}", MARK_TYPES_SQL)
    for statement in statements(ledger) + statements(CACHES):
        db.execute(statement)
    db.execute(f"PRAGMA application_id={APPLICATION_ID}")


STEPS: tuple[tuple[int, Callable[[Database], None]], ...] = ((1, _first_schema),)
"""(schema version after the step, the step)."""


def migrate(connection: Connection, entropy: Callable[[int], bytes]) -> None:
    """Bring the file to `SCHEMA_VERSION`, all or nothing; a no-op when it is there already.

    Args:
        entropy: gives random bytes; 16 of them name a new ledger in its heads.
    """
    if connection.schema_version == SCHEMA_VERSION:
        return
    from sqlite_utils import Database  # 0.2 s to import: only when there is something to do
    from sqlite_utils.migrations import Migrations

    with connection.transaction():
        row = connection.row("PRAGMA user_version")
        if row is not None and row[0] == SCHEMA_VERSION:
            connection.schema_version = SCHEMA_VERSION
            return  # another process was faster
        plan = Migrations("ctxledger")
        for version, step in STEPS:
            plan(name=f"schema {version}")(step)
        db = Database(connection.driver, execute_plugins=False)
        plan.apply(db)
        connection.execute(
            "INSERT OR IGNORE INTO meta(key, value) VALUES ('origin', ?)", (entropy(16),)
        )
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    connection.schema_version = SCHEMA_VERSION
