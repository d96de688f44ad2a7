"""The README is held to what it says: its commands run, its grammar is read, its lists are made."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ctxledger.cli.demo_data import recording
from ctxledger.cli.reference import reference
from ctxledger.ledger import Ledger
from ctxledger.ledger.importing import import_file

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The contents of all fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_list_of_commands_is_the_one_that_is_made() -> None:
    found = re.search(r"<!-- commands: .*?-->\n(.*?)\n<!-- end of commands -->", README, re.DOTALL)
    assert found is not None
    assert found[1] == reference()


def test_there_are_exactly_two_set_up_commands() -> None:
    set_up = README[README.index("## Set up") : README.index("## A worked example")]
    lines = [line for block in re.findall(r"```sh\n(.*?)```", set_up, re.DOTALL)
             for line in block.splitlines()]  # fmt: skip
    assert len(lines) == 2
    assert lines[0].endswith("ctxledger demo")
    assert lines[1].endswith("pytest -q")


def test_the_worked_example_runs(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_bytes(recording())
    environment = os.environ | {"CTXLEDGER_DB": str(tmp_path / "ledger.db"), "NO_COLOR": "1"}
    example = README[README.index("## A worked example") : README.index("## Words")]
    lines = [
        line.split("#")[0].strip()
        for block in re.findall(r"```sh\n(.*?)```", example, re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(lines) >= 8
    for line in lines:
        words = shlex.split(line)
        if words[:2] == ["ctxledger", "inspect"]:
            continue  # needs a terminal; tests/inspector drives it
        command = [sys.executable, "-m", "ctxledger.cli", *words[1:]]
        ran = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        assert ran.returncode in ((0, 1) if "--text" in words else (0,)), (line, ran.stderr)


def test_every_line_of_the_native_grammar_is_read(tmp_path: Path) -> None:
    (grammar,) = blocks("jsonl")
    source = tmp_path / "grammar.jsonl"
    source.write_text(grammar, "utf-8")
    with Ledger.open() as ledger:
        report = import_file(ledger, source)
        assert report.records == len(grammar.splitlines())
        assert (report.quarantined, report.unknown, report.warnings) == (0, {}, [])
        window = ledger.find("auth").window()
        assert any("Never touch production." in entry.text for entry in window.entries)


def test_the_library_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = blocks("python")
    monkeypatch.chdir(tmp_path)

    class Client:
        """Answers as the SDK does."""

        def __getattr__(self, name: str) -> Client:
            return self

        def create(self, **request: object) -> dict[str, object]:
            json.dumps(request)
            content = [{"type": "text", "text": "Done."}]
            return {"id": "msg_1", "role": "assistant", "content": content, "usage": {}}

    exec(example, {"client": Client()})
    with Ledger.open(tmp_path / "agent.db", "read") as ledger:
        assert [e.text for e in ledger.find("refactor-auth").window(at="4").entries][-1] == "Done."
