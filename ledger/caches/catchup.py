"""Brings the read models up to the last event, and makes all caches anew.

Never on the append path: whoever reads the models calls `catch_up` first, so no answer is stale.
Batches are prepared without a lock and stored in a short transaction together with the
watermark, if that has not moved; so killing it or running it twice does no harm. Knows nothing
about what readers do with the models.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from ..errors import CorruptLedger, LedgerBusy, StorageFailed
from ..events import Delta, RolledBack
from ..storage.migrations import CACHE_TABLES, CACHES, statements
from ..storage.store import Store
from ..storage.windows import snapshot_interval
from ..window import WindowBuilder
from .model_rows import Batch, ReadSession, prepare
from .read_models import (
    ALONE,
    MAIN,
    UNUSABLE,
    Models,
    clear,
    drop_late,
    drop_search,
    has_tables,
    head_position,
    late_base,
    late_models,
    late_transaction,
    make_late,
    move_watermark,
    watermark,
)

WAIT_S = 1.0
"""How long a reader waits for the write lock."""


def catch_up(store: Store, *, wait_s: float = WAIT_S) -> Models:
    """Bring the read models up to the last event and give the tables to read.

    Args:
        wait_s: how long to wait for the write lock before working in temporary tables.
    """
    db = store.db
    base = late_base(db)
    if base == UNUSABLE:
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


def events_behind(store: Store) -> int:
    """Events that the file's read models do not know yet."""
    reached = watermark(store.db, MAIN) if has_tables(store.db) else None
    return head_position(store.db) - (reached or 0)


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
    return _advance_late(store, make_late(db, UNUSABLE))


def _catch_up_late(store: Store, base: int | None) -> Models:
    db = store.db
    reached = 0
    if has_tables(db):
        try:
            reached = watermark(db, MAIN) or 0
        except CorruptLedger:
            reached = 0
    if reached and reached == head_position(db):
        drop_late(db)
        return MAIN
    models = late_models(reached) if base == reached else make_late(db, reached)
    return _advance_late(store, models)


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
    sessions: dict[int, ReadSession | None] = {}
    known = -1
    while True:
        base = watermark(store.db, models)
        if base is None:  # new, or another program version's: what is there would mislead
            with transaction():
                if watermark(store.db, models) is None:
                    clear(store.db, models)
                    move_watermark(store.db, models, 0)
            continue
        if base >= head_position(store.db):
            return
        if base != known:
            sessions = {}  # another process went on, or this is the first batch
        batch = prepare(store, models, base, sessions)
        with transaction():
            is_mine = watermark(store.db, models) == base
            if is_mine:
                _keep(store, models, batch)
        known = batch.position if is_mine else -1


def _keep(store: Store, models: Models, batch: Batch) -> None:
    db, write = store.db, models.write
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
        store.names.rebuild()
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
                store.windows.keep(session, builder.window(stored.version))
                unsaved = 0
    except (CorruptLedger, KeyError):
        return  # reading a window there says what is wrong
