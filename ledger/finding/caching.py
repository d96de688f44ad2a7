"""The prompt cache of a session: which calls lost their prefix, to what, and at what price.

Walks the calls of a session in order and asks `cache_breaks.judge`. Windows are only built
where something else than an append lies between two calls. Knows nothing about terminals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..cache_breaks import CacheBreak, CachedCall, first_difference, judge, next_ttl_ms
from ..calibration import is_left_out
from ..content import from_json, to_json, to_text
from ..cost import CACHE_TTL_MS, cost_of
from ..drafts import Usage
from ..events import (
    WINDOW_TYPES,
    AnyEvent,
    CallCompleted,
    Delta,
    ItemsEvicted,
    ModelCalled,
)
from ..storage.bodies import REDACTED
from ..views.contents import StoredItem, load_items
from ..views.context_size import Weighed
from ..window import Entry, split_id

if TYPE_CHECKING:
    from ..session import Session

_ANSWERED = ("ok", "cut_off", "unknown")
_SETTINGS = ("thinking", "tool_choice", "output_config")
"""Parameters that are part of the cached prefix. Source: Anthropic's prompt caching guide."""


class PricedBreak(Struct, frozen=True):
    """A break, and what reading anew cost more than reading from the cache."""

    found: CacheBreak
    handle: str
    """Of the event that changed the prefix: `c1`, `e3`, a version, "" for none."""
    extra_usd: float | None


class CacheReport(Struct, frozen=True):
    """All breaks of a session up to a version, oldest first."""

    compared: int
    """Pairs of calls that were looked at."""
    breaks: tuple[PricedBreak, ...]

    @property
    def seen(self) -> tuple[PricedBreak, ...]:
        """Breaks that the provider's numbers show."""
        return tuple(b for b in self.breaks if b.found.is_seen)

    @property
    def lost_tokens(self) -> int:
        """Read anew because of breaks."""
        return sum(b.found.lost_tokens for b in self.breaks)

    @property
    def extra_usd(self) -> float | None:
        """What that cost more; None when one of them has no price."""
        extras = [b.extra_usd for b in self.seen]
        return None if None in extras else sum(extra or 0.0 for extra in extras)


class _Step(Struct):
    """A call, what changed the window before it, and its newest completion."""

    version: int
    event: ModelCalled
    changes: tuple[tuple[int, AnyEvent], ...]
    completed: CallCompleted | None = None


def cache_report(session: Session, to: int) -> CacheReport:
    """Find the breaks of a session up to a version."""
    found: list[PricedBreak] = []
    before: CachedCall | None = None
    ttl_ms, compared = CACHE_TTL_MS, 0
    pending: list[tuple[int, AnyEvent]] = []
    for step in _steps(session, to):
        pending.extend(step.changes)
        completed = step.completed
        if completed is not None and completed.outcome not in _ANSWERED:
            continue  # what failed has cached nothing that can be relied on
        ttl_ms = next_ttl_ms(ttl_ms, completed.usage if completed is not None else None)
        call = _call(session, step, ttl_ms)
        if before is not None:
            compared += 1
            judged = _judge(session, before, call, pending)
            if judged is not None:
                found.append(_priced(session, judged, call, pending))
        before, pending = call, []
    return CacheReport(compared, tuple(found))


def _steps(session: Session, to: int) -> list[_Step]:
    steps: list[_Step] = []
    by_version: dict[int, _Step] = {}
    changes: list[tuple[int, AnyEvent]] = []
    types = (*WINDOW_TYPES, "model_called", "call_completed")
    for stored in session.events(to=to, types=types):
        event = stored.event
        if isinstance(event, ModelCalled):
            step = _Step(stored.version, event, tuple(changes))
            by_version[stored.version] = step
            steps.append(step)
            changes = []
        elif isinstance(event, CallCompleted):
            if event.called in by_version:
                by_version[event.called].completed = event
        else:
            delta: Delta | None = getattr(event, "delta", None)
            is_append = delta is None or not (delta.remove or delta.replace or delta.insert)
            if not is_append or isinstance(event, ItemsEvicted):
                changes.append((stored.version, event))
    return steps


def _entries(session: Session, version: int) -> tuple[Entry, ...]:
    return session.store.window(session.id, version).entries


def _call(session: Session, step: _Step, ttl_ms: int) -> CachedCall:
    completed = step.completed
    return CachedCall(
        version=step.version,
        number=step.event.number,
        at_ms=step.event.at_ms,
        model=step.event.model,
        settings=_settings(session, step.event),
        usage=completed.usage if completed is not None else None,
        is_edited=completed is not None and completed.effective is not None,
        ttl_ms=ttl_ms,
    )


def _settings(session: Session, event: ModelCalled) -> str:
    """The parameters in the prefix as JSON, "" when the request was not recorded."""
    data = session.store.bodies.get(event.params) if event.params is not None else REDACTED
    if data == REDACTED:
        return ""
    params = from_json(to_text(data))
    if not isinstance(params, dict):
        return ""
    return to_json({name: params[name] for name in _SETTINGS if name in params})


def _judge(
    session: Session, before: CachedCall, after: CachedCall, pending: Sequence[tuple[int, AnyEvent]]
) -> CacheBreak | None:
    items: dict[str, StoredItem] = {}
    if pending:
        before, after = (
            replace(call, entries=_entries(session, call.version)) for call in (before, after)
        )
        ids = {e.item_id for call in (before, after) for e in call.entries}
        items = load_items(session.store, session.id, ids)
    found = judge(before, after, lambda entry: items[entry.item_id].role)
    if found is not None and found.reason == "unexplained":
        # An eviction of items that this recording does not hold changes nothing that we see.
        hidden = [version for version, event in pending if isinstance(event, ItemsEvicted)]
        if hidden:
            return replace(found, reason="edit", changed_by=hidden[0])
        item = _first_dropped_thinking(session, before, after)
        return replace(found, reason="thinking", item=item) if item else found
    return found


def _first_dropped_thinking(session: Session, before: CachedCall, after: CachedCall) -> str:
    """The first thinking that the provider saw before and leaves out now; "" for none."""
    seen = [_unweighed(session, _entries(session, call.version)) for call in (before, after)]
    gone = [
        {e.key for e, is_out in zip(part, is_left_out(after.model, part), strict=True) if is_out}
        for part in seen
    ]
    fresh = gone[1] - gone[0]
    return next((entry.key for entry in seen[0] if entry.key in fresh), "")


def _unweighed(session: Session, entries: Sequence[Entry]) -> list[Weighed]:
    """Entries as the rules look at them; nothing is counted."""
    items = load_items(session.store, session.id, {e.item_id for e in entries})
    return [
        Weighed(e.key, item.role, item.block.type, item.block.origin, 0)
        for e in entries
        for item in (items[e.item_id],)
    ]


def _priced(
    session: Session,
    found: CacheBreak,
    call: CachedCall,
    pending: Sequence[tuple[int, AnyEvent]],
) -> PricedBreak:
    by = found.changed_by or _changed_by(session, found, pending)
    extra, usage = None, call.usage
    if found.lost_tokens and usage is not None:
        lost = found.lost_tokens
        is_long = bool(usage.cache_write_1h_tokens)
        # Written again where the call wrote at all; the size of the call decides about tiers.
        wrote = min(lost, usage.cache_write_tokens or 0)
        paid = Usage(
            input_tokens=lost - wrote,
            cache_write_tokens=wrote,
            cache_write_1h_tokens=wrote if is_long else 0,
        )
        full = cost_of(paid, call.model, call.at_ms)
        cheap = cost_of(Usage(cache_read_tokens=lost), call.model, call.at_ms)
        extra = full.total - cheap.total if full is not None and cheap is not None else None
    return PricedBreak(replace(found, changed_by=by), _handle(by, pending), extra)


def _changed_by(
    session: Session, found: CacheBreak, pending: Sequence[tuple[int, AnyEvent]]
) -> int:
    """The first event between the calls after which the prefix was another."""
    if not found.item:
        return 0
    for version, _ in pending:
        before = _entries(session, version - 1)
        place = first_difference(before, _entries(session, version))
        if place is not None and any(
            entry.item_id == found.item for entry in (before[place], *_at(session, version, place))
        ):
            return version
    return pending[0][0] if pending else split_id(found.item)[0]


def _at(session: Session, version: int, place: int) -> tuple[Entry, ...]:
    return _entries(session, version)[place : place + 1]


def _handle(version: int, pending: Sequence[tuple[int, AnyEvent]]) -> str:
    letters = {"WindowCompacted": "c", "ItemsEvicted": "e", "RolledBack": "r"}
    for at, event in pending:
        if at == version:
            letter = letters.get(type(event).__name__, "")
            return f"{letter}{getattr(event, 'number', version)}" if letter else str(version)
    return ""
