"""Every example of every command's help runs, on a ledger that was prepared for them."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ctxledger.cli.context import Context
from ctxledger.cli.main import COMMANDS, cli
from ctxledger.ledger import Ledger
from ctxledger.ledger.importing import import_file

from .conftest import fixed_context

NOT_RUN = {"inspect", "--follow"}
"""These want a terminal or a signal: their arguments are only read."""
ASKS = {"redact"}
"""These want an answer from a person: `--yes` gives it."""
NEIGHBOURS = {"jq", "my-agent"}
"""Programs that stand beside ours in a pipe."""
ITEM = "42.1"
SECRET = "sk-ant-api03-" + "a1B2" * 20


def examples() -> Iterator[str]:
    for name in COMMANDS:
        command = cli.load_command(name)
        for line in command.examples.splitlines():  # type: ignore[attr-defined]
            yield line.partition("  #")[0].strip()


def lines() -> list[dict[str, Any]]:
    """A session with seven calls, two compactions, an eviction, and an item 42.1."""
    told: list[dict[str, Any]] = [
        {"type": "session", "name": "refactor-auth", "model": "claude-sonnet-4-5",
         "coverage": "exact"},
        {"id": "u0", "role": "user", "content": "never touch production database, CUST-123456"},
        {"id": "u1", "role": "user", "content": f"use main instead. migrate after the conflict."
                                                f" key {SECRET}"},
    ]  # fmt: skip
    for n in range(7):
        told += [
            {"type": "call", "call": f"k{n}", "model": "claude-sonnet-4-5",
             "params": {"max_tokens": 99}},
            {"id": f"a{n}", "role": "assistant", "content": f"answer {n}"},
            {"type": "result", "call": f"k{n}", "usage": {"input_tokens": 9, "output_tokens": 2}},
            {"id": f"q{n}", "role": "user", "content": f"question {n}"},
        ]  # fmt: skip
    told.append({"type": "evict", "items": ["q5/0"], "placeholder": "[gone]"})
    told.append({"type": "compact", "sources": ["u0/0", "u1/0", "a0/0"], "brief": "first"})
    while len(told) < 60:
        n = len(told)
        pair = [{"type": "text", "text": f"text {n}"}, {"type": "text", "text": f"more {n}"}]
        told.append({"id": f"p{n}", "role": "user", "content": pair})
    told.append({"type": "compact", "sources": ["q0/0", "a1/0", "q1/0"], "brief": "second"})
    told.append({"id": "last", "role": "user", "content": "go on"})
    return told


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """session.jsonl, the ledger that it is in, and that ledger's head and copy."""
    folder = tmp_path_factory.mktemp("prepared")
    source = folder / "session.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines()))
    with Ledger.open(folder / "ledger.db") as ledger:
        import_file(ledger, source)
        session = ledger.find("refactor-auth")
        session.rollback("e1")
        assert session.item_block(ITEM).text.startswith("more ")
    shutil.copyfile(folder / "ledger.db", folder / "ledger-copy.db")
    head = CliRunner().invoke(cli, ["head"], obj=fixed_context(folder / "ledger.db"))
    (folder / "ledger.head").write_text(head.stdout)
    return folder


def ours(example: str) -> tuple[list[str], str]:
    """(the arguments of our program, what it is given on stdin)."""
    parts = list(shlex.shlex(example, posix=True, punctuation_chars="|>"))
    words = shlex.split(example)
    assert set(parts) & {"|", ">"} <= set(words), "write pipes and redirections between spaces"
    segments: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            segments.append([])
        elif word == ">":
            segments.append(["(a file)"])
        else:
            segments[-1].append(word)
    (at,) = [n for n, segment in enumerate(segments) if segment[0] == "ctxledger"]
    others = {segment[0] for segment in segments} - {"ctxledger", "(a file)"}
    assert others <= NEIGHBOURS
    stdin = '{"role": "user", "content": "piped"}\n' if at else ""
    return segments[at][1:], stdin


@pytest.mark.parametrize("example", list(dict.fromkeys(examples())))
def test_it_runs(
    example: str, prepared: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    shutil.copytree(prepared, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    recorded = home / ".claude" / "projects" / "p" / "s.jsonl"
    recorded.parent.mkdir(parents=True)
    shutil.copyfile(
        Path(__file__).parents[1] / "fixtures" / "claude-code-interrupts.jsonl", recorded
    )
    arguments, stdin = ours(example)
    if "-o" in arguments:
        Path(arguments[arguments.index("-o") + 1]).unlink(missing_ok=True)
    if arguments[0] == "backup" and "--check" not in arguments:
        Path(arguments[-1]).unlink()  # a copy is never written over
    if "*" in arguments[-1] and "~" in arguments[-1]:
        arguments[-1:] = map(str, home.glob(arguments[-1].removeprefix("~/")))
    if NOT_RUN & set(arguments):
        command = cli.load_command(arguments[0])
        command.make_context(arguments[0], arguments[1:], obj=Context())
        return
    if arguments[0] in ASKS and not {"--yes", "--dry-run"} & set(arguments):
        arguments.append("--yes")
    db = "" if arguments[0] == "demo" else str(folder / "ledger.db")
    monkeypatch.setenv("CTXLEDGER_DB", db)
    if stdin:
        command_line = [sys.executable, "-m", "ctxledger.cli", *arguments]
        subprocess.run(command_line, input=stdin.encode(), capture_output=True, check=True)
        return
    result = CliRunner().invoke(cli, arguments, obj=fixed_context(""))
    assert result.exit_code == 0, (example, result.stderr)
    assert result.stdout + result.stderr


def test_the_help_shows_what_was_run() -> None:
    shown = {name: CliRunner().invoke(cli, [name, "-h"], obj=Context()).stdout for name in COMMANDS}
    for example in examples():
        assert any(example in text for text in shown.values()), example
