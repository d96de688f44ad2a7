"""Limits and prices: by model and by day, nothing guessed."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from ctxledger.ledger.cost import (
    Limit,
    cost_of,
    cost_of_all,
    facts_of,
    limit_of,
    prices_at,
    reserve_of,
    table,
)
from ctxledger.ledger.drafts import Usage

LARGE = Usage(input_tokens=1_000, cache_read_tokens=249_000, cache_write_tokens=50_000)


def at_ms(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)


def test_the_table_is_dated_and_names_its_source() -> None:
    assert re.fullmatch(r"genai-prices \d+\.\d+\.\d+, 20\d\d-\d\d", table().name)
    assert len(table().models) > 200
    for row in table().models:
        re.compile(row.match)
        assert row.prices
        assert all(prices.input is not None for prices in row.prices)


@pytest.mark.parametrize(
    ("model", "limit", "rates"),
    [
        ("claude-opus-5-5", 1_000_000, (4, 20, 0.20)),
        ("claude-fable-5-2", 1_000_000, (8, 40, 0.20)),
        ("claude-sonnet-5", 1_000_000, (2, 10, 0.20)),
        ("claude-opus-4-5-20251101", 200_000, (5, 25, 0.50)),
        ("claude-haiku-4-5-20251001", 200_000, (1, 5, 0.10)),
        ("Claude-Haiku-4-5", 200_000, (1, 5, 0.10)),
    ],
)
def test_models_by_their_dated_names(
    model: str, limit: int, rates: tuple[float, float, float]
) -> None:
    facts = facts_of(model)
    assert facts is not None
    assert facts.limit == limit
    prices = prices_at(facts, None)
    assert prices is not None
    assert (prices.input, prices.output, prices.read) == rates


@pytest.mark.parametrize("model", ["", "model-x", "~unnamed", "claude-opus-99", "my-gpt"])
def test_an_unknown_model_has_no_limit_and_no_price(model: str) -> None:
    assert limit_of(model, None) == Limit(None, "unknown", None)
    assert cost_of(Usage(input_tokens=5), model, None) is None
    assert cost_of_all([], model, None) is not None  # nothing was used: that costs nothing


def test_a_call_is_priced_at_its_own_date() -> None:
    """The same call, before and after the tier for long contexts was dropped."""
    tokens = Usage(input_tokens=1_000, cache_read_tokens=299_000)
    early = cost_of(tokens, "claude-opus-4-6", at_ms("2026-02-10"))
    late = cost_of(tokens, "claude-opus-4-6", at_ms("2026-11-10"))
    assert early is not None
    assert late is not None
    assert early.total == pytest.approx(2 * late.total)
    assert late.cache_read == pytest.approx(299_000 * 0.50 / 1e6)


def test_a_tier_holds_for_all_tokens_of_a_request() -> None:
    small = cost_of(Usage(input_tokens=200_000), "claude-sonnet-4-5", None)
    large = cost_of(Usage(input_tokens=200_001), "claude-sonnet-4-5", None)
    assert small is not None
    assert large is not None
    assert small.total == pytest.approx(0.60)
    assert large.total == pytest.approx(200_001 * 6 / 1e6)


def test_an_hour_in_the_cache_costs_more_than_five_minutes() -> None:
    short = cost_of(Usage(cache_write_tokens=100_000), "claude-opus-4-5", None)
    long = cost_of(
        Usage(cache_write_tokens=100_000, cache_write_1h_tokens=100_000), "claude-opus-4-5", None
    )
    assert short is not None
    assert long is not None
    assert (short.cache_write, long.cache_write) == pytest.approx((0.625, 1.0))


def test_prices_of_the_hour() -> None:
    facts = facts_of("deepseek-reasoner")
    assert facts is not None
    found = [prices_at(facts, at_ms(f"2026-01-10T{hour}")) for hour in ("12:00", "20:00")]
    assert [prices.input for prices in found if prices] == [0.55, 0.135]


def test_a_limit_is_that_of_its_day_and_never_one_that_a_call_disproved() -> None:
    early, late = at_ms("2026-02-10"), at_ms("2026-11-10")
    assert limit_of("claude-opus-4-6", early).tokens == 200_000
    assert limit_of("claude-opus-4-6", early, largest_tokens=300_000).tokens == 1_000_000
    assert limit_of("claude-opus-4-6", late).tokens == 1_000_000
    assert limit_of("claude-opus-4-5", late, largest_tokens=300_000) == Limit(
        None, "unknown", 64_000
    )
    assert limit_of("claude-opus-4-5", late, user_tokens=50_000).source == "user"


def test_the_reserve_for_an_answer() -> None:
    assert reserve_of(Limit(200_000, "x", 64_000)) == 40_000
    assert reserve_of(Limit(1_000_000, "x", 128_000)) == 128_000
    assert reserve_of(Limit(200_000, "x", 64_000), max_tokens=4_096) == 4_096
    assert reserve_of(Limit()) == 0
