"""What the next events add to the read models: rows of sessions, uses, touches, full text.

Reads only. Damaged events and bodies are left out and never stop the rest (`verify` reports
them). Knows nothing about when and where the rows are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from ..content import to_text
from ..errors import CorruptLedger
from ..event_codec import decode
from ..events import AnyEvent, BodyKey, Delta, SessionOpened, StoredBlock, messages_of
from ..storage.codec import unpack
from ..storage.store import Store
from ..window import split_id
from .read_models import Models
from .session_stats import SessionStats, decode_stats, encode_stats
from .touching import WindowTracker
from .words import for_index, words_of

BATCH_EVENTS = 500
BATCH_BYTES = 512 * 1024
"""Contents put into one transaction (one body may be larger)."""


class _Row(Struct, frozen=True):
    """An event as the models read it; `event` is None when it is damaged."""

    position: int
    session: int
    version: int
    recorded_at: int
    event: AnyEvent | None


class ReadSession(Struct):
    """A session being read."""

    stats: SessionStats
    tracker: WindowTracker


class Batch(Struct):
    """Rows to store."""

    position: int
    """Of its last event."""
    uses: list[tuple[int, int, int, int]]
    touches: list[tuple[int, int, int, int, int]]
    search: list[tuple[int, str]]
    stats: list[tuple[int, str, bytes]]
    size_bytes: int


def prepare(
    store: Store, models: Models, base: int, sessions: dict[int, ReadSession | None]
) -> Batch:
    """What the next events add.

    Args:
        sessions: state by session at `base`; afterwards of the sessions in this batch.
    """
    rows = _read(store, base)
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
    return Batch(rows[-1].position, uses, touches, search, stats, size)


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


def _load(store: Store, models: Models, row: _Row) -> ReadSession | None:
    """The session just before `row`; None when it cannot be read."""
    if isinstance(row.event, SessionOpened):
        if row.event.relation != "fork":
            return ReadSession(SessionStats(), WindowTracker())
        stats = None
    else:
        found = store.db.row(f"SELECT data FROM {models.rows} WHERE id = ?", (row.session,))
        stats = decode_stats(found[0]) if found is not None else None
    try:
        if stats is None:
            stats = _stats_before(store, row.session, row.version)
        return ReadSession(stats, WindowTracker(store.window(row.session, row.version - 1).entries))
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
    store: Store, session: ReadSession, row: _Row
) -> Iterable[tuple[int, int, int, int, int]]:
    assert row.event is not None, "BUG: a damaged event is fed"
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
        query = (
            f"SELECT DISTINCT body FROM {models.uses} WHERE body IN ({','.join('?' * len(batch))})"
        )
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
