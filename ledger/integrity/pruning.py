"""Writes a new ledger without some sessions; the old one stays as it is, as the archive.

Events of a chain are never removed, so nothing can be pruned in place but caches. The new ledger
has a chain and a name of its own: kept events keep their session, version, time and contents.
Knows nothing about terminals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from ..errors import ConflictError, CorruptLedger
from ..event_codec import decode, encode
from ..events import AnyEvent, BodyKey, ContentRedacted, RecordQuarantined, SessionOpened
from ..storage.chain import link
from ..storage.codec import pack_event, unpack
from ..storage.connection import Row
from ..storage.copies import published
from ..storage.sources import KINDS, RecordRow, rows_digest
from ..storage.store import Store
from .backups import Backup, check_backup, refuse_damaged
from .events import body_keys

PRUNED_FROM = "pruned_from"
"""Row of `meta`: the head of the ledger that this one was made of."""
OUTSIDE = KINDS.index("outside")


class Plan(Struct, frozen=True):
    """What a new ledger is to leave out."""

    left: dict[int, str]
    """Session id -> name."""
    kept: dict[int, str]
    events_left: int
    sources_left: tuple[int, ...]
    """They gave events to the left sessions alone."""
    sources_shared: tuple[int, ...]
    """Kept whole, the records of left sessions included."""
    children: dict[str, int]
    """Left session -> how many sessions that it started (subagents) are kept."""


def plan_pruning(store: Store, left: Sequence[int]) -> Plan:
    """Say what goes when these sessions are left out.

    Raises:
        ConflictError: a kept session is a fork of one of them and needs its events.
    """
    names = dict(store.session_names())
    leaving = {session: names[session] for session in left}
    kept = {session: name for session, name in names.items() if session not in leaving}
    needed_by: dict[int, list[str]] = {}
    children: dict[str, int] = {}
    for session, name in kept.items():
        for part in store.lineage(session)[:-1]:
            needed_by.setdefault(part.session, []).append(name)
        opened = _opened(store, session)
        if opened.relation != "fork" and opened.parent in leaving:
            parent = leaving[opened.parent]
            children[parent] = children.get(parent, 0) + 1
    for session, name in leaving.items():
        if forks := needed_by.get(session):
            raise ConflictError(
                f"{name} cannot be left out: {', '.join(forks[:3])} goes on from it.",
                "Name its forks too, or keep it.",
            )
    counted = store.db.row(
        f"SELECT count(*) FROM events WHERE session IN ({','.join('?' * len(leaving))})",
        tuple(leaving),
    )
    givers: dict[int, set[int]] = {}
    for source, session in store.db.rows(
        "SELECT DISTINCT source, session FROM records WHERE session IS NOT NULL AND events > 0"
    ):
        givers.setdefault(source, set()).add(session)
    touched = {source: to for source, to in givers.items() if to & leaving.keys()}
    return Plan(
        leaving,
        kept,
        int(counted[0]) if counted is not None else 0,
        tuple(sorted(source for source, to in touched.items() if not to & kept.keys())),
        tuple(sorted(source for source, to in touched.items() if to & kept.keys())),
        children,
    )


def _opened(store: Store, session: int) -> SessionOpened:
    row = store.db.row("SELECT data FROM events WHERE position = ?", (session,))
    opened = decode(unpack(row[0])) if row is not None else None
    if not isinstance(opened, SessionOpened):
        raise CorruptLedger(f"Session {session} is damaged.", "Run `ctxledger verify`.")
    return opened


def write_pruned(
    store: Store, plan: Plan, target: Path, *, entropy: Callable[[int], bytes]
) -> Backup:
    """Write the new ledger and check it; the file appears only when it is whole.

    Raises:
        BadInput: `target` exists.
        CorruptLedger: what is to be kept is damaged; no file is made.
        StorageFailed: it cannot be written.
    """
    with store.db.reading(), published(target) as part:
        fresh = Store(str(part), "write", clock_us=lambda: 0, entropy=entropy)
        try:
            with fresh.transaction():
                _Copier(store, fresh, plan).copy()
        finally:
            fresh.close()
        made = check_backup(part)
        refuse_damaged(made.checked, "What would be kept")
    return made


class _Copier:
    """One pass from ledger to ledger; sessions and sources get new numbers there."""

    def __init__(self, old: Store, new: Store, plan: Plan) -> None:
        self._old, self._new, self._plan = old, new, plan
        sources = [s for (s,) in old.db.rows("SELECT id FROM sources ORDER BY id")]
        kept = (source for source in sources if source not in plan.sources_left)
        self._sources = {source: number for number, source in enumerate(kept, start=1)}
        self._sessions: dict[int, int] = {}
        self._bodies = self._needed_bodies()

    def copy(self) -> None:
        """Fill the new ledger inside its transaction."""
        head = self._old.head()
        self._new.db.execute(
            "INSERT INTO meta(key, value) VALUES (?, ?)",
            (PRUNED_FROM, msgspec.json.encode(head)),
        )
        self._copy_bodies()
        self._copy_events()
        for source in self._sources:
            self._copy_source(source)

    def _kept_rows(self) -> Iterator[tuple[Row, AnyEvent]]:
        """Events of kept sessions, each checked against the chain it stands in."""
        previous, before = self._old.origin(), 0
        for row in self._old.db.rows(
            "SELECT position, session, version, recorded_at, type, actor, data, hash"
            " FROM events ORDER BY position"
        ):
            position, session = row[0], row[1]
            if session in self._plan.kept:
                if before == position - 1 and link(previous, *row[:7]) != row[7]:
                    name = self._plan.kept[session]
                    raise CorruptLedger(
                        f"Version {row[2]} of {name}, or the event before it, was changed.",
                        f"Leave {name} out too, or restore a backup.",
                    )
                yield row, decode(unpack(row[6]))
            previous, before = row[7], position

    def _needed_bodies(self) -> dict[BodyKey, BodyKey]:
        """Keys that kept events mention, with what is read instead; redactions mention nothing."""
        needed: set[BodyKey] = set()
        for _, event in self._kept_rows():
            if isinstance(event, ContentRedacted):
                needed.update(() if event.note is None else (event.note,))
            else:
                needed.update(body_keys(event))
        instead: dict[BodyKey, BodyKey] = dict(
            self._old.db.rows("SELECT key, instead FROM bodies WHERE instead IS NOT NULL")
        )
        pending = list(needed)
        while pending:
            other = instead.get(pending.pop())
            if other is not None and other not in needed:
                needed.add(other)
                pending.append(other)
        return {key: instead.get(key, b"") for key in needed}

    def _copy_bodies(self) -> None:
        for row in self._old.db.rows("SELECT key, salt, size, data, lookup FROM bodies"):
            if row[0] not in self._bodies:
                continue
            instead = self._bodies[row[0]] or None
            self._new.db.execute(
                "INSERT INTO bodies(key, salt, size, data, lookup) VALUES (?, ?, ?, ?, ?)",
                (*row[:3], b"" if instead else row[3], row[4]),
            )
            if instead:  # the schema lets it be set only while contents are removed
                self._new.db.execute(
                    "UPDATE bodies SET data = NULL, instead = ? WHERE key = ?", (instead, row[0])
                )

    def _copy_events(self) -> None:
        previous = self._new.origin()
        for position, (row, event) in enumerate(self._kept_rows(), start=1):
            if isinstance(event, SessionOpened):
                self._sessions[row[1]] = position
                self._new.names.add(position, event.name)
            session = self._sessions.get(row[1], 0)
            changed = self._renumbered(event)
            data = row[6] if changed is event else pack_event(encode(changed))
            fields = (position, session, row[2], row[3], row[4], row[5], data)
            previous = link(previous, *fields)
            self._new.db.execute(
                "INSERT INTO events(position, session, version, recorded_at, type, actor, data,"
                " hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*fields, previous),
            )

    def _renumbered(self, event: AnyEvent) -> AnyEvent:
        """The event as it is written in the new ledger."""
        if isinstance(event, SessionOpened) and event.parent:
            return structs.replace(event, parent=self._sessions.get(event.parent, 0))
        if isinstance(event, RecordQuarantined):
            return structs.replace(event, source=self._sources.get(event.source, 0))
        if isinstance(event, ContentRedacted):
            instead = event.instead or (b"",) * len(event.bodies)
            pairs = [p for p in zip(event.bodies, instead, strict=True) if p[0] in self._bodies]
            sources = (self._sources.get(source, 0) for source in event.sources)
            return structs.replace(
                event,
                bodies=tuple(key for key, _ in pairs),
                instead=tuple(other for _, other in pairs) if event.instead else (),
                sources=tuple(filter(None, sources)),
            )
        return event

    def _copy_source(self, source: int) -> None:
        number = self._sources[source]
        for table in ("sources", "masks", "chunks"):
            self._copy_rows(table, source, number)
        frames = self._old.db.rows(
            "SELECT offset, records, rows FROM chunks WHERE source = ? ORDER BY offset", (source,)
        )
        records = self._old.db.rows(
            "SELECT offset, length, key, digest, kind, session, version, events FROM records"
            " WHERE source = ? ORDER BY offset",
            (source,),
        )
        for offset, count, expected in frames:
            before = after = b""
            for _, row in zip(range(count), records, strict=False):
                before = rows_digest(before, _record(row))
                moved = self._moved(row)
                after = rows_digest(after, _record(moved))
                self._new.db.execute(
                    "INSERT INTO records(source, offset, length, key, digest, kind, session,"
                    " version, events) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (number, *moved),
                )
            if before != expected:
                raise CorruptLedger(
                    f"Source {source} is damaged behind byte {offset}.",
                    "Leave the sessions out that came from it, or restore a backup.",
                )
            self._new.db.execute(
                "UPDATE chunks SET rows = ? WHERE source = ? AND offset = ?",
                (after, number, offset),
            )

    def _copy_rows(self, table: str, source: int, number: int) -> None:
        """Rows of one source, under its new number."""
        own = "id" if table == "sources" else "source"
        columns = [row[1] for row in self._old.db.rows(f"PRAGMA table_info({table})")]
        others = [name for name in columns if name != own]
        for row in self._old.db.rows(
            f"SELECT {', '.join(others)} FROM {table} WHERE {own} = ?", (source,)
        ):
            self._new.db.execute(
                f"INSERT INTO {table}({own}, {', '.join(others)})"
                f" VALUES ({', '.join('?' * len(columns))})",
                (number, *row),
            )

    def _moved(self, row: Row) -> Row:
        """A record row with the new number of its session; of a left one: it became nothing."""
        session = row[5]
        if session is None:
            return row
        if session in self._sessions:
            return (*row[:5], self._sessions[session], *row[6:])
        return (*row[:4], OUTSIDE, None, None, 0)


def _record(row: Row) -> RecordRow:
    offset, length, key, digest, kind, session, version, events = row
    return RecordRow(offset, length, key, digest, KINDS[kind], session, version, events)
