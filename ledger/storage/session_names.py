"""Names of sessions: a cache of their first events that appending needs, so it is never lost.

Knows nothing about what sessions hold.
"""

from __future__ import annotations

from ..errors import CorruptLedger
from ..event_codec import decode
from ..events import SessionOpened
from .codec import unpack
from .connection import Connection
from .migrations import CACHE_TABLES, CACHES, statements


class SessionNames:
    """The names in the `session_rows` table."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._ids: dict[str, int] = {}

    def id_of(self, name: str) -> int | None:
        """The id of the session with exactly this name."""
        if name not in self._ids:
            row = self._db.row("SELECT id FROM session_rows WHERE name = ?", (name,))
            if row is None:
                return None
            if self._db.in_transaction:
                return int(row[0])  # may yet be rolled back
            self._ids[name] = int(row[0])
        return self._ids[name]

    def all(self) -> list[tuple[int, str]]:
        """(id, name), oldest first."""
        return [(i, n) for i, n in self._db.rows("SELECT id, name FROM session_rows ORDER BY id")]

    def add(self, session: int, name: str) -> None:
        """Name a session, inside the transaction that opens it."""
        self._db.execute(
            "INSERT INTO session_rows(id, name, opened, data) VALUES (?, ?, ?, ?)",
            (session, name, session, b"{}"),
        )

    def ensure(self) -> None:
        """Make lost cache tables anew, all together: they only answer together."""
        found = {name for (name,) in self._db.rows("SELECT name FROM sqlite_master")}
        is_lost = not found.issuperset(CACHE_TABLES)
        if is_lost or (
            self._db.row("SELECT 1 FROM session_rows LIMIT 1") is None
            and self._db.row("SELECT 1 FROM events LIMIT 1") is not None
        ):
            with self._db.transaction():
                for name in CACHE_TABLES if is_lost else ():
                    self._db.execute(f"DROP TABLE IF EXISTS {name}")
                for statement in statements(CACHES):
                    self._db.execute(statement)
                self.rebuild()

    def rebuild(self) -> None:
        """Fill the table from the events, inside a transaction."""
        self._db.execute("DELETE FROM session_rows")
        for position, data in self._db.rows(
            "SELECT position, data FROM events WHERE type = 'session_opened' ORDER BY position"
        ):
            event = decode(unpack(data))
            if not isinstance(event, SessionOpened):
                raise CorruptLedger(f"Event {position} is damaged.", "Run `ctxledger verify`.")
            self.add(position, event.name)
