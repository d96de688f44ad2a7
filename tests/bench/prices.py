"""Make `ledger/prices/table.json` from the package genai-prices: `python -m tests.bench.prices`.

Run by hand before a release, in an environment that has genai-prices; the program itself reads
only the table, so that nobody needs 1.6 MB of Python and 0.35 s for a handful of numbers.
Clauses become one regular expression a model; tiers become `[base, [above_tokens, price] ...]`.
Providers whose models cannot be told by their name alone (resellers) are left out.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

PROVIDERS = ("anthropic", "openai", "google", "deepseek", "mistral", "moonshotai", "x-ai")
PRICES = {
    "in": "input_mtok",
    "out": "output_mtok",
    "read": "cache_read_mtok",
    "write": "cache_write_mtok",
    "write_1h": "cache_write_1h_mtok",
}
OUTPUT_LIMITS = {
    r"^claude-(fable|mythos)-5(-1)?$|^claude-(opus|sonnet|haiku)-5(-5)?$": 128_000,
    r"^claude-opus-4-[678]$|^claude-sonnet-4-6$": 128_000,
    r"^claude-(opus|sonnet|haiku)-4-5$": 64_000,
}
"""genai-prices has none. Source: Anthropic's overview of models, as of 2026-11."""
LONG_CONTEXT = {
    "claude-sonnet-4-0": {"limit": 200_000, "beta_limit": 1_000_000},
    "claude-sonnet-4-5": {"limit": 200_000, "beta_limit": 1_000_000},
    "claude-opus-4-6": {"before": ["2026-03-13", 200_000]},
    "claude-sonnet-4-6": {"before": ["2026-03-13", 200_000]},
}
"""1M tokens needed a beta header until the date; source: Anthropic's release notes, 2026."""
TABLE = Path(__file__).parents[2] / "ledger" / "prices" / "table.json"


def main() -> int:
    """Write the table."""
    snapshot = importlib.import_module("genai_prices.data_snapshot").get_snapshot()
    models = []
    for provider in sorted(snapshot.providers, key=_place):
        if provider.id in PROVIDERS:
            models += [_row(provider, model) for model in provider.models if _is_priced(model)]
    table = {
        "source": f"genai-prices {version('genai-prices')}",
        "date": sys.argv[1],
        "licence": "MIT, see NOTICE",
        "models": models,
    }
    lines = ",\n".join(json.dumps(row) for row in table.pop("models"))
    text = json.dumps(table)[:-1] + ', "models": [\n' + lines + "\n]}\n"
    TABLE.write_text(text, "utf-8")
    print(f"{len(models)} models, {len(text):,} bytes")
    return 0


def _place(provider: Any) -> int:
    return PROVIDERS.index(provider.id) if provider.id in PROVIDERS else len(PROVIDERS)


def _is_priced(model: Any) -> bool:
    listed = model.prices if isinstance(model.prices, list) else [model]
    return all(entry.prices.input_mtok is not None for entry in listed)


def _row(provider: Any, model: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"model": model.id, "match": _pattern(model.match)}
    row["provider"] = provider.id
    if model.context_window:
        row["limit"] = model.context_window
    row |= LONG_CONTEXT.get(model.id, {})
    for pattern, tokens in OUTPUT_LIMITS.items():
        if re.search(pattern, model.id):
            row["output"] = tokens
    listed = model.prices if isinstance(model.prices, list) else None
    if listed is None:
        row["prices"] = [_prices(model.prices)]
    else:
        row["prices"] = [_prices(entry.prices) | _when(entry.constraint) for entry in listed]
    return row


def _prices(prices: Any) -> dict[str, Any]:
    values = {name: getattr(prices, field) for name, field in PRICES.items()}
    return {name: _price(value) for name, value in values.items() if value is not None}


def _price(value: Any) -> float | list[Any]:
    if not hasattr(value, "tiers"):
        return float(value)
    return [float(value.base), *([tier.start, float(tier.price)] for tier in value.tiers)]


def _when(constraint: Any) -> dict[str, Any]:
    if constraint is None:
        return {}
    if hasattr(constraint, "start_date"):
        return {"from": constraint.start_date.isoformat()}
    return {"daily": [f"{t:%H:%M}" for t in (constraint.start_time, constraint.end_time)]}


def _pattern(clause: Any) -> str:
    """A clause as a regular expression for `re.search`."""
    kind = type(clause).__name__
    if kind == "ClauseOr":
        return "|".join(_pattern(part) for part in clause.or_)
    if kind == "ClauseAnd":
        return "^" + "".join(f"(?=.*(?:{_pattern(part)}))" for part in clause.and_)
    if kind == "ClauseRegex":
        return str(clause.regex)
    text = re.escape(next(iter(vars(clause).values())))
    ends = {"ClauseEquals": ("^", "$"), "ClauseStartsWith": ("^", ""), "ClauseEndsWith": ("", "$")}
    before, behind = ends.get(kind, ("", ""))
    return before + text + behind


if __name__ == "__main__":
    sys.exit(main())
