"""What was used and what it cost: by call at the prices of its day, by model, by compaction.

Each call is counted once, however often it is on record: split records and late usage belong to
one call, a fork's history to its parent, a copy of a transcript to the first. Knows nothing
about terminals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from ..cost import Cost, cost_of, cost_of_all, table
from ..drafts import Usage
from ..event_codec import decode
from ..events import CallCompleted, ModelCalled, SessionOpened, WindowCompacted
from ..rolling_back import compactions
from ..storage.codec import unpack
from ..storage.store import Store
from .caching import CacheReport

if TYPE_CHECKING:
    from ..session import Session

COPIED_IDS = frozenset({"claude-code"})
"""Formats whose call ids are the provider's: the same id in two sessions is the same call."""


class Spent(Struct, frozen=True):
    """Calls with their tokens and what they cost."""

    calls: int = 0
    tokens: Usage = Usage()
    cost: Cost = Cost()
    unfinished: int = 0
    """Calls whose usage was recorded before the answer was complete: more was written."""
    unpriced: tuple[str, ...] = ()
    """Models of calls that have no price; their tokens are in `tokens`, not in `cost`."""

    @property
    def source(self) -> str:
        """Where the prices are from."""
        return table().name


class ModelSpent(Struct, frozen=True):
    """One model's part."""

    model: str
    calls: int
    tokens: int
    usd: float | None
    """None = no price is known."""


class CompactionCost(Struct, frozen=True):
    """One compaction."""

    handle: str
    version: int
    is_in_force: bool
    own_usd: float | None
    """Its own call; None = not on record, or without a price."""
    own_tokens: int | None
    again_tokens: int
    """Read anew by the next call, because the prefix was another one."""
    again_usd: float | None


class PaidCall(Struct, frozen=True):
    """A call with everything that was reported about it."""

    session: int
    version: int
    call: ModelCalled | None
    completed: CallCompleted
    format: str

    @property
    def is_unfinished(self) -> bool:
        """Transcripts keep the usage that a stream begins with, unless it tells why it stopped."""
        told = self.completed.stop_reason or not self.completed.usage
        return self.format in COPIED_IDS and not told and self.completed.outcome == "ok"

    @property
    def model(self) -> str:
        """Its model, "" when the call itself is not on record."""
        return self.call.model if self.call is not None else ""

    @property
    def at_ms(self) -> int | None:
        """When it was made."""
        sent = self.call.at_ms if self.call is not None else None
        return sent if sent is not None else self.completed.at_ms

    @property
    def parts(self) -> tuple[Usage, ...]:
        """A call of several iterations reports only the last one in `usage`."""
        if self.completed.iterations:
            return self.completed.iterations
        return (self.completed.usage,) if self.completed.usage is not None else ()


def paid_calls(session: Session, to: int) -> list[PaidCall]:
    """The calls of a session itself, not those of the parent it was forked from."""
    opened = session.opened
    after = opened.parent_version if opened.relation == "fork" else 0
    calls: dict[int, ModelCalled] = {}
    results: dict[int, CallCompleted] = {}
    for stored in session.events(after=after, to=to, types=("model_called", "call_completed")):
        event = stored.event
        if isinstance(event, ModelCalled):
            calls[stored.version] = event
        elif isinstance(event, CallCompleted):
            results[event.called or -stored.version] = event
    return [
        PaidCall(session.id, version, calls.get(version), event, opened.format)
        for version, event in sorted(results.items())
        if version in calls or version < 0
    ]


def ledger_calls(store: Store) -> Iterator[PaidCall]:
    """All calls of a ledger, each once: those that a copied transcript repeats are left out."""
    formats: dict[int, str] = {}
    calls: dict[tuple[int, int], ModelCalled] = {}
    results: dict[tuple[int, int], CallCompleted] = {}
    rows = store.db.rows(
        "SELECT session, version, data FROM events"
        " WHERE type IN ('session_opened', 'model_called', 'call_completed') ORDER BY position"
    )
    for session, version, data in rows:
        event = decode(unpack(data))
        if isinstance(event, SessionOpened):
            formats[session] = event.format
        elif isinstance(event, ModelCalled):
            calls[session, version] = event
        elif isinstance(event, CallCompleted):
            results[session, event.called or -version] = event
    seen: set[tuple[object, ...]] = set()
    for (session, version), completed in results.items():
        sent, told = calls.get((session, version)), formats.get(session, "")
        paid = PaidCall(session, version, sent, completed, told)
        key = _identity(paid)
        if key not in seen:
            seen.add(key)
            yield paid


def spent(calls: Iterable[PaidCall]) -> Spent:
    """Sum calls."""
    listed = list(calls)
    cost = Cost()
    unpriced: set[str] = set()
    for paid in listed:
        price = cost_of_all(paid.parts, paid.model, paid.at_ms)
        if price is None:
            unpriced.add(paid.model)
        else:
            cost += price
    return Spent(
        calls=len(listed),
        tokens=_sum(part for paid in listed for part in paid.parts),
        cost=cost,
        unfinished=sum(paid.is_unfinished for paid in listed),
        unpriced=tuple(sorted(unpriced)),
    )


def by_model(calls: Iterable[PaidCall]) -> tuple[ModelSpent, ...]:
    """The same by model, the dearest first."""
    groups: dict[str, list[PaidCall]] = {}
    for paid in calls:
        groups.setdefault(paid.model, []).append(paid)
    rows = []
    for model, group in groups.items():
        total = spent(group)
        tokens = total.tokens.context_tokens + (total.tokens.output_tokens or 0)
        usd = None if total.unpriced else total.cost.total
        rows.append(ModelSpent(model, total.calls, tokens, usd))
    return tuple(sorted(rows, key=lambda row: (-(row.usd or 0.0), -row.tokens, row.model)))


def compaction_costs(
    session: Session, to: int, cache: CacheReport, model: str
) -> tuple[CompactionCost, ...]:
    """What each compaction up to a version cost: its own call, and the prefix read anew."""
    found = []
    for stored, is_in_force in compactions(session):
        event = stored.event
        if stored.version > to or not isinstance(event, WindowCompacted):
            continue
        own = cost_of(event.cost, model, event.at_ms) if event.cost is not None else None
        after = [b for b in cache.breaks if b.found.changed_by == stored.version]
        extras = [b.extra_usd for b in after if b.found.lost_tokens]
        found.append(
            CompactionCost(
                handle=f"c{event.number}",
                version=stored.version,
                is_in_force=is_in_force,
                own_usd=own.total if own is not None else None,
                own_tokens=_all(event.cost) if event.cost is not None else None,
                again_tokens=sum(b.found.lost_tokens for b in after),
                again_usd=None if None in extras else sum(extra or 0.0 for extra in extras),
            )
        )
    return tuple(found)


def provider_compactions(calls: Iterable[PaidCall]) -> Spent:
    """What compactions inside calls cost, where the provider made them itself."""
    found: list[tuple[Usage, PaidCall]] = [
        (part, paid) for paid in calls for part in paid.parts if part.kind == "compaction"
    ]
    prices = [(cost_of(part, paid.model, paid.at_ms), paid.model) for part, paid in found]
    return Spent(
        calls=len(found),
        tokens=_sum(part for part, _ in found),
        cost=sum((price for price, _ in prices if price is not None), Cost()),
        unpriced=tuple(sorted({model for price, model in prices if price is None})),
    )


def _identity(paid: PaidCall) -> tuple[object, ...]:
    """What two records of one call have in common."""
    call = paid.call
    if call is not None and paid.format in COPIED_IDS and call.call:
        return paid.format, call.call
    if call is not None and call.digest and call.at_ms is not None:
        return call.digest, call.at_ms
    return paid.session, paid.version


def _sum(parts: Iterable[Usage]) -> Usage:
    listed = list(parts)
    return Usage(
        input_tokens=sum(p.input_tokens or 0 for p in listed),
        cache_read_tokens=sum(p.cache_read_tokens or 0 for p in listed),
        cache_write_tokens=sum(p.cache_write_tokens or 0 for p in listed),
        cache_write_1h_tokens=sum(p.cache_write_1h_tokens or 0 for p in listed),
        output_tokens=sum(p.output_tokens or 0 for p in listed),
    )


def _all(usage: Usage) -> int:
    return usage.context_tokens + (usage.output_tokens or 0)
