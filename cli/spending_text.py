"""What was spent, on which model, on compactions and on a broken cache: as text and as JSON.

Knows nothing about where the numbers come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .output import Output, Styled
from .tables import Column, number

if TYPE_CHECKING:
    from ctxledger.ledger.drafts import Usage
    from ctxledger.ledger.finding.caching import PricedBreak
    from ctxledger.ledger.finding.spending import CompactionCost, ModelSpent, Spent
    from ctxledger.ledger.finding.statistics import SessionNumbers

BREAKS_MAX = 20
"""Shown of the cache breaks, the dearest first; all with --json."""
REASONS = {
    "model": "another model",
    "tools": "tool definitions changed",
    "tool_order": "same tools, another order",
    "system": "system prompt changed",
    "settings": "thinking or tool choice changed",
    "edit": "an earlier item changed",
    "provider_edit": "the provider took items out",
    "thinking": "thinking of earlier turns left out",
    "expired": "time ran out",
    "unexplained": "unexplained: nothing on record changed",
}


def usd(value: float | None) -> str:
    """Dollars with cents, or as many digits as show something; "unknown" for none."""
    if value is None:
        return "unknown"
    if 0 < value < 0.0001:
        return "under $0.0001"
    return f"${value:,.2f}" if value >= 0.995 or not value else f"${value:.4f}"


def dollars(spent: Spent) -> str:
    """The cost of calls; a sum in which prices are missing says so."""
    if spent.unpriced and not spent.cost.total:
        return "unknown"
    is_part = spent.unpriced or spent.unfinished
    return ("over " if is_part else "") + usd(spent.cost.total)


def cost_note(spent: Spent) -> str:
    """Where the prices are from, and what has none."""
    missing = ", ".join(name or "a model without a name" for name in spent.unpriced)
    return f"{spent.source}; no price: {missing}" if missing else spent.source


def output_note(spent: Spent) -> str:
    """What is missing from the output."""
    if not spent.unfinished:
        return ""
    return f"{spent.unfinished:,} answers were recorded unfinished"


def largest_note(numbers: SessionNumbers) -> str:
    """The largest context against the limit."""
    if not numbers.limit:
        return "of one call, reported"
    return f"of one call, {numbers.context_tokens_max / numbers.limit:.0%} of the limit"


def all_tokens(usage: Usage) -> int:
    """Input, cache and output together."""
    return usage.context_tokens + (usage.output_tokens or 0)


def show_spending(out: Output, numbers: SessionNumbers) -> None:
    """Models, compactions and cache breaks of a session."""
    if len(numbers.models) > 1:
        show_models(out, numbers.models)
    if numbers.compaction_costs or numbers.provider_compactions.calls:
        _show_compactions(out, numbers)
    _show_breaks(out, numbers)


def show_models(out: Output, models: Sequence[ModelSpent]) -> None:
    """One row a model."""
    if not models:
        return
    out.line()
    out.table(
        (
            Column("model"),
            Column("calls", is_number=True),
            Column("tokens", is_number=True),
            Column("cost", is_number=True),
        ),
        [(row.model or "?", number(row.calls), number(row.tokens), usd(row.usd)) for row in models],
    )


def _show_compactions(out: Output, numbers: SessionNumbers) -> None:
    out.line()
    rows = [
        (
            cost.handle + ("" if cost.is_in_force else " (undone)"),
            usd(cost.own_usd) if cost.own_tokens is not None else "not on record",
            number(cost.again_tokens),
            usd(cost.again_usd),
        )
        for cost in numbers.compaction_costs
    ]
    made = numbers.provider_compactions
    if made.calls:
        rows.append((f"{made.calls} by the provider", dollars(made), "", ""))
    out.table(
        (
            Column("compaction"),
            Column("its own call", is_number=True),
            Column("read anew after it", is_number=True),
            Column("extra cost", is_number=True),
        ),
        rows,
    )


def _show_breaks(out: Output, numbers: SessionNumbers) -> None:
    cache = numbers.cache
    shown = [b for b in cache.breaks if b.found.is_seen is not False]
    if not shown:
        return
    out.line()
    out.line(
        Styled("cache breaks", "bold"),
        f"  {number(len(cache.seen))} seen in {number(cache.compared)} calls,"
        f" {number(cache.lost_tokens)} tokens read anew, {usd(cache.extra_usd)} more",
    )
    dearest = sorted(shown, key=lambda b: -b.found.lost_tokens)[:BREAKS_MAX]
    out.table(
        (
            Column("call"),
            Column("read", is_number=True),
            Column("of", is_number=True),
            Column("extra", is_number=True),
            Column("why", is_flexible=True),
        ),
        [
            (
                f"call{b.found.number}",
                number(b.found.read_tokens),
                number(b.found.expected_tokens),
                usd(b.extra_usd) if b.found.is_seen else "not reported",
                why(b),
            )
            for b in sorted(dearest, key=lambda b: b.found.version)
        ],
    )
    if len(shown) > BREAKS_MAX:
        out.note(f"{len(shown) - BREAKS_MAX} more, with --json")


def why(found: PricedBreak) -> str:
    """The reason in words, to the item."""
    told = found.found
    parts = [REASONS[told.reason]]
    if told.item:
        parts.append(f"from item {told.item} on")
    if found.handle:
        parts.append(f"by {found.handle}")
    if told.is_late or told.reason == "expired":
        waited = "" if told.reason == "expired" else "and too late: "
        parts.append(f"{waited}{(told.gap_ms or 0) // 60_000} minutes since the last call")
    return ", ".join(parts)


def spending_json(numbers: SessionNumbers) -> dict[str, Any]:
    """The keys of `--json` about costs and the cache."""
    return {
        "cost": cost_json(numbers.spent),
        "models": models_json(numbers.models),
        "compaction_costs": [
            *map(_compaction_json, numbers.compaction_costs),
        ],
        "provider_compactions": {
            "count": numbers.provider_compactions.calls,
            "tokens": tokens_json(numbers.provider_compactions.tokens),
            "cost": cost_json(numbers.provider_compactions),
        },
        "cache": {
            "calls_compared": numbers.cache.compared,
            "breaks": [_break_json(b) for b in numbers.cache.breaks],
            "lost_tokens": numbers.cache.lost_tokens,
            "extra_usd": numbers.cache.extra_usd,
        },
    }


def tokens_json(usage: Usage) -> dict[str, int]:
    """Tokens by kind."""
    return {
        "input": usage.input_tokens or 0,
        "cache_read": usage.cache_read_tokens or 0,
        "cache_write": usage.cache_write_tokens or 0,
        "cache_write_1h": usage.cache_write_1h_tokens or 0,
        "output": usage.output_tokens or 0,
    }


def cost_json(spent: Spent) -> dict[str, Any]:
    """Dollars by kind; `usd` is null when no call has a price."""
    is_known = not spent.unpriced or spent.cost.total > 0
    return {
        "usd": spent.cost.total if is_known else None,
        "input": spent.cost.input,
        "cache_read": spent.cost.cache_read,
        "cache_write": spent.cost.cache_write,
        "output": spent.cost.output,
        "source": spent.source,
        "unpriced": list(spent.unpriced),
        "unfinished": spent.unfinished,
    }


def models_json(models: Sequence[ModelSpent]) -> list[dict[str, Any]]:
    """One object a model."""
    return [
        {"model": row.model, "calls": row.calls, "tokens": row.tokens, "usd": row.usd}
        for row in models
    ]


def _compaction_json(cost: CompactionCost) -> dict[str, Any]:
    return {
        "handle": cost.handle,
        "version": cost.version,
        "in_force": cost.is_in_force,
        "own_tokens": cost.own_tokens,
        "own_usd": cost.own_usd,
        "again_tokens": cost.again_tokens,
        "again_usd": cost.again_usd,
    }


def _break_json(priced: PricedBreak) -> dict[str, Any]:
    found = priced.found
    return {
        "call": found.number,
        "version": found.version,
        "reason": found.reason,
        "item": found.item or None,
        "by": priced.handle or None,
        "seen": found.is_seen,
        "late": found.is_late,
        "expected": found.expected_tokens,
        "read": found.read_tokens,
        "lost": found.lost_tokens,
        "gap_ms": found.gap_ms,
        "extra_usd": priced.extra_usd,
    }
