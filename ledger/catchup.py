"""Brings the read models up to the last event: rows of sessions, uses, touches, full text.

Never on the append path: whoever reads them calls `catch_up` first, so no answer is stale.
Batches are prepared without a lock and stored in a short transaction together with the
watermark, if that has not moved; so killing it or running it twice does no harm. Damaged events
and bodies are left out and never stop the rest (`verify` reports them). Knows nothing about
what readers do with the models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from msgspec import Struct

from .codec import unpack
from .connection import BUSY_WAIT_S
from .content import to_text
from .errors import CorruptLedger, LedgerBusy, StorageFailed
from .events import AnyEvent, BodyKey, Delta, RolledBack, SessionOpened, StoredBlock, decode, messages_of
from .migrations import CACHE_TABLES, CACHES, statements
from .read_models import (
    ALONE,
    LATE,
    MAIN,
    Models,
    clear,
    drop_late,
    drop_search,
    has_tables,
    head_position,
    late_base,
    late_transaction,
    make_late,
    move_watermark,
    watermark,
)
from .session_stats import SessionStats, decode_stats, encode_stats
from .store import Store, snapshot_interval
from .touching import WindowTracker
from .window import WindowBuilder, split_id
from .words import for_index, words_of

BATCH_EVENTS = 500
BATCH_BYTES = 2 * 1024 * 1024
"""Contents put into one transaction (one body may be larger)."""


class _Row(Struct, frozen=True):
    """An event as the models read it; `event` is None when it is damaged."""

    position: int
    session: int
    version: int
    recorded_at: int
    event: AnyEvent | None


class _Session(Struct):
    """A session being read."""

    stats: SessionStats
    tracker: WindowTracker


class _Batch(Struct):
    """Rows to store."""

    base: int | None
    """The watermark it was prepared for."""
    position: int
    uses: list[tuple[int, int, int, int]]
    touches: list[tuple[int, int, int, int, int]]
    search: list[tuple[int, str]]
    stats: list[tuple[int, str, bytes]]
    size_bytes: int


def catch_up(store: Store, *, wait_s: float = BUSY_WAIT_S) -> Models:
    """Bring the read models up to the last event and give the tables to read.

    Args:
        wait_s: how long to wait for the write lock before working in temporary tables.
    """
    db = store.db
    base = late_base(db)
    if base == 0:
        return _advance_late(store, ALONE)
    if db.mode == "write" and not db.in_transaction:
        try:
            _advance_main(store, wait_s)
        except (LedgerBusy, StorageFailed, CorruptLedger):
            pass  # locked, full or damaged: temporary tables for what is missing
        else:
            drop_late(db)
            return MAIN
    return _catch_up_late(store, base)


def start_over(store: Store) -> Models:
    """Make the read models anew, in temporary tables where the file's cannot be mended."""
    db = store.db
    drop_late(db)
    if db.mode == "write" and not db.in_transaction:
        try:
            with store.transaction():
                drop_search(db)
                for statement in statements(CACHES):
                    db.execute(statement)
                clear(db, MAIN)
            return catch_up(store)
        except (LedgerBusy, StorageFailed, CorruptLedger):
            pass
    return _advance_late(store, make_late(db, 0))


def _catch_up_late(store: Store, base: int | None) -> Models:
    db = store.db
    reached = None
    if has_tables(db):
        try:
            reached = watermark(db, MAIN)
        except CorruptLedger:
            reached = None
    if reached and reached == head_position(db):
        drop_late(db)
        return MAIN
    if base is None or base != (reached or 0):
        return _advance_late(store, make_late(db, reached or 0))
    return _advance_late(store, LATE)


def _advance_main(store: Store, wait_s: float) -> None:
    if not has_tables(store.db):
        with store.db.transaction(wait_s):
            for statement in statements(CACHES):
                store.db.execute(statement)
            clear(store.db, MAIN)
    _advance(store, MAIN, lambda: store.db.transaction(wait_s))


def _advance_late(store: Store, models: Models) -> Models:
    _advance(store, models, lambda: late_transaction(store.db))
    return models


def _advance(
    store: Store, models: Models, transaction: Callable[[], AbstractContextManager[None]]
) -> None:
    sessions: dict[int, _Session | None] = {}
    known: int | None = -1
    while True:
        base = watermark(store.db, models)
        if (base or 0) >= head_position(store.db):
            return
        if base != known:
            sessions = {}  # another process went on, or this is the first batch
        batch = _prepare(store, models, base, sessions)
        with transaction():
            is_mine = watermark(store.db, models) == base
            if is_mine:
                _keep(store, models, batch)
        known = batch.position if is_mine else -1


def _keep(store: Store, models: Models, batch: _Batch) -> None:
    db, write = store.db, models.write
    if batch.base is None:
        clear(db, models)
    db.executemany(f"INSERT OR IGNORE INTO {write}uses VALUES (?, ?, ?, ?)", batch.uses)
    db.executemany(f"INSERT OR IGNORE INTO {write}touches VALUES (?, ?, ?, ?, ?)", batch.touches)
    db.executemany(f"INSERT INTO {models.search[-1][0]}(rowid, text) VALUES (?, ?)", batch.search)
    db.executemany(
        f"INSERT INTO {write}session_rows(id, name, opened, data) VALUES (?1, ?2, ?1, ?3)"
        " ON CONFLICT(id) DO UPDATE SET data = excluded.data",
        batch.stats,
    )
    move_watermark(db, models, batch.position)
    db.note_written(batch.size_bytes)


# -- preparing a batch: reads only ----------------------------------------------------------------


def _prepare(
    store: Store, models: Models, base: int | None, sessions: dict[int, _Session | None]
) -> _Batch:
    """What the next events add.

    Args:
        sessions: state by session at `base`; afterwards of the sessions in this batch.
    """
    rows = _read(store, base or 0)
    touches: list[tuple[int, int, int, int, int]] = []
    for row in rows:
        if row.session not in sessions:
            sessions[row.session] = _load(store, models, row)
        session = sessions[row.session]
        if session is not None and row.event is not None:
            try:
                touches.extend(_feed(store, session, row))
            except KeyError:
                sessions[row.session] = None  # a damaged event: the window is not known any more
    seen = {row.session for row in rows}
    for other in [i for i in sessions if i not in seen]:
        del sessions[other]
    uses, search = _contents(store, models, rows)
    stats = [(i, s.stats.name, encode_stats(s.stats)) for i, s in sessions.items() if s is not None]
    size = sum(len(text) for _, text in search) // 2 + 24 * (len(uses) + len(touches))
    return _Batch(base, rows[-1].position, uses, touches, search, stats, size)


def _read(store: Store, after: int) -> list[_Row]:
    rows: list[_Row] = []
    size = 0
    for position, session, version, recorded_at, data in store.db.rows(
        "SELECT position, session, version, recorded_at, data FROM events"
        " WHERE position > ? ORDER BY position LIMIT ?",
        (after, BATCH_EVENTS),
    ):
        try:
            event: AnyEvent | None = decode(unpack(data))
        except CorruptLedger:
            event = None
        rows.append(_Row(position, session, version, recorded_at, event))
        size += sum(block.size for block in _blocks(event))
        if size > BATCH_BYTES:
            break
    return rows


def _blocks(event: AnyEvent | None) -> list[StoredBlock]:
    if event is None:
        return []
    return [block for message in messages_of(event) for block in message.blocks]


def _load(store: Store, models: Models, row: _Row) -> _Session | None:
    """The session just before `row`; None when it cannot be read."""
    if isinstance(row.event, SessionOpened):
        if row.event.relation != "fork":
            return _Session(SessionStats(), WindowTracker())
        stats = None
    else:
        found = store.db.row(f"SELECT data FROM {models.rows} WHERE id = ?", (row.session,))
        stats = decode_stats(found[0]) if found is not None else None
    try:
        if stats is None:
            stats = _stats_before(store, row.session, row.version)
        return _Session(stats, WindowTracker(store.window(row.session, row.version - 1).entries))
    except CorruptLedger:
        return None


def _stats_before(store: Store, session: int, version: int) -> SessionStats:
    """Read from the beginning: a fork begins with what its parent had."""
    stats = SessionStats()
    for stored in store.read(session, to=version - 1):
        stats.feed(stored.version, stored.recorded_at // 1000, stored.event, _text_of(store))
    return stats


def _text_of(store: Store) -> Callable[[BodyKey], str]:
    def text(key: BodyKey) -> str:
        try:
            return store.bodies.get(key).decode("utf-8", "replace")
        except CorruptLedger:
            return ""

    return text


def _feed(
    store: Store, session: _Session, row: _Row
) -> Iterable[tuple[int, int, int, int, int]]:
    assert row.event is not None
    session.stats.feed(row.version, row.recorded_at // 1000, row.event, _text_of(store))
    delta: Delta | None = getattr(row.event, "delta", None)
    if delta is None:
        return ()
    touched = session.tracker.apply(delta)
    return [(row.session, *split_id(item), row.version, what) for item, what in touched]


def _contents(
    store: Store, models: Models, rows: Iterable[_Row]
) -> tuple[list[tuple[int, int, int, int]], list[tuple[int, str]]]:
    """(uses of bodies, texts of bodies that were not met before)."""
    placed = [
        (block, row.session, row.version, place)
        for row in rows
        for place, block in enumerate(_blocks(row.event))
    ]
    first = {block.body: block for block, *_ in reversed(placed)}
    ids = store.bodies.ids_of(first)
    known = _used(store, models, list(ids.values()))
    texts = _texts(store, [key for key, body in ids.items() if body not in known])
    search = []
    for key, text in texts.items():
        words = for_index(words_of(first[key].type, text, is_json=first[key].is_json))
        if words:
            search.append((ids[key], words))
    uses = [(ids[b.body], session, v, p) for b, session, v, p in placed if b.body in ids]
    return uses, sorted(search)


def _used(store: Store, models: Models, ids: list[int]) -> set[int]:
    found: set[int] = set()
    for start in range(0, len(ids), 500):
        batch = ids[start : start + 500]
        query = f"SELECT DISTINCT body FROM {models.uses} WHERE body IN ({','.join('?' * len(batch))})"
        found.update(row[0] for row in store.db.rows(query, batch))
    return found


def _texts(store: Store, keys: list[BodyKey]) -> dict[BodyKey, str]:
    try:
        found = store.bodies.get_many(keys)
    except CorruptLedger:
        found = {}
        for key in keys:
            try:
                found[key] = store.bodies.get(key)
            except CorruptLedger:
                continue  # `verify` reports it
    return {key: to_text(data) for key, data in found.items()}


# -- making everything anew -----------------------------------------------------------------------


def rebuild(store: Store) -> int:
    """Throw all caches away and make them anew from the events; gives the number of events.

    Raises:
        LedgerBusy, StorageFailed: the caches are as they were.
    """
    db = store.db
    drop_late(db)
    with store.transaction():
        drop_search(db)
        for name in CACHE_TABLES:
            db.execute(f"DROP TABLE IF EXISTS main.{name}")
        for statement in statements(CACHES):
            db.execute(statement)
        store.rebuild_names()
        for session, _ in store.session_names():
            _rebuild_snapshots(store, session)
    catch_up(store)
    row = db.row("SELECT count(*) FROM events")
    return int(row[0]) if row is not None else 0


def _rebuild_snapshots(store: Store, session: int) -> None:
    """Snapshots at the distances that the writer keeps, as far as the events can be read."""
    try:
        own = store.lineage(session)[-1]
        builder = WindowBuilder(store.window(session, own.after).entries)
        unsaved = 0
        for stored in store.read(session, own.after):
            delta: Delta | None = getattr(stored.event, "delta", None)
            if delta is None:
                continue
            builder.apply(delta)
            unsaved += 1
            is_due = unsaved >= snapshot_interval(len(builder.entries))
            if is_due or isinstance(stored.event, RolledBack):
                store.put_snapshot(session, builder.window(stored.version))
                unsaved = 0
    except (CorruptLedger, KeyError):
        return  # reading a window there says what is wrong
