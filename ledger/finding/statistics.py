"""Numbers about a ledger and about one session: sizes on disk, kinds of records, tokens used.

Prices are spending.py's, the cache is caching.py's. Knows nothing about terminals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ..cost import UNKNOWN
from ..drafts import Usage
from ..events import ItemsEvicted
from ..rolling_back import compactions
from ..storage.sources import KINDS
from ..storage.store import Store
from ..views.calls import call_at
from ..views.limits import limit_at, model_at
from .caching import CacheReport, cache_report
from .spending import (
    CompactionCost,
    ModelSpent,
    Spent,
    by_model,
    compaction_costs,
    ledger_calls,
    paid_calls,
    provider_compactions,
    spent,
)

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
    spent: Spent
    """Every call once, also where several sessions hold it."""
    models: tuple[ModelSpent, ...]

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
    calls_inherited: int = 0
    """Of the parent, before a fork; they are in none of these numbers."""
    spent: Spent = Spent()
    models: tuple[ModelSpent, ...] = ()
    cache: CacheReport = CacheReport(0, ())
    compaction_costs: tuple[CompactionCost, ...] = ()
    provider_compactions: Spent = Spent()
    """Compactions that the provider made inside calls."""
    limit: int | None = None
    limit_source: str = UNKNOWN


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
    calls = list(ledger_calls(store))
    return LedgerNumbers(
        spent=spent(calls),
        models=by_model(calls),
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
    opened = session.opened
    after = opened.parent_version if opened.relation == "fork" else 0
    versions = [e.version for e in session.events(to=to, types=("model_called",))]
    calls = paid_calls(session, to)
    usages = [p.completed.usage for p in calls if p.completed.usage is not None]
    total = spent(calls)
    cache = cache_report(session, to)
    newest = call_at(session, to)
    largest = max((usage.context_tokens for usage in usages), default=0)
    limit = limit_at(session, newest, largest)
    evictions = [
        e.event for e in session.store.marks(session.id, "items_evicted") if e.version <= to
    ]
    found = [(e, is_in_force) for e, is_in_force in compactions(session) if e.version <= to]
    return SessionNumbers(
        session=session.name,
        version=to,
        calls=sum(v > after for v in versions) + sum(p.call is None for p in calls),
        calls_inherited=sum(v <= after for v in versions),
        calls_reported=len(usages),
        calls_failed=sum(p.completed.outcome not in ("ok", "unknown") for p in calls),
        used=_used(total.tokens),
        context_tokens_max=largest,
        spent=total,
        models=by_model(calls),
        cache=cache,
        compaction_costs=compaction_costs(session, to, cache, model_at(session, newest)),
        provider_compactions=provider_compactions(calls),
        limit=limit.tokens,
        limit_source=limit.source,
        compactions=sum(is_in_force for _, is_in_force in found),
        compactions_undone=sum(not is_in_force for _, is_in_force in found),
        evictions=len(evictions),
        items_evicted=sum(len(e.items) for e in evictions if isinstance(e, ItemsEvicted)),
        records=_record_kinds(session),
    )


def _used(tokens: Usage) -> TokensUsed:
    return TokensUsed(
        input=tokens.input_tokens or 0,
        cache_read=tokens.cache_read_tokens or 0,
        cache_write=tokens.cache_write_tokens or 0,
        output=tokens.output_tokens or 0,
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
