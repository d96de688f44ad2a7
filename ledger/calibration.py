"""What a count means to a model: factors by family, measured on recorded usage.

`estimate/calibrated` = factor * counted (o200k) + a number for each tool call. All that is
measured stands in one table; `python -m tests.bench.counters` measures it anew. A model without
a row has no estimate. Knows nothing about sessions, events or storage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Protocol

from msgspec import Struct

from .content import CALL_TYPES

CALIBRATED = "estimate/calibrated"
COUNTED_WITH = "tokenizer/o200k_base"
"""The factors hold for this counter alone."""
_PICTURES = frozenset({"image", "document"})
"""Counted by the provider's own formula already (tokens.py)."""
_THINKING = frozenset({"thinking", "redacted_thinking"})


class Family(Struct, frozen=True, kw_only=True):
    """Models that share a tokenizer."""

    name: str
    match: str
    """Regular expression that the models' names match."""
    factor: float
    """Tokens of the model for each token of o200k."""
    per_call_tokens: int = 0
    """What the model reads around a tool call and its result."""
    tools_tokens: int = 0
    """Added once by the provider when there are tools."""
    date: str
    samples: int
    """Recorded calls that it was fitted on; 0 = derived, see `source`."""
    error_median: float | None = None
    """Share of the estimated part, each recording by a fit on the others; None = not measured."""
    error_p90: float | None = None
    source: str


FAMILIES = (
    Family(
        name="claude 4.7 and later",
        match=r"claude-opus-4-[789]|claude-(opus|sonnet|haiku|fable|mythos)-[5-9]",
        factor=1.568,
        per_call_tokens=89,
        tools_tokens=346,
        date="2026-12-01",
        samples=0,
        source="no recordings; from the row below, by ctok 1.3.0's count for Claude 4.8",
    ),
    Family(
        name="claude 3 to 4.6",
        match=r"claude-(3|opus-[34]|sonnet-[34]|haiku-[34])",
        factor=1.171,
        per_call_tokens=78,
        tools_tokens=346,
        date="2026-12-01",
        samples=245,
        error_median=0.061,
        error_p90=0.285,
        source="growth of the reported context between 245 calls of 5 recordings; tools: "
        "Anthropic's guide to tool use",
    ),
    Family(
        name="o200k models",
        match=r"^(gpt-(4o|4\.1|4\.5|5|oss)|chatgpt-4o|o[134]($|-))",
        factor=1.0,
        per_call_tokens=8,
        date="2026-12-01",
        samples=0,
        source="their own tokenizer; a guess of 8 tokens around a call",
    ),
)
KEEPS_THINKING = r"claude-(opus-4-[5-9]|(sonnet|haiku)-4-[6-9]|[a-z]+-[5-9])"
"""Others do not see the thinking of earlier turns. Source: Anthropic's guide to extended
thinking; the recordings agree (a new turn of Sonnet 4.5 shrinks by all earlier thinking)."""


class Seen(Protocol):
    """As much of an entry of a window as the rules look at."""

    @property
    def role(self) -> str:
        """`user`, `assistant`, `system`, `tools`."""
        ...

    @property
    def type(self) -> str:
        """The block's type."""
        ...

    @property
    def origin(self) -> str:
        """Who wrote it."""
        ...

    @property
    def tokens(self) -> int:
        """As counted."""
        ...


@cache
def family_of(model: str) -> Family | None:
    """The family of a model, None when nothing is known of its tokenizer."""
    name = model.lower()
    return next((family for family in FAMILIES if re.search(family.match, name)), None)


def is_left_out(model: str, entries: Sequence[Seen]) -> list[bool]:
    """Tell of each entry whether the provider drops it: thinking of earlier turns."""
    name = model.lower()
    if "claude" not in name or re.search(KEEPS_THINKING, name):
        return [False] * len(entries)
    last = max((n for n, entry in enumerate(entries) if entry.origin == "human"), default=-1)
    return [n < last and entry.type in _THINKING for n, entry in enumerate(entries)]


def estimate(family: Family, model: str, entries: Sequence[Seen]) -> int:
    """Tokens of a window, or of a part of it, as the model counts them."""
    total = 0.0
    has_tools = False
    for entry, is_gone in zip(entries, is_left_out(model, entries), strict=True):
        if is_gone:
            continue
        has_tools = has_tools or entry.role == "tools"
        total += entry.tokens * (1.0 if entry.type in _PICTURES else family.factor)
        total += family.per_call_tokens * (entry.type in CALL_TYPES)
    return round(total) + (family.tools_tokens if has_tools else 0)
