"""`ctxledger blame`: the story of an item, and the command that brings it back."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from ctxledger.cli.blame_text import wrapped
from ctxledger.cli.demo_data import write_recording
from ctxledger.ledger.plaintext import cell_width, plain

Run = Callable[..., Result]
FIXTURES = Path(__file__).parents[1] / "fixtures"
SAID = "can we create a new patch PR which renames it on main instead"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "demo.jsonl"
    write_recording(path)
    return path


def lives(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_an_item_that_a_compaction_took(run: Run, recording: Path) -> None:
    (life,) = lives(run("blame", recording, "36.0", "--json"))
    assert {"item", "entered", "left", "by", "brief", "in_window"} <= set(life)
    assert (life["item"], life["entered"], life["left"]) == ("36.0", 36, 249)
    assert (life["by"], life["brief"], life["in_window"]) == ("c1", "249.0", False)
    assert SAID in life["text"]


def test_text_is_found_where_it_was_and_where_it_is(run: Run, recording: Path) -> None:
    found = lives(run("blame", recording, "--text", SAID, "--json"))
    assert [(life["item"], life["in_window"]) for life in found] == [
        ("36.0", False),
        ("249.0", True),
    ]


def test_the_printed_command_brings_it_back(run: Run, recording: Path) -> None:
    run("ingest", recording, "--session", "demo")
    (gone,) = lives(run("blame", "demo", "36.0", "--json"))
    program, *words = shlex.split(gone["put_back"])
    assert program == "ctxledger"
    assert run(*words).exit_code == 0
    left, back = lives(run("blame", "demo", "36.0", "--json"))
    assert (left["in_window"], back["in_window"]) == (False, True)
    assert back["entered_by"] == "r1"
    assert back["put_back"] is None


def test_a_file_is_taken_in_before_anything_is_put_back(run: Run, recording: Path) -> None:
    (gone,) = lives(run("blame", recording, "36.0", "--json"))
    assert gone["put_back"].startswith("ctxledger ingest ")
    assert " && ctxledger rollback " in gone["put_back"]


def test_the_newest_session_is_meant_when_none_is_named(run: Run, recording: Path) -> None:
    run("ingest", recording, "--session", "demo")
    assert lives(run("blame", "36.0", "--json")) == lives(run("blame", "demo", "36.0", "--json"))


def test_the_screen_says_what_stands_for_it(run: Run, recording: Path) -> None:
    text = run("blame", recording, "36.0", width=80).stdout
    for words in ("version 36 by message", "version 249 by c1", "trigger auto", "174,247",
                  "the model does not see it", "brief 249.0", "it repeats the words"):  # fmt: skip
        assert words in " ".join(text.split())


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (SAID, "entered at 36, left at c1 (automatic, 174k -> 62k), its words are in the brief"),
        (
            "Technical mechanics for GitHub PR",
            "entered at 3, left at c1 (automatic, 174k -> 62k), not in the brief",
        ),
        (SAID, "entered at 249, is in the window"),
    ],
)
def test_text_is_answered_in_a_sentence(run: Run, recording: Path, words: str, answer: str) -> None:
    result = run("blame", recording, "--text", words, width=200)
    assert answer in " ".join(result.stdout.split())
    assert "ctxledger rollback" in result.stdout


def test_many_items_are_answered_on_one_screen(run: Run, recording: Path) -> None:
    lines = run("blame", recording, "--text", "LastInteractionTime", width=80).stdout.splitlines()
    assert len(lines) <= 24
    text = "\n".join(lines)
    assert "8 of 53 items in the window" in text
    assert "45 items left at c1 (automatic, 174k -> 62k)" in text
    assert text.count("ctxledger rollback") == 1
    piped = run("blame", recording, "--text", "LastInteractionTime").stdout.splitlines()
    assert len(piped) > 53


def test_many_items_are_a_table(run: Run, recording: Path) -> None:
    lines = run("blame", recording, "--text", "NormalizeAfterLoad", width=80).stdout.splitlines()
    assert lines[0].split() == ["item", "entered", "left", "by", "brief", "now", "what"]
    assert len(lines) > 4


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize(
    ("name", "file", "arguments"),
    [
        ("compaction", "demo.jsonl", ("36.0",)),
        ("interrupts", "claude-code-interrupts.jsonl", ("--text", "button a background")),
        ("agent-loop", "anthropic-agent-loop.yaml", ("--text", "weather in San Francisco, CA?")),
    ],
)
def test_golden(
    run: Run,
    golden: Callable[[str, str], None],
    recording: Path,
    name: str,
    file: str,
    arguments: tuple[str, ...],
    width: int,
) -> None:
    path = recording if file == recording.name else FIXTURES / file
    result = run("blame", path, *arguments, width=width)
    assert result.exit_code == 0, result.stderr
    shown = result.stdout.replace(str(recording.parent) + "/", "")
    lines = [line for line in shown.splitlines() if not line.startswith("put back")]
    assert all(cell_width(line) <= width for line in lines)
    golden(f"blame-{name}-{width}", shown)


@pytest.mark.parametrize(
    "arguments", [(), ("demo",), ("demo", "9999.0"), ("demo", "x"), ("demo", "--text", "nowhere !")]
)
def test_what_is_not_there_is_one_line_and_exit_2(
    run: Run, recording: Path, arguments: tuple[str, ...]
) -> None:
    run("ingest", recording, "--session", "demo")
    result = run("blame", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("ctxledger: ")


def test_hostile_text_cannot_act(run: Run, tmp_path: Path, hostile_text: str) -> None:
    path = tmp_path / "s.jsonl"
    lines: list[dict[str, Any]] = [
        {"role": "user", "content": "hello"},
        {"id": "a", "role": "user", "content": f"{hostile_text}."},
        {"type": "compact", "sources": ["a/0"], "brief": f"{hostile_text}!", "reason": "x"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    for item in ("3.0", "4.0"):
        result = run("blame", path, item, width=80)
        assert result.exit_code == 0, result.stderr
        assert plain(result.stdout) == result.stdout
        assert lives(run("blame", path, item, "--json"))


def test_wrapping_loses_no_word() -> None:
    text = "one two three 中文字 " * 20 + "x" * 90
    lines = wrapped(text, 20)
    assert all(0 < cell_width(line) <= 20 for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert wrapped("", 20) == [""]
