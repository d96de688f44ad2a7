"""What broke the prompt cache between two calls: predicted from windows, judged by reported reads.

A provider caches the prefix of a request. As long as only new entries come at the end, a call
reads what the call before it read and wrote (on recorded sessions exactly so). Anything less is
a break, and has a reason: another model, tools, their order, the system prompt, an edit, the
thinking of earlier turns, time - or none that is on record. Knows nothing about storage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from .cost import CACHE_LONG_TTL_MS, CACHE_TTL_MS
from .drafts import Usage
from .window import Entry

BreakReason = Literal[
    "model", "tools", "tool_order", "system", "settings", "edit", "provider_edit", "thinking",
    "expired", "unexplained",
]  # fmt: skip
TOLERANCE_TOKENS = 100
"""Less is no break: a healthy read is exact, the smallest cached prefix has 1,024 tokens."""


class CachedCall(Struct, frozen=True, kw_only=True):
    """One call as the cache sees it."""

    version: int
    number: int
    entries: tuple[Entry, ...] = ()
    """Left out where nothing but appends lies between two calls."""
    at_ms: int | None = None
    model: str = ""
    settings: str = ""
    """What of its parameters is part of the prefix (thinking, tool choice); "" = not recorded."""
    usage: Usage | None = None
    is_edited: bool = False
    """The provider took something out of it by itself."""
    ttl_ms: int = CACHE_TTL_MS
    """How long what was cached up to this call lives."""


class CacheBreak(Struct, frozen=True, kw_only=True):
    """A call whose prefix was not the one before it, or was not read."""

    version: int
    """Of the call."""
    number: int
    reason: BreakReason
    item: str = ""
    """The first entry that differs; "" when none does."""
    changed_by: int = 0
    """Version of the event that changed it; 0 = none."""
    is_seen: bool | None = None
    """The provider read less than it had; None = nothing about a cache was reported."""
    is_late: bool = False
    """The time had run out as well."""
    expected_tokens: int | None = None
    """What a whole prefix would have read."""
    read_tokens: int | None = None
    full_price_tokens: int | None = None
    """What the call sent without the cache: uncached and written anew."""
    gap_ms: int | None = None

    @property
    def lost_tokens(self) -> int:
        """Tokens that had to be read anew at full price.

        Never more than the call sent at full price: behind a compaction the prompt is shorter
        than what the cache held.
        """
        if not self.is_seen or self.expected_tokens is None:
            return 0
        gone = self.expected_tokens - (self.read_tokens or 0)
        return gone if self.full_price_tokens is None else min(gone, self.full_price_tokens)


def _at_full_price(usage: Usage | None) -> int | None:
    if usage is None or usage.input_tokens is None:
        return None
    return usage.input_tokens + (usage.cache_write_tokens or 0)


def expected_read(before: Usage | None) -> int | None:
    """What a call reads behind one with this usage; None when no cache was used or reported."""
    if before is None:
        return None
    if before.cache_read_tokens is None and before.cache_write_tokens is None:
        return None
    return (before.cache_read_tokens or 0) + (before.cache_write_tokens or 0) or None


def is_break(before: Usage | None, after: Usage | None) -> bool | None:
    """True when less was read than the call before had cached; None when that cannot be told."""
    expected = expected_read(before)
    if expected is None or after is None or after.cache_read_tokens is None:
        return None
    return expected - after.cache_read_tokens > TOLERANCE_TOKENS


def first_difference(before: Sequence[Entry], after: Sequence[Entry]) -> int | None:
    """Place of the first entry of `before` that `after` has not there; None for a prefix."""
    for place, entry in enumerate(before):
        if place >= len(after) or after[place] != entry:
            return place
    return None


def judge(
    before: CachedCall, after: CachedCall, role_of: Callable[[Entry], str]
) -> CacheBreak | None:
    """Compare a call with the one before it; None when the prefix was kept, and read.

    Args:
        role_of: `tools`, `system`, or the role of the message.
    """
    seen = is_break(before.usage, after.usage)
    gap = None
    if before.at_ms is not None and after.at_ms is not None:
        gap = after.at_ms - before.at_ms
    is_late = gap is not None and gap > before.ttl_ms
    reason, item = _predict(before, after, role_of)
    if reason is None:
        if not seen:
            return None
        reason = "expired" if is_late else "unexplained"
    elif after.is_edited and reason == "edit":
        reason = "provider_edit"
    return CacheBreak(
        version=after.version,
        number=after.number,
        reason=reason,
        item=item,
        is_seen=seen,
        is_late=is_late,
        expected_tokens=expected_read(before.usage),
        read_tokens=after.usage.cache_read_tokens if after.usage is not None else None,
        full_price_tokens=_at_full_price(after.usage),
        gap_ms=gap,
    )


def next_ttl_ms(ttl_ms: int, usage: Usage | None) -> int:
    """How long the cache lives from here on: what the newest write asked for."""
    if usage is None or not usage.cache_write_tokens or usage.cache_write_1h_tokens is None:
        return ttl_ms
    return CACHE_LONG_TTL_MS if usage.cache_write_1h_tokens else CACHE_TTL_MS


def _predict(
    before: CachedCall, after: CachedCall, role_of: Callable[[Entry], str]
) -> tuple[BreakReason | None, str]:
    """(reason, the first item that differs) by what was sent alone."""
    if before.model != after.model:
        return "model", ""
    place = first_difference(before.entries, after.entries)
    if place is None:
        if after.is_edited:
            return "provider_edit", ""
        if before.settings and after.settings and before.settings != after.settings:
            return "settings", ""
        return None, ""
    gone = before.entries[place]
    # An entry that was put in front of others is the one that differs, not what it moved.
    is_moved = gone in after.entries
    shown = after.entries[place] if is_moved and place < len(after.entries) else gone
    role = role_of(shown)
    if role == "tools":
        old, new = (
            {entry.key for entry in call.entries if role_of(entry) == "tools"}
            for call in (before, after)
        )
        return ("tool_order" if old == new else "tools"), shown.item_id
    return ("system" if role == "system" else "edit"), shown.item_id
