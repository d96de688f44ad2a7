"""The event store: append with an expected version, read, chain and head.

One file because appending and reading must agree on lineages and on the order of the chain.
Knows nothing about formats, windows' contents or what events mean beyond their delta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ..errors import ConflictError, CorruptLedger, UnknownReference
from ..event_codec import decode, encode_checked, type_of
from ..events import AnyEvent, SessionOpened
from ..window import Window
from . import chain
from .bodies import Bodies
from .codec import pack_event, unpack
from .connection import MEMORY, Connection, Mode, Row
from .migrations import MARK_TYPES_SQL, migrate
from .session_names import SessionNames
from .windows import Lineage, Windows


class StoredEvent(Struct, frozen=True):
    """An event with its place in the ledger."""

    position: int
    session: int
    version: int
    recorded_at: int
    """Unix microseconds by this machine's clock."""
    actor: str
    event: AnyEvent


def _stored(row: Row) -> StoredEvent:
    """An event from a row of `position, session, version, recorded_at, actor, data`."""
    position, session, version, recorded_at, actor, data = row
    return StoredEvent(position, session, version, recorded_at, actor, decode(unpack(data)))


class Store:
    """One ledger file."""

    def __init__(
        self,
        path: str = MEMORY,
        mode: Mode = "write",
        *,
        clock_us: Callable[[], int],
        entropy: Callable[[int], bytes],
        is_durable: bool = True,
    ) -> None:
        """Open `path`; see `Connection` for the errors.

        Args:
            clock_us: gives Unix microseconds, for `recorded_at`.
            entropy: gives n random bytes, for salts and the ledger's name.
        """
        self.db = Connection(path, mode, is_durable=is_durable)
        if mode == "write":
            migrate(self.db, entropy)
        self.bodies = Bodies(self.db, entropy)
        self._clock_us = clock_us
        self.names = SessionNames(self.db)
        if mode == "write":
            self.names.ensure()
        self.windows = Windows(self.db, self.lineage)
        self._lineages: dict[int, tuple[Lineage, ...]] = {}
        # What is known under the write lock; empty outside of a transaction.
        self._heads: dict[int, int] = {}
        self._tail: tuple[int, bytes] | None = None

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything appended inside is stored whole or not at all."""
        with self.db.transaction():
            self._heads, self._tail = {}, None
            try:
                yield
            except BaseException:
                self._lineages.clear()  # a session opened here was never opened
                raise
            finally:
                self._heads, self._tail = {}, None

    # -- sessions -----------------------------------------------------------------------------

    def session_id(self, name: str) -> int | None:
        """The id of the session with exactly this name."""
        return self.names.id_of(name)

    def session_names(self) -> list[tuple[int, str]]:
        """(id, name) of all sessions, oldest first."""
        return self.names.all()

    def written_last(self) -> Iterator[int]:
        """The session of each event, newest first."""
        for (session,) in self.db.rows("SELECT session FROM events ORDER BY position DESC"):
            yield int(session)

    def head_version(self, session: int) -> int:
        """The last version of a session."""
        if session in self._heads:
            return self._heads[session]
        row = self.db.row("SELECT max(version) FROM events WHERE session = ?", (session,))
        if row is None or row[0] is None:
            raise UnknownReference(f"There is no session {session}.", "See `ctxledger sessions`.")
        if self.db.in_transaction:
            self._heads[session] = int(row[0])
        return int(row[0])

    def lineage(self, session: int) -> tuple[Lineage, ...]:
        """The streams that hold a session's history, oldest first; one unless it is a fork."""
        if session not in self._lineages:
            row = self.db.row("SELECT version, data FROM events WHERE position = ?", (session,))
            if row is None:
                raise UnknownReference(
                    f"There is no session {session}.", "See `ctxledger sessions`."
                )
            opened = decode(unpack(row[1]))
            before: tuple[Lineage, ...] = ()
            if isinstance(opened, SessionOpened) and opened.relation == "fork":
                if opened.parent >= session:  # would go round in circles
                    raise CorruptLedger(f"Session {session} is damaged.", "Run `ctxledger verify`.")
                before = tuple(
                    Lineage(part.session, part.after, min(part.to, opened.parent_version))
                    for part in self.lineage(opened.parent)
                    if part.after < opened.parent_version
                )
            self._lineages[session] = (*before, Lineage(session, int(row[0]) - 1, 2**62))
        return self._lineages[session]

    # -- appending ----------------------------------------------------------------------------

    def open_session(self, event: SessionOpened, actor: str) -> int:
        """Append the first event of a session and give the session's id.

        Raises:
            ConflictError: the name is taken.
        """
        if self.session_id(event.name) is not None:
            raise ConflictError(f"There is a session {event.name} already.", "Take another name.")
        position, previous = self._last()
        position += 1
        version = event.parent_version + 1 if event.relation == "fork" else 1
        self._insert(previous, position, position, version, event, actor)
        self.names.add(position, event.name)
        return position

    def append(
        self, session: int, expected_version: int | None, events: Sequence[tuple[AnyEvent, str]]
    ) -> int:
        """Append (event, actor) pairs behind `expected_version` and give the last version.

        Args:
            expected_version: the version the caller has seen; None = whatever it is now.

        Raises:
            ConflictError: the session has moved on; nothing was written.
            BadInput: an event could never be read again.
        """
        version = self.head_version(session)
        if expected_version is not None and version != expected_version:
            raise ConflictError(
                f"The session is at version {version}, not {expected_version} any more.",
                "Read it again and repeat the command.",
                expected=expected_version,
                actual=version,
            )
        position, digest = self._last()
        for event, actor in events:
            position += 1
            version += 1
            digest = self._insert(digest, position, session, version, event, actor)
        self._heads[session] = version
        return version

    def _insert(
        self,
        previous: bytes,
        position: int,
        session: int,
        version: int,
        event: AnyEvent,
        actor: str,
    ) -> bytes:
        data = pack_event(encode_checked(event))
        recorded_at = self._clock_us()
        name = type_of(event)
        digest = chain.link(previous, position, session, version, recorded_at, name, actor, data)
        self.db.execute(
            "INSERT INTO events(position, session, version, type, recorded_at, actor, data, hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (position, session, version, name, recorded_at, actor, data, digest),
        )
        self.db.note_written(len(data) + 150)
        self._tail = (position, digest)
        return digest

    def _last(self) -> tuple[int, bytes]:
        if self._tail is not None:
            return self._tail
        row = self.db.row("SELECT position, hash FROM events ORDER BY position DESC LIMIT 1")
        return (row[0], row[1]) if row is not None else (0, self.origin())

    # -- reading ------------------------------------------------------------------------------

    def origin(self) -> bytes:
        """The ledger's random name: 16 bytes."""
        row = self.db.row("SELECT value FROM meta WHERE key = 'origin'")
        if row is None:
            raise CorruptLedger("The ledger has lost its origin.", "Restore a backup.")
        return bytes(row[0])

    def head(self) -> chain.Head:
        """How far the ledger goes."""
        position, digest = self._last()
        return chain.Head(self.origin().hex(), position, digest.hex())

    def read(
        self,
        session: int,
        after: int = 0,
        to: int | None = None,
        types: Iterable[str] | None = None,
        *,
        is_reverse: bool = False,
    ) -> Iterator[StoredEvent]:
        """Events of a session with `after < version <= to`, oldest first; a fork's parents too."""
        limit = 2**62 if to is None else to
        parts = [p for p in self.lineage(session) if p.after < limit and p.to > after]
        type_filter, values = "", []
        if types is not None:
            values = list(types)
            type_filter = f" AND type IN ({','.join('?' * len(values))})"
            if all(f"'{name}'" in MARK_TYPES_SQL for name in values):
                type_filter += f" AND type IN {MARK_TYPES_SQL}"  # lets the index be used
        order = "DESC" if is_reverse else "ASC"
        for part in reversed(parts) if is_reverse else parts:
            bounds = (part.session, max(after, part.after), min(limit, part.to))
            for row in self.db.rows(
                "SELECT position, session, version, recorded_at, actor, data FROM events"
                f" WHERE session = ? AND version > ? AND version <= ?{type_filter}"
                f" ORDER BY version {order}",
                (*bounds, *values),
            ):
                yield _stored(row)

    def mark_versions(self, session: int, type_name: str) -> list[int]:
        """Versions of all events of one rare type, oldest first; only the index is read."""
        return [
            int(version)
            for part in self.lineage(session)
            for (version,) in self.db.rows(
                "SELECT version FROM events WHERE session = ? AND type = ?"
                f" AND type IN {MARK_TYPES_SQL} AND version > ? AND version <= ? ORDER BY version",
                (part.session, type_name, part.after, part.to),
            )
        ]

    def marks(self, session: int, type_name: str) -> list[StoredEvent]:
        """All events of one rare type (compactions, roll-backs ...), oldest first, by index."""
        out: list[StoredEvent] = []
        for part in self.lineage(session):
            out.extend(
                _stored(row)
                for row in self.db.rows(
                    "SELECT position, session, version, recorded_at, actor, data FROM events"
                    f" WHERE session = ? AND type = ? AND type IN {MARK_TYPES_SQL}"
                    " AND version > ? AND version <= ? ORDER BY version",
                    (part.session, type_name, part.after, part.to),
                )
            )
        return out

    def read_one(self, session: int, version: int) -> StoredEvent:
        """One event.

        Raises:
            UnknownReference: the session has no such version.
        """
        for stored in self.read(session, version - 1, version):
            return stored
        raise UnknownReference(
            f"There is no version {version}.", f"The newest is {self.head_version(session)}."
        )

    def read_many(self, session: int, versions: Iterable[int]) -> dict[int, AnyEvent]:
        """Events by version, in few queries."""
        wanted = sorted(set(versions))
        found: dict[int, AnyEvent] = {}
        for part in self.lineage(session):
            mine = [v for v in wanted if part.after < v <= part.to]
            for start in range(0, len(mine), 500):
                batch = mine[start : start + 500]
                for version, data in self.db.rows(
                    "SELECT version, data FROM events WHERE session = ? AND version IN"
                    f" ({','.join('?' * len(batch))})",
                    (part.session, *batch),
                ):
                    found[version] = decode(unpack(data))
        return found

    def read_after(self, position: int, limit: int) -> list[StoredEvent]:
        """At most `limit` events of all sessions behind a position, in the order of the chain."""
        return [
            _stored(row)
            for row in self.db.rows(
                "SELECT position, session, version, recorded_at, actor, data FROM events"
                " WHERE position > ? ORDER BY position LIMIT ?",
                (position, limit),
            )
        ]

    # -- windows ------------------------------------------------------------------------------

    def window(self, session: int, version: int) -> Window:
        """The structure of the window after `version`; see `Windows`."""
        return self.windows.read(session, version)
