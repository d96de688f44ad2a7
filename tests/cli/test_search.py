"""`ctxledger search`: hits in the window and out of it, exit 1 for none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from ctxledger.cli.demo_data import write_recording
from ctxledger.cli.output import Styled
from ctxledger.cli.snippets import snippet_parts
from ctxledger.ledger.plaintext import cell_width, plain

Run = Callable[..., Result]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "demo.jsonl"
    write_recording(path)
    return path


def hits(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_hits_say_whether_the_model_sees_them(run: Run, recording: Path) -> None:
    found = hits(run("search", "merged", "today", "--session", recording, "--json"))
    assert {"session", "item", "version", "in_window", "snippet", "score"} <= set(found[0])
    places = {hit["item"]: hit["left_by"] for hit in found}
    assert places["36.0"] == "c1"
    assert places["249.0"] is None
    text = run("search", "merged", "today", "--session", recording, width=80).stdout
    assert "36.0      left at c1" in text
    assert "249.0     in the window" in text
    assert all(cell_width(line) <= 80 for line in text.splitlines())


def test_the_whole_ledger_is_searched(run: Run, recording: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"role": "user", "content": "merged today, says nobody"}\n', "utf-8")
    assert run("ingest", recording, other).exit_code == 0
    found = hits(run("search", "merged today", "--json"))
    assert len({hit["session"] for hit in found}) == 2
    one = hits(run("search", "merged today", "--session", "other", "--json"))
    assert [hit["session"] for hit in one] == ["other"]


def test_the_number_of_hits_is_bounded_and_said(run: Run, recording: Path) -> None:
    result = run("search", "state", "--session", recording, "-n", "3", "--json")
    assert len(hits(result)) == 3
    assert "more than 3" in result.stderr


def test_piped_hits_are_one_line_each(run: Run, recording: Path) -> None:
    result = run("search", "merged", "today", "--session", recording)
    found = hits(run("search", "merged", "today", "--session", recording, "--json"))
    assert len(result.stdout.splitlines()) == len(found)


def test_nothing_found_is_exit_1(run: Run, recording: Path) -> None:
    result = run("search", "zzzyx", "--session", recording)
    assert (result.exit_code, result.stdout) == (1, "")
    assert run("search", "zzzyx", "--session", recording, "-q").stderr == ""


def test_an_empty_query_and_no_ledger_are_exit_2(run: Run, recording: Path) -> None:
    assert run("search", " ", "--session", recording).exit_code == 2
    assert run("search", "word").exit_code == 2


def test_hostile_text_cannot_act(run: Run, tmp_path: Path, hostile_text: str) -> None:
    path = tmp_path / "s.jsonl"
    lines = [{"role": "user", "content": "hello"}]
    lines.append({"role": "user", "content": f"{hostile_text} needle {hostile_text}"})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    for extra in ((), ("--json",)):
        result = run("search", "needle", "--session", path, *extra, width=80)
        assert result.exit_code == 0, result.stderr
        assert plain(result.stdout) == result.stdout
        assert "needle" in result.stdout


@pytest.mark.parametrize("width", [8, 20, 40, 200, None])
@pytest.mark.parametrize(
    "text", ["a needle b", "x" * 90 + " needle " + "y" * 90, "中" * 50 + "needle"]
)
def test_a_snippet_keeps_its_match_and_its_width(text: str, width: int | None) -> None:
    start = text.index("needle")
    parts = snippet_parts(text, [(start, start + 6)], width, "…")
    shown = "".join(part.text if isinstance(part, Styled) else part for part in parts)
    assert any(isinstance(part, Styled) and part.text[:4] == "need" for part in parts)
    assert width is None or cell_width(shown) <= width
    if width is None:
        assert shown == text
