"""Numbers about a ledger and about one session: sizes on disk, kinds of records, tokens used.

Knows nothing about terminals, and nothing about prices.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from ..drafts import Usage
from ..events import CallCompleted, ItemsEvicted, ModelCalled
from ..rolling_back import compactions
from ..storage.sources import KINDS
from ..storage.store import Store

if TYPE_CHECKING:
    from ..ledger import Ledger
    from ..session import Session


class SourceNumbers(Struct, frozen=True):
    """One source."""

    name: str
    """Untrusted text."""
    format: str
    bytes: int
    records: dict[str, int]
    """By what became of them (`sources.KINDS`); their sum is all records."""


class LedgerNumbers(Struct, frozen=True):
    """A whole ledger."""

    events: int
    sessions: int
    bodies: int
    body_bytes: int
    """Contents before compression; equal ones of 1 KB and more once."""
    body_stored_bytes: int
    source_bytes: int
    """Bytes of the sources as they came."""
    source_stored_bytes: int
    disk_bytes: int
    """All pages of the database file, indexes and caches included."""
    event_types: dict[str, int]
    sources: tuple[SourceNumbers, ...]

    @property
    def disk_ratio(self) -> float | None:
        """Bytes on disk for each byte that came in; None without sources."""
        return self.disk_bytes / self.source_bytes if self.source_bytes else None


class TokensUsed(Struct, frozen=True):
    """Tokens that providers reported, summed over calls."""

    input: int = 0
    """Neither read from nor written to the cache."""
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.input + self.cache_read + self.cache_write + self.output


class SessionNumbers(Struct, frozen=True):
    """One session up to a version."""

    session: str
    version: int
    calls: int
    calls_reported: int
    """Calls whose usage was reported; only these are in `used`."""
    calls_failed: int
    used: TokensUsed
    context_tokens_max: int
    """Largest context that a call reported."""
    compactions: int
    """In force at the newest version."""
    compactions_undone: int
    evictions: int
    items_evicted: int
    records: dict[str, int]


def ledger_numbers(ledger: Ledger) -> LedgerNumbers:
    """Measure a ledger."""
    store = ledger.store
    bodies, body_bytes, body_stored = _row(
        store, "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(length(data)), 0) FROM bodies"
    )
    (source_bytes,) = _row(store, "SELECT coalesce(sum(length), 0) FROM sources")
    (source_stored,) = _row(store, "SELECT coalesce(sum(length(data)), 0) FROM chunks")
    (pages,) = _row(store, "PRAGMA page_count")
    (page_bytes,) = _row(store, "PRAGMA page_size")
    types = {
        str(name): int(count)
        for name, count in store.db.rows(
            "SELECT type, count(*) FROM events GROUP BY type ORDER BY count(*) DESC, type"
        )
    }
    return LedgerNumbers(
        events=sum(types.values()),
        sessions=types.get("session_opened", 0),
        bodies=bodies,
        body_bytes=body_bytes,
        body_stored_bytes=body_stored,
        source_bytes=source_bytes,
        source_stored_bytes=source_stored,
        disk_bytes=pages * page_bytes,
        event_types=types,
        sources=tuple(
            SourceNumbers(
                source.name,
                source.format,
                source.length,
                ledger.sources.count_kinds(source.id),
            )
            for source in ledger.sources.all()
        ),
    )


def session_numbers(session: Session, to: int) -> SessionNumbers:
    """Measure a session up to version `to`; each call is counted once, with its newest usage."""
    calls: set[int] = set()
    results: dict[int, CallCompleted] = {}
    for stored in session.events(to=to, types=("model_called", "call_completed")):
        event = stored.event
        if isinstance(event, ModelCalled):
            calls.add(stored.version)
        elif isinstance(event, CallCompleted):
            results[event.called or -stored.version] = event
    evictions = [
        e.event for e in session.store.marks(session.id, "items_evicted") if e.version <= to
    ]
    found = [(e, is_in_force) for e, is_in_force in compactions(session) if e.version <= to]
    usages = [event.usage for event in results.values() if event.usage is not None]
    return SessionNumbers(
        session=session.name,
        version=to,
        calls=len(calls) + sum(called < 0 for called in results),
        calls_reported=len(usages),
        calls_failed=sum(e.outcome not in ("ok", "unknown") for e in results.values()),
        used=_used(event for event in results.values()),
        context_tokens_max=max((usage.context_tokens for usage in usages), default=0),
        compactions=sum(is_in_force for _, is_in_force in found),
        compactions_undone=sum(not is_in_force for _, is_in_force in found),
        evictions=len(evictions),
        items_evicted=sum(len(e.items) for e in evictions if isinstance(e, ItemsEvicted)),
        records=_record_kinds(session),
    )


def _used(results: Iterable[CallCompleted]) -> TokensUsed:
    """Sum usage; a call of several iterations reports only the last one in `usage`."""
    parts: list[Usage] = []
    for event in results:
        if event.iterations:
            parts.extend(event.iterations)
        elif event.usage is not None:
            parts.append(event.usage)
    return TokensUsed(
        input=sum(p.input_tokens or 0 for p in parts),
        cache_read=sum(p.cache_read_tokens or 0 for p in parts),
        cache_write=sum(p.cache_write_tokens or 0 for p in parts),
        output=sum(p.output_tokens or 0 for p in parts),
    )


def _record_kinds(session: Session) -> dict[str, int]:
    counts = dict.fromkeys(KINDS, 0)
    for source in session.ledger.sources.of_session(session.id):
        for kind, count in session.ledger.sources.count_kinds(source.id).items():
            counts[kind] += count
    return counts


def _row(store: Store, query: str) -> tuple[int, ...]:
    row = store.db.row(query)
    assert row is not None, "BUG: an aggregate gives one row"
    return tuple(int(value) for value in row)
