"""export: byte for byte, native lines, a request body; files nobody else reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result

from ctxledger.ledger.render.openai_rules import check_openai

Run = Callable[..., Result]
FIXTURES = Path(__file__).parents[1] / "fixtures"
SESSION = FIXTURES / "claude-code-interrupts.jsonl"
CASSETTE = FIXTURES / "anthropic-agent-loop.yaml"


@pytest.mark.parametrize("path", [SESSION, CASSETTE], ids=lambda path: path.stem)
def test_the_original_is_byte_exact(run: Run, tmp_path: Path, path: Path) -> None:
    target = tmp_path / "again"
    run("ingest", path)
    assert run("export", "@", "--format", "original", "-o", target).exit_code == 0
    assert target.read_bytes() == path.read_bytes()
    assert target.stat().st_mode & 0o777 == 0o600
    assert run("export", "@", "--format", "original").stdout_bytes == path.read_bytes()


def test_a_file_is_not_overwritten_without_force(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "mine.txt"
    target.write_text("precious")
    refused = run("export", SESSION, "--format", "events", "-o", target)
    assert (refused.exit_code, target.read_text()) == (2, "precious")
    assert "--force" in refused.stderr
    assert run("export", SESSION, "--format", "events", "-o", target, "--force").exit_code == 0
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(tmp_path.glob(".*")) == []


def test_a_folder_that_is_not_there_is_a_clear_error(run: Run, tmp_path: Path) -> None:
    result = run("export", SESSION, "--format", "events", "-o", tmp_path / "none" / "x")
    assert result.exit_code == 5
    assert "cannot be written" in result.stderr


def test_several_sources_go_into_a_folder(run: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text('{"role": "user", "content": "one", "session": "s"}\n')
    second.write_text('{"role": "user", "content": "two", "session": "s"}\n')
    run("ingest", first, second)
    refused = run("export", "s", "--format", "original")
    assert refused.exit_code == 2
    assert "a.jsonl" in refused.stderr
    assert "b.jsonl" in refused.stderr
    folder = tmp_path / "out"
    folder.mkdir()
    assert run("export", "s", "--format", "original", "-o", folder).exit_code == 0
    assert {p.name: p.read_text() for p in folder.iterdir()} == {
        "a.jsonl": first.read_text(),
        "b.jsonl": second.read_text(),
    }


def test_events_taken_in_again_give_the_same_window(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "native.jsonl"
    run("export", SESSION, "--format", "events", "-o", target)
    one, two = (json.loads(run("window", path, "--json").stdout) for path in (SESSION, target))
    for shown in (one, two):
        for entry in shown["entries"]:
            entry.pop("item")
    assert one["entries"] == two["entries"]
    assert one["tokens"] == two["tokens"]


def test_events_end_at_a_reference(run: Run) -> None:
    lines = run("export", SESSION, "--format", "events", "--at", "5").stdout.splitlines()
    assert len(lines) == 5


def test_a_recorded_call_is_exported_as_it_was_sent(run: Run) -> None:
    import yaml

    sent = [json.loads(r["body"]) for r in yaml.safe_load(CASSETTE.read_text())["requests"]]
    for number, body in enumerate(sent, 1):
        result = run("export", CASSETTE, "--format", "anthropic", "--at", f"call{number}")
        assert json.loads(result.stdout) == body


def test_repairs_are_listed(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "open.jsonl"
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    path.write_text(
        json.dumps({"role": "user", "content": "go", "id": "u"})
        + "\n"
        + json.dumps({"role": "assistant", "content": [use]})
        + "\n"
        + json.dumps({"role": "user", "content": "stop"})
        + "\n"
    )
    result = run("export", path, "--format", "anthropic")
    assert "repaired" in result.stderr
    assert json.loads(result.stdout)["messages"][0]["role"] == "user"


def test_equal_repairs_are_one_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "neighbours.jsonl"
    lines = [{"role": "user", "content": f"part {number}"} for number in range(9)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = run("export", path, "--format", "anthropic")
    (line,) = [line for line in result.stderr.splitlines() if "repaired" in line]
    assert "and 3 more: Neighbouring user messages" in line


def test_what_came_from_no_recording_has_no_original(run: Run, db: Path) -> None:
    from ctxledger.ledger import Ledger

    with Ledger.open(db) as ledger:
        ledger.session("made").append({"role": "user", "content": "hi"})
    result = run("export", "made", "--format", "original")
    assert result.exit_code == 2
    assert "--format events" in result.stderr
    assert len(run("export", "made", "--format", "events").stdout.splitlines()) == 2


def test_a_window_is_written_for_either_provider(run: Run, tmp_path: Path) -> None:
    recording = FIXTURES / "openai-chat-tool-calls.yaml"
    sent = yaml.safe_load(recording.read_bytes())["interactions"][3]["request"]["parsed_body"]
    shown = run("window", recording, "--at", "call2", "--format", "openai")
    assert json.loads(shown.stdout) == sent
    target = tmp_path / "request.json"
    run("export", recording, "--at", "call2", "--format", "anthropic", "-o", target)
    theirs = json.loads(target.read_text())
    assert theirs["messages"][1]["content"][0]["type"] == "tool_use"
    assert "n" not in theirs, "parameters of another provider are not sent"
    ours = run("window", FIXTURES / "anthropic-agent-loop.yaml", "--format", "openai").stdout
    body = json.loads(ours)
    assert [m["role"] for m in body["messages"]][-2:] == ["tool", "assistant"]
    assert check_openai(body) == ()
