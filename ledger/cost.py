"""What models cost and hold: limits and prices by model and date, the cost of usage.

The numbers are a dated copy of genai-prices (`prices/table.json`); a model that is not in it has
no limit and no price, nothing is guessed. Knows nothing about sessions, events or storage.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from .drafts import Usage

Price = float | tuple[float | tuple[int, float], ...]
"""USD for a million tokens, or `(base, (above, price) ...)`: a request whose input is larger
than `above` tokens pays that price for all of its tokens."""

PER_MILLION = 1_000_000
CACHE_TTL_MS = 5 * 60_000
"""How long a cached prefix lives after its last use. Source: Anthropic's prompt caching guide."""
CACHE_LONG_TTL_MS = 60 * 60_000
USER, UNKNOWN = "user", "unknown"

_TABLE = Path(__file__).parent / "prices" / "table.json"


class Prices(Struct, frozen=True, omit_defaults=True):
    """Prices in force from a day on; `daily` ones between two times of the day (UTC)."""

    input: Price = msgspec.field(name="in")
    output: Price = msgspec.field(name="out", default=0.0)
    read: Price | None = None
    """Read from the cache; None = as other input."""
    write: Price | None = None
    write_1h: Price | None = None
    start: str = msgspec.field(name="from", default="")
    daily: tuple[str, str] | None = None


class ModelFacts(Struct, frozen=True, omit_defaults=True):
    """One model of the table."""

    model: str
    match: str
    """Regular expression that its names match."""
    provider: str
    prices: tuple[Prices, ...]
    """The last one that is in force counts."""
    limit: int | None = None
    """Tokens of the context window; None = not in the table."""
    beta_limit: int | None = None
    """What a request could opt into."""
    before: tuple[str, int] | None = None
    """(day, limit before it)."""
    output: int | None = None
    """Tokens an answer may have at most; None = not in the table."""


class Table(Struct, frozen=True):
    """All models, and where the numbers are from."""

    source: str
    date: str
    models: tuple[ModelFacts, ...]

    @property
    def name(self) -> str:
        """Shown with each number: `genai-prices 0.2.3, 2026-11`."""
        return f"{self.source}, {self.date}"


class Limit(Struct, frozen=True):
    """The size of a model's window, and who says so."""

    tokens: int | None = None
    source: str = UNKNOWN
    """`user`, the name of the table, or `unknown`."""
    output_tokens: int | None = None
    """The most an answer may have; None = unknown."""


class Cost(Struct, frozen=True):
    """US dollars by what was paid for."""

    input: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    output: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.input + self.cache_read + self.cache_write + self.output

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
        )


class Fit(Struct, frozen=True):
    """Does a request fit: its input and the answer it asks for, in one window."""

    fits: bool
    over_by: int


class Share(Struct, frozen=True):
    """How full a window is, against both denominators."""

    full_percent: float
    """Of the model's window."""
    usable_percent: float
    """Of what leaves room for the answer."""
    usable_tokens: int
    tokens_left: int
    """Until the usable part is full."""


@cache
def table() -> Table:
    """Read the table of this package; about 2 ms, once a process."""
    return msgspec.json.decode(_TABLE.read_bytes(), type=Table, strict=False)


@cache
def facts_of(model: str) -> ModelFacts | None:
    """The model of that name, None when the table has none."""
    name = model.lower()
    if not name:
        return None
    return next((row for row in table().models if re.search(row.match, name)), None)


def limit_of(
    model: str, at_ms: int | None, *, user_tokens: int = 0, largest_tokens: int = 0
) -> Limit:
    """The context limit of a model on a day.

    Args:
        at_ms: when it was called; None = by the newest numbers.
        user_tokens: what the user said; it counts before the table. 0 = nothing.
        largest_tokens: the largest context that a call reported: a smaller limit is disproved.
    """
    facts = facts_of(model)
    output = facts.output if facts is not None else None
    if user_tokens:
        return Limit(user_tokens, USER, output)
    if facts is None or facts.limit is None:
        return Limit(output_tokens=output)
    limits = [facts.limit, *([facts.beta_limit] if facts.beta_limit else [])]
    if facts.before is not None and at_ms is not None and _day(at_ms) < facts.before[0]:
        limits.insert(0, facts.before[1])
    tokens = next((limit for limit in limits if limit >= largest_tokens), None)
    return Limit(tokens, table().name if tokens else UNKNOWN, output)


def cost_of(usage: Usage, model: str, at_ms: int | None) -> Cost | None:
    """What a call cost at the prices of its day; None when the model or the day has no price.

    Standard prices: batches, priority, fast mode and searches by the provider are not in `usage`.
    """
    facts = facts_of(model)
    prices = prices_at(facts, at_ms) if facts is not None else None
    if prices is None:
        return None
    size = usage.context_tokens
    long_writes = min(usage.cache_write_1h_tokens or 0, usage.cache_write_tokens or 0)
    short_writes = (usage.cache_write_tokens or 0) - long_writes
    write = prices.write if prices.write is not None else prices.input
    write_1h = prices.write_1h if prices.write_1h is not None else write
    read = prices.read if prices.read is not None else prices.input
    return Cost(
        input=_pay(usage.input_tokens, prices.input, size),
        cache_read=_pay(usage.cache_read_tokens, read, size),
        cache_write=_pay(short_writes, write, size) + _pay(long_writes, write_1h, size),
        output=_pay(usage.output_tokens, prices.output, size),
    )


def cost_of_all(parts: Iterable[Usage], model: str, at_ms: int | None) -> Cost | None:
    """What several iterations of one call cost together; None when there is no price."""
    total = Cost()
    for usage in parts:
        cost = cost_of(usage, model, at_ms)
        if cost is None:
            return None
        total += cost
    return total


def prices_at(facts: ModelFacts, at_ms: int | None) -> Prices | None:
    """The prices in force; without a time those of the newest day, the time of day left aside."""
    found = None
    for prices in facts.prices:
        if at_ms is None:
            found = found if prices.daily else prices
        elif prices.start <= _day(at_ms) and _is_hour(prices, at_ms):
            found = prices
    return found


def fit_of(limit: int, input_tokens: int, max_tokens: int) -> Fit:
    """Check `input + requested output <= limit`."""
    over = input_tokens + max_tokens - limit
    return Fit(over <= 0, max(0, over))


def share_of(limit: int, reserve_tokens: int, used_tokens: int) -> Share:
    """How full a window of `limit` tokens is when `reserve_tokens` are kept for the answer."""
    usable = max(1, limit - reserve_tokens)
    return Share(
        full_percent=round(100 * used_tokens / limit, 1),
        usable_percent=round(100 * used_tokens / usable, 1),
        usable_tokens=usable,
        tokens_left=max(0, usable - used_tokens),
    )


OUTPUT_RESERVE = 0.20
"""Of the limit, kept for the answer; at most the model's output limit (DESIGN 6)."""


def reserve_of(limit: Limit, max_tokens: int | None = None) -> int:
    """Tokens kept for the answer: what the call asked for, else a fifth of the limit."""
    if max_tokens is not None:
        return max_tokens
    reserve = round((limit.tokens or 0) * OUTPUT_RESERVE)
    return min(reserve, limit.output_tokens or reserve)


def _pay(tokens: int | None, price: Price, size: int) -> float:
    rate: float | tuple[int, float]
    if isinstance(price, tuple):
        rate = price[0]
        for step in price[1:]:
            if isinstance(step, tuple) and size > step[0]:
                rate = step[1]
    else:
        rate = price
    assert isinstance(rate, int | float), "BUG: a tiered price begins with its base"
    return (tokens or 0) * rate / PER_MILLION


def _day(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date().isoformat()


def _is_hour(prices: Prices, at_ms: int) -> bool:
    if prices.daily is None:
        return True
    start, end = prices.daily
    hour = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M")
    return start <= hour < end if start <= end else hour >= start or hour < end
