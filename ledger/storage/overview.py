"""Names of sessions and numbers of their handles, straight from the file, for completion.

Loads no codec and decodes no event, so that a shell gets its answer before one notices. What it
says may lag a little behind; whoever resolves the name or the handle knows better.
"""

from __future__ import annotations

from .connection import Connection

SESSIONS_MAX = 500
"""The newest ones; more would help nobody at a prompt."""
PARENTS_MAX = 20
HANDLE_TYPES = {"c": "window_compacted", "e": "items_evicted", "r": "rolled_back"}
_RELATION = "json_extract(CAST(data AS TEXT), '$.relation')"


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
        row = self._db.row(
            f"SELECT id FROM (SELECT id, {_RELATION} AS relation FROM session_rows"
            " ORDER BY id DESC LIMIT ?)"
            " ORDER BY coalesce(relation, '') IN ('side', 'subagent'),"
            " (SELECT position FROM events WHERE session = id ORDER BY version DESC LIMIT 1) DESC"
            " LIMIT 1",
            (SESSIONS_MAX,),
        )
        return int(row[0]) if row is not None else None

    def handles(self, session: int) -> dict[str, int]:
        """How many compactions (`c`), evictions (`e`) and roll-backs (`r`) a session has.

        Those that a fork has from its parents count too.
        """
        counts = dict.fromkeys(HANDLE_TYPES, 0)
        to = 2**62
        for _ in range(PARENTS_MAX):
            for letter, name in HANDLE_TYPES.items():
                row = self._db.row(
                    f"SELECT count(*) FROM events WHERE session = ? AND type = '{name}'"
                    " AND version <= ?",
                    (session, to),
                )
                counts[letter] += int(row[0]) if row is not None else 0
            row = self._db.row(
                f"SELECT {_RELATION}, json_extract(CAST(data AS TEXT), '$.parent'),"
                " (SELECT min(version) FROM events WHERE session = id)"
                " FROM session_rows WHERE id = ?",
                (session,),
            )
            if row is None or row[0] != "fork" or not row[1] or row[1] == session:
                break
            session, to = int(row[1]), min(to, int(row[2]) - 1)
        return counts
