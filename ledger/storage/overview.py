"""Names of sessions and numbers of their handles, straight from the file, for completion.

Loads no codec and decodes no event where the read models have caught up, so that a shell gets its
answer before one notices. Knows nothing about windows and contents.
"""

from __future__ import annotations

from .connection import Connection
from .migrations import MARK_TYPES_SQL

SESSIONS_MAX = 500
"""The newest ones; more would help nobody at a prompt."""
PARENTS_MAX = 20
HANDLE_TYPES = {"c": "window_compacted", "e": "items_evicted", "r": "rolled_back"}
BESIDE = ("side", "subagent")
"""Relations of sessions that are the newest only if there is no other."""


class Overview:
    """What a prompt can offer of a ledger."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def names(self) -> list[str]:
        """Names of sessions, the one opened last first."""
        query = "SELECT name FROM session_rows ORDER BY id DESC LIMIT ?"
        return [str(name) for (name,) in self._db.rows(query, (SESSIONS_MAX,))]

    def session(self, name: str) -> int | None:
        """The session of this name; of "" or `@` the one written to last."""
        if name and name != "@":
            row = self._db.row("SELECT id FROM session_rows WHERE name = ?", (name,))
            return int(row[0]) if row is not None else None
        newest_first = [
            int(session)
            for (session,) in self._db.rows(
                "SELECT id FROM session_rows ORDER BY (SELECT position FROM events"
                " WHERE session = id ORDER BY version DESC LIMIT 1) DESC LIMIT ?",
                (SESSIONS_MAX,),
            )
        ]
        mine = (session for session in newest_first if self._relation(session)[0] not in BESIDE)
        return next(mine, newest_first[0] if newest_first else None)

    def handles(self, session: int) -> dict[str, int]:
        """How many compactions (`c`), evictions (`e`) and roll-backs (`r`) a session has.

        Those that a fork has from its parents count too.
        """
        counts = dict.fromkeys(HANDLE_TYPES, 0)
        to = 2**62
        for _ in range(PARENTS_MAX):
            for letter, name in HANDLE_TYPES.items():
                row = self._db.row(
                    "SELECT count(*) FROM events WHERE session = ? AND type = ?"
                    f" AND type IN {MARK_TYPES_SQL} AND version <= ?",
                    (session, name, to),
                )
                counts[letter] += int(row[0]) if row is not None else 0
            first = self._db.row("SELECT min(version) FROM events WHERE session = ?", (session,))
            relation, parent = self._relation(session)
            if relation != "fork" or first is None or not parent or parent >= session:
                break
            session, to = parent, min(to, int(first[0]) - 1)
        return counts

    def _relation(self, session: int) -> tuple[str, int]:
        """(relation, parent) of a session: as its row says, or its first event."""
        row = self._db.row(
            "SELECT json_extract(CAST(data AS TEXT), '$.relation'),"
            " json_extract(CAST(data AS TEXT), '$.parent'), data = CAST('{}' AS BLOB)"
            " FROM session_rows WHERE id = ?",
            (session,),
        )
        if row is not None and not row[2]:
            return row[0] or "", int(row[1] or 0)
        from ..event_codec import decode
        from ..events import SessionOpened
        from .codec import unpack

        row = self._db.row("SELECT data FROM events WHERE position = ?", (session,))
        opened = decode(unpack(row[0])) if row is not None else None
        return (opened.relation, opened.parent) if isinstance(opened, SessionOpened) else ("", 0)
