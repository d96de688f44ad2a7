"""`ctxledger diff`: sums, groups, references, exit codes, golden screens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from ctxledger.cli.demo_data import write_recording
from ctxledger.ledger.plaintext import cell_width, plain

Run = Callable[..., Result]
FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "demo.jsonl"
    write_recording(path)
    return path


def one_object(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    return dict(json.loads(result.stdout))


def test_json_holds_every_entry_and_adds_up(run: Run, recording: Path) -> None:
    found = one_object(run("diff", recording, "c1", "--json"))
    before = sum(e["tokens"] for part in ("kept", "dropped", "moved") for e in found[part])
    after = sum(e["tokens"] for part in ("kept", "added", "moved") for e in found[part])
    before += sum(e["before"]["tokens"] for e in found["changed"])
    after += sum(e["tokens"] for e in found["changed"])
    assert found["tokens"] == {"before": before, "after": after}
    assert len(found["dropped"]) == 172
    assert {"item", "tokens", "text"} <= set(found["dropped"][0])
    assert any(len(e["text"]) > 10_000 for e in found["dropped"]), "texts are in full"


def test_one_reference_is_compared_with_the_window_before_it(run: Run, recording: Path) -> None:
    short = one_object(run("diff", recording, "c1", "--json"))
    assert short == one_object(run("diff", recording, "c1^", "c1", "--json"))
    assert short == one_object(run("diff", recording, "--json")), "the last compaction by default"


def test_the_session_may_be_left_out(run: Run, recording: Path) -> None:
    assert run("ingest", recording, "--session", "demo").exit_code == 0
    named = one_object(run("diff", "demo", "c1", "--json"))
    assert named == one_object(run("diff", "c1", "--json"))
    assert named == one_object(run("diff", "c1^", "c1", "--json"))


def test_groups_hold_the_sum_of_what_was_dropped(run: Run, recording: Path) -> None:
    text = run("diff", recording, "c1", width=80).stdout
    counts = re.findall(r"^dropped: .*?  ([\d,]+) items?, ([\d,]+) tokens$", text, re.MULTILINE)
    found = one_object(run("diff", recording, "c1", "--json"))
    numbers = [tuple(int(n.replace(",", "")) for n in pair) for pair in counts]
    assert sum(n for n, _ in numbers) == len(found["dropped"])
    assert sum(n for _, n in numbers) == sum(e["tokens"] for e in found["dropped"])


def test_exit_code_says_whether_they_differ(run: Run, recording: Path) -> None:
    assert run("diff", recording, "c1").exit_code == 0
    assert run("diff", recording, "c1", "--exit-code").exit_code == 1
    same = run("diff", recording, "head", "head", "--exit-code")
    assert same.exit_code == 0
    assert "The windows are the same." in same.stdout


def test_piped_lines_are_whole_and_all_there(run: Run, recording: Path) -> None:
    lines = run("diff", recording, "c1").stdout.splitlines()
    assert sum(line.startswith("  - ") for line in lines) == 172
    assert "\x1b" not in "".join(lines)
    assert "…" not in "".join(line for line in lines if line.startswith("  - 205.0"))


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("compaction", ("demo.jsonl", "c1")),
        ("interrupts", ("claude-code-interrupts.jsonl", "head~6", "head")),
        ("agent-loop", ("anthropic-agent-loop.yaml", "1", "head")),
    ],
)
def test_golden(
    run: Run,
    golden: Callable[[str, str], None],
    recording: Path,
    name: str,
    arguments: tuple[str, ...],
    width: int,
) -> None:
    file, *references = arguments
    path = recording if file == recording.name else FIXTURES / file
    result = run("diff", path, *references, width=width)
    assert result.exit_code == 0, result.stderr
    assert all(cell_width(line) <= width for line in result.stdout.splitlines())
    golden(f"diff-{name}-{width}", result.stdout)


@pytest.mark.parametrize(
    "arguments", [("no-such-session", "c1"), ("c9",), ("nonsense^x", "c1"), ("a", "b", "c", "d")]
)
def test_what_is_not_there_is_one_line_and_exit_2(
    run: Run, recording: Path, arguments: tuple[str, ...]
) -> None:
    run("ingest", recording, "--session", "demo")
    result = run("diff", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("ctxledger: ")


def test_hostile_text_cannot_act(run: Run, tmp_path: Path, hostile_text: str) -> None:
    path = tmp_path / "s.jsonl"
    read = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": hostile_text}}
    lines = [
        {"role": "user", "content": "hello"},
        {"role": "user", "content": hostile_text + "."},
        {"role": "assistant", "content": [read]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": hostile_text}]},
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    for extra in ((), ("--all",), ("--json",)):
        result = run("diff", path, "0", "head", *extra, width=80)
        assert result.exit_code == 0, result.stderr
        assert plain(result.stdout) == result.stdout
