"""How large a window is to its model: calibrated, with its error, checked on recorded calls."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from tests.bench import counters

from ctxledger.ledger.calibration import (
    CALIBRATED,
    FAMILIES,
    estimate,
    family_of,
    is_left_out,
)
from ctxledger.ledger.cost import Limit
from ctxledger.ledger.tokens import counter
from ctxledger.ledger.views.context_size import Reported, Weighed, size_of

COUNTER = "tokenizer/o200k_base"
SONNET = "claude-sonnet-4-5-20250929"


def entry(key: str, tokens: int, type: str = "text", role: str = "user") -> Weighed:  # noqa: A002
    origin = {"user": "human", "assistant": "assistant", "tools": "system"}[role]
    return Weighed(key, role, type, "tool" if type == "tool_result" else origin, tokens)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        (SONNET, "claude 3 to 4.6"),
        ("claude-3-5-haiku-20241022", "claude 3 to 4.6"),
        ("claude-opus-4-1", "claude 3 to 4.6"),
        ("claude-opus-4-6", "claude 3 to 4.6"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude 3 to 4.6"),
        ("claude-opus-4-7", "claude 4.7 and later"),
        ("claude-sonnet-5-5", "claude 4.7 and later"),
        ("claude-fable-5", "claude 4.7 and later"),
        ("gpt-5-mini", "o200k models"),
        ("o3", "o200k models"),
        ("gpt-4", None),
        ("gemini-3-pro", None),
        ("deepseek-chat", None),
        ("", None),
    ],
)
def test_families(model: str, family: str | None) -> None:
    found = family_of(model)
    assert (found.name if found else None) == family


def test_every_factor_says_what_it_rests_on() -> None:
    for family in FAMILIES:
        assert family.date
        assert family.source
        assert (family.samples > 0) == (family.error_median is not None)


def test_thinking_of_earlier_turns_is_left_out_by_older_models() -> None:
    entries = [entry("1.0", 5), entry("2.0", 900, "thinking", "assistant"), entry("3.0", 5),
               entry("4.0", 70, "thinking", "assistant")]  # fmt: skip
    assert is_left_out(SONNET, entries) == [False, True, False, False]
    assert is_left_out("claude-opus-4-5", entries) == [False] * 4
    assert is_left_out("gpt-5", entries) == [False] * 4


def test_images_have_no_factor_and_calls_a_frame() -> None:
    family = family_of(SONNET)
    assert family is not None
    assert estimate(family, SONNET, [entry("1.0", 1_000, "image")]) == 1_000
    assert estimate(family, SONNET, [entry("1.0", 1_000)]) == 1_171
    call = [entry("1.0", 10, "tool_use", "assistant"), entry("2.0", 10, "tool_result")]
    assert estimate(family, SONNET, call) == round(20 * family.factor) + family.per_call_tokens
    tools = [entry("1.0", 100, "tool", "tools")]
    assert estimate(family, SONNET, tools) == round(100 * family.factor) + family.tools_tokens


def test_nothing_is_said_of_a_transcript_without_a_report() -> None:
    window = [entry("1.0", 100)]
    assert size_of(window, None, model=SONNET, counter=COUNTER, is_exact=False) is None
    assert size_of(window, None, model="other", counter=COUNTER, is_exact=True) is None
    found = size_of(window, None, model=SONNET, counter=COUNTER, is_exact=True)
    assert found is not None
    assert (found.tokens, found.method, found.unattributed) == (117, CALIBRATED, 17)
    # The factors belong to one counter.
    assert size_of(window, None, model=SONNET, counter="estimate/len4", is_exact=True) is None


def test_a_model_without_a_family_grows_as_counted() -> None:
    before = (entry("1.0", 100),)
    grown = [*before, entry("2.0", 50)]
    found = size_of(grown, Reported(1_000, before), model="other", counter=COUNTER, is_exact=False)
    assert found is not None
    assert (found.tokens, found.method) == (1_050, f"provider + {COUNTER}")
    assert (found.error_tokens, found.by_tokenizer) == (None, None)


def test_a_reported_answer_is_not_estimated() -> None:
    before = (entry("1.0", 100),)
    grown = [*before, entry("2.0", 50, role="assistant")]
    reported = Reported(1_000, before, output_tokens=400)
    found = size_of(grown, reported, model=SONNET, counter=COUNTER, is_exact=False)
    assert found is not None
    assert (found.tokens, found.method, found.estimated_tokens) == (1_400, "provider", 0)


def test_numbers_for_json_add_up() -> None:
    before = (entry("1.0", 100),)
    found = size_of(
        [*before, entry("2.0", 50)], Reported(1_000, before), model=SONNET, counter=COUNTER,
        is_exact=False, limit=Limit(2_000, "user"), max_tokens=500,
    )  # fmt: skip
    assert found is not None
    told = found.as_json()
    assert told["tokens"] == 1_059
    assert told["unattributed"] == 1_059 - 150
    assert (told["percent_of_limit"], told["percent_of_usable"]) == (53.0, 70.6)
    assert told["tokens_left"] == 1_500 - 1_059
    assert (told["limit_source"], told["factor_samples"]) == ("user", 245)
    assert told["error_p90"] >= told["error_median"] > 0


def test_the_next_call_is_foreseen_on_recordings(recordings: Path) -> None:
    """Just before each recorded call, the estimate against what was then reported."""
    errors = counters.foreseen(counters.recordings(recordings / "claude-code"))
    assert len(errors) > 200
    assert statistics.median(errors) < 0.002
    assert counters.quantile(errors, 0.9) < 0.03


def test_the_factor_is_the_one_that_the_recordings_give(recordings: Path) -> None:
    family = next(f for f in FAMILIES if f.samples)
    found = [s for s in counters.samples(counters.recordings(recordings)) if not s.is_whole]
    mine = [s for s in found if family_of(s.model) == family]
    assert len(mine) == family.samples
    fitted = counters.fit(counters.points(mine, counter()))
    assert fitted.factor == pytest.approx(family.factor, abs=0.01)
    assert fitted.per_call == pytest.approx(family.per_call_tokens, abs=2)
