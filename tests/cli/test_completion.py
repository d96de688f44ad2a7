"""Completion: the scripts, and what a shell is answered, without loading what it does not need."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

from ctxledger.cli import completing
from ctxledger.cli.main import COMMANDS, cli
from ctxledger.ledger import Ledger

from .conftest import fixed_context

Run = Callable[..., Result]
SHELLS = ("bash", "zsh", "fish", "powershell")
LEDGER_MODULES = {
    "ctxledger.ledger", "ctxledger.ledger.errors", "ctxledger.ledger.storage",
    "ctxledger.ledger.storage.connection", "ctxledger.ledger.storage.migrations",
    "ctxledger.ledger.storage.overview",
}  # fmt: skip


def environment(db: Path, *words: str) -> dict[str, str]:
    """What bash sets when Tab is pressed behind the last of the words."""
    return {
        "_CTXLEDGER_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("ctxledger", *words)),
        "COMP_CWORD": str(len(words)),
        "CTXLEDGER_DB": str(db),
    }


def asked(db: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """The completions that bash would be given, files as `FILES`."""
    from click.shell_completion import BashComplete

    for name, value in environment(db, *words).items():
        monkeypatch.setenv(name, value)
    answer = BashComplete(
        cli, {"obj": fixed_context("")}, "ctxledger", "_CTXLEDGER_COMPLETE"
    ).complete()
    pairs = (line.partition(",") for line in answer.splitlines())
    return ["FILES" if kind == "file" else value for kind, _, value in pairs]


@pytest.fixture
def filled(db: Path) -> Path:
    """Two sessions: `told` with c1, e1 and r1; then `other`, which is the newest."""
    with Ledger.open(db) as ledger:
        from ctxledger.ledger.importing import open_pipe

        lines = [
            {"type": "session", "name": "told"},
            {"id": "a", "role": "user", "content": "one"},
            {"id": "b", "role": "user", "content": "two"},
            {"type": "evict", "items": ["b/0"], "placeholder": "[gone]"},
            {"type": "compact", "sources": ["a/0"], "brief": "they talked"},
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines).encode()
        reader = open_pipe(ledger, text, name="told", format_name="native")
        reader.push(text)
        reader.finish()
        ledger.find("told").rollback("c1")
        ledger.session("other").append({"role": "user", "content": "hello"})
        ledger.session("with space").append({"role": "user", "content": "hello"})
        ledger.session("other").append({"role": "user", "content": "again"})
    return db


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("di",), ["diff"]),
        (("log", ""), ["FILES", "other", "told"]),
        (("log", "to"), ["FILES", "told"]),
        (("log", "told", ""), []),
        (("diff", "told", ""), ["head", "c1", "c1^", "e1", "e1^", "r1", "r1^"]),
        (("diff", "told", "c1", "r"), ["r1", "r1^"]),
        (("rollback", "told", ""), ["c1", "e1", "r1"]),
        (("rollback", "told", "c1", "e"), ["e1"]),
        (("log", "told", "--at", ""), ["head", "c1", "c1^", "e1", "e1^", "r1", "r1^"]),
        (("rollback", "told", "--to", "c"), ["c1", "c1^"]),
        (("diff", "h"), ["FILES", "head"]),
        (("search", "x", "--session", "o"), ["FILES", "other"]),
        (("window", "--format", "a"), ["anthropic"]),
        (("diff", "--ex"), ["--exit-code"]),
        (("--col",), ["--color"]),
        (("completion", "z"), ["zsh"]),
        (("ingest", "x"), ["FILES"]),
        (("nonesuch", "in"), ["inspect", "ingest"]),
        (("--db", "/nonexistent/x.db", "log", ""), ["FILES"]),
        (("log", "--db", "/nonexistent/x.db", ""), ["FILES"]),
        (("diff", "nobody", "c"), []),
    ],
)
def test_what_is_offered(
    filled: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], answer: list[str]
) -> None:
    assert asked(filled, monkeypatch, *words) == answer


@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_fork_offers_what_it_has_from_its_parent(
    filled: Path, monkeypatch: pytest.MonkeyPatch, is_indexed: bool
) -> None:
    with Ledger.open(filled) as ledger:
        told = ledger.find("told")
        ledger.fork(told, "c1", "early")
        ledger.fork(told, "head", "late").rollback("e1")
        if is_indexed:
            from ctxledger.ledger.finding.catalogue import session_rows

            session_rows(ledger.store)
    assert asked(filled, monkeypatch, "rollback", "early", "") == ["c1", "e1"]
    assert asked(filled, monkeypatch, "rollback", "late", "") == ["c1", "e1", "r2", "r1"]
    assert asked(filled, monkeypatch, "rollback", "c") == ["FILES", "c1"]


@pytest.mark.parametrize("damage", [b"", b"no database at all", b"SQLite format 3\0" + b"x" * 2000])
def test_whatever_the_ledger_is_nothing_is_said(
    db: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    db.write_bytes(damage)
    assert asked(db, monkeypatch, "diff", "x", "") == ["head"]
    assert asked(db, monkeypatch, "log", "") == ["FILES"]


def test_every_command_that_takes_a_session_offers_some() -> None:
    context = click.Context(cli)
    takes: dict[str, set[str]] = {"session": set(), "reference": set(), "handle": set()}
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        arguments = [p for p in command.params if isinstance(p, click.Argument)]
        usage = " ".join(p.make_metavar(click.Context(command)) for p in arguments)
        if "SESSION" in usage:
            takes["session"].add(name)
        if "REF" in usage or "[A [B]]" in usage:
            takes["reference"].add(name)
        if "HANDLE" in usage:
            takes["handle"].add(name)
    assert takes["session"] == completing.SESSION_COMMANDS
    assert takes["reference"] == completing.REFERENCE_COMMANDS
    assert takes["handle"] == completing.HANDLE_COMMANDS


@pytest.mark.parametrize("words", [("diff", "told", ""), ("log", ""), ("",), ("log", "--at", "")])
def test_an_answer_loads_no_command_and_no_codec(filled: Path, words: tuple[str, ...]) -> None:
    with Ledger.open(filled) as ledger:
        from ctxledger.ledger.finding.catalogue import session_rows

        session_rows(ledger.store)
    code = (
        "import sys, contextlib\nfrom ctxledger.cli.main import cli\n"
        "with contextlib.suppress(SystemExit): cli.main(prog_name='ctxledger')\n"
        "print('LOADED', *sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env=os.environ | environment(filled, *words),
    )  # fmt: skip
    answer, _, names = ran.stdout.partition("LOADED ")
    loaded = set(names.split())
    assert answer.strip()
    assert "ctxledger.cli.main" in loaded
    ours = {name for name in loaded if name.startswith("ctxledger.ledger")}
    assert ours <= LEDGER_MODULES
    assert not any(name.startswith("ctxledger.cli.commands") for name in loaded)
    assert loaded.isdisjoint({"msgspec", "zstandard", "tiktoken", "textual", "anthropic", "yaml"})


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_asks_this_program(run: Run, shell: str) -> None:
    result = run("completion", shell)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "_CTXLEDGER_COMPLETE" in result.stdout
    assert f"{shell}_complete" in result.stdout
    script = json.loads(run("completion", shell, "--json").stdout)["script"]
    assert script.strip() == result.stdout.strip()


def test_an_unknown_shell_is_exit_2(run: Run) -> None:
    result = run("completion", "tcsh")
    assert (result.exit_code, result.stdout) == (2, "")


def test_bash_takes_the_script(filled: Path, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    program = tmp_path / "bin" / "ctxledger"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ctxledger.cli "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(ctxledger completion bash)"\n'
        "COMP_WORDS=(ctxledger diff told c); COMP_CWORD=3; _ctxledger_completion ctxledger\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        [bash, "--norc", "-c", script], capture_output=True, text=True, check=True,
        env=os.environ | {"CTXLEDGER_DB": str(filled), "PATH": path},
    )  # fmt: skip
    assert ran.stdout.split() == ["c1", "c1^"]
