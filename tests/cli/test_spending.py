"""What the commands say about the size of a window, about cost and about the cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxledger.cli.spending_text import usd

from .conftest import Run

MODEL = "claude-sonnet-4-5"


def recording(folder: Path, *, model: str = MODEL, limit: int | None = None) -> Path:
    """Three calls; before the third an item is evicted."""
    written: dict[str, Any] = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 9_000}
    read = {"cache_read_input_tokens": 9_000, "cache_creation_input_tokens": 500}
    again = {"cache_read_input_tokens": 2_000, "cache_creation_input_tokens": 7_600}
    opened = {"type": "session", "name": "s", **({"limit": limit} if limit else {})}
    lines: list[dict[str, Any]] = [
        opened, {"id": "u", "role": "user", "content": "alpha " * 500},
        *call(1, model, {"input_tokens": 3, "output_tokens": 10, **written}),
        *call(2, model, {"input_tokens": 3, "output_tokens": 10, **read}),
        {"type": "evict", "items": ["u/0"], "placeholder": "[gone]"},
        *call(3, model, {"input_tokens": 3, "output_tokens": 10, **again}),
    ]  # fmt: skip
    path = folder / "s.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def call(number: int, model: str, usage: dict[str, Any]) -> list[dict[str, Any]]:
    """A call with its answer."""
    return [
        {"type": "call", "call": f"k{number}", "model": model, "at": 1_790_000_000_000},
        {"id": f"a{number}", "role": "assistant", "content": "done"},
        {"type": "result", "call": f"k{number}", "usage": usage, "stop_reason": "end_turn"},
    ]


def test_stats_names_the_change_that_broke_the_cache(run: Run, tmp_path: Path) -> None:
    path = str(recording(tmp_path))
    found = json.loads(run("stats", path, "--json").stdout)
    (broken,) = found["cache"]["breaks"]
    told = {name: broken[name] for name in ("call", "reason", "item", "by", "seen", "lost")}
    assert told == {
        "call": 3, "reason": "edit", "item": "2.0", "by": "e1", "seen": True, "lost": 7_500,
    }  # fmt: skip
    assert broken["extra_usd"] == pytest.approx(7_500 * (3.75 - 0.30) / 1e6)
    text = run("stats", path, width=80).stdout
    assert "1 seen in 2 calls, 7,500 tokens read anew, $0.0259 more" in text
    assert "an earlier item changed, from item 2.0 on, by e1" in " ".join(text.split())


def test_stats_gives_the_cost_and_where_prices_are_from(run: Run, tmp_path: Path) -> None:
    found = json.loads(run("stats", str(recording(tmp_path)), "--json").stdout)
    tokens = found["tokens"]
    expected = (
        tokens["input"] * 3 + tokens["cache_read"] * 0.30
        + tokens["cache_write"] * 3.75 + tokens["output"] * 15
    ) / 1e6  # fmt: skip
    assert found["cost"]["usd"] == pytest.approx(expected)
    assert found["cost"]["source"].startswith("genai-prices ")
    assert found["models"] == [
        {"model": MODEL, "calls": 3, "tokens": sum(tokens.values()), "usd": found["cost"]["usd"]}
    ]


def test_a_model_without_a_price_is_named_and_nothing_is_guessed(run: Run, tmp_path: Path) -> None:
    path = str(recording(tmp_path, model="model-x"))
    found = json.loads(run("stats", path, "--json").stdout)
    assert (found["cost"]["usd"], found["cost"]["unpriced"]) == (None, ["model-x"])
    assert (found["limit"], found["limit_source"]) == (None, "unknown")
    assert found["cache"]["extra_usd"] is None
    text = run("stats", path).stdout
    assert "no price: model-x" in text
    window = run("window", path).stdout
    assert "limit unknown" in window


def test_window_shows_the_share_of_both_denominators(run: Run, tmp_path: Path) -> None:
    path = str(recording(tmp_path, limit=20_000))
    text = run("window", path, width=80).stdout
    assert "9,613 tokens to the model, 48% of 20,000" in text
    assert "limit: user; 60% of the 16,000 beside an answer" in text
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("") + 1].startswith("unattributed")
    found = json.loads(run("window", path, "--json").stdout)
    context = found["context"]
    assert (found["limit"], found["limit_source"]) == (20_000, "user")
    assert sum(found["categories"].values()) + context["unattributed"] == context["tokens"] == 9_613
    assert (context["method"], context["percent_of_usable"]) == ("provider", 60.1)


def test_the_ledger_counts_a_call_once(run: Run, tmp_path: Path) -> None:
    run("ingest", str(recording(tmp_path)))
    found = json.loads(run("stats", "--json").stdout)
    assert (found["calls"], found["models"][0]["calls"]) == (3, 3)
    assert "each once, copies left out" in run("stats").stdout


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "unknown"), (0.0, "$0.00"), (0.00004, "under $0.0001"), (0.0259, "$0.0259"),
     (1.0, "$1.00"), (12345.678, "$12,345.68")],
)  # fmt: skip
def test_dollars(value: float | None, text: str) -> None:
    assert usd(value) == text
