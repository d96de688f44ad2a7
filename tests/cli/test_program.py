"""The frame: help, options before and after the command, exit codes, errors as words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ctxledger.cli import main as program
from ctxledger.cli.context import Context
from ctxledger.cli.main import COMMANDS, DEFECT_EXIT, TASKS, cli
from ctxledger.ledger import ConflictError, CorruptLedger, StorageFailed

FIXTURE = Path(__file__).parents[1] / "fixtures" / "claude-code-interrupts.jsonl"


def in_process_of_its_own(
    *args: object, environment: dict[str, str] | None = None, **settings: object
) -> subprocess.CompletedProcess[bytes]:
    """The program as a user starts it."""
    return subprocess.run(
        [sys.executable, "-m", "ctxledger.cli", *map(str, args)],
        capture_output=True,
        env={**os.environ, **(environment or {})},
        check=False,
        **settings,  # type: ignore[call-overload]
    )


def test_the_whole_help(golden: Callable[[str, str], None]) -> None:
    runner = CliRunner()
    texts = []
    for words in ([], *([name] for name in COMMANDS)):
        result = runner.invoke(cli, [*words, "--help"], terminal_width=80, obj=Context())
        assert result.exit_code == 0, result.stderr
        texts.append(f"$ ctxledger {' '.join([*words, '--help'])}\n{result.stdout}")
    golden("help", "\n".join(texts))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_short_help_and_a_task(name: str) -> None:
    help_text = CliRunner().invoke(cli, [name, "-h"], obj=Context()).stdout
    examples = help_text.split("Examples:")[1]
    assert f"ctxledger {name}" in examples
    assert all(len(line) <= 80 for line in help_text.splitlines())
    task, short = COMMANDS[name]
    assert task in TASKS
    assert short.endswith(".")


def test_the_group_help_imports_no_command_and_no_ledger() -> None:
    code = (
        "import sys, io, contextlib\nfrom ctxledger.cli.main import cli\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    cli.main(['--help'])\n"
        "print(*(m for m in sys.modules if m.startswith('ctxledger')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert "ctxledger.cli.main" in loaded
    assert not any(
        name.startswith(("ctxledger.ledger", "ctxledger.cli.commands.")) for name in loaded
    )


def test_options_stand_before_or_after_the_command(run: Callable[..., object], db: Path) -> None:
    assert run("ingest", FIXTURE).exit_code == 0
    first = run("--json", "log", "@", "-n", 1)
    second = run("log", "@", "-n", 1, "--json")
    assert first.stdout == second.stdout
    assert json.loads(first.stdout)["version"] == 58
    other = db.with_name("other.db")
    assert run("--db", other, "log", "--db", db, "-n", 1, "--json").stdout == first.stdout
    assert run("log", "--db", other).exit_code == 2


def test_the_ledger_is_named_by_the_environment(tmp_path: Path) -> None:
    environment = {"CTXLEDGER_DB": str(tmp_path / "by-env.db")}
    assert in_process_of_its_own("ingest", FIXTURE, environment=environment).returncode == 0
    assert (tmp_path / "by-env.db").exists()


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("nonesuch",), 2, "There is no command 'nonesuch'."),
        (("rolback",), 2, "Did you mean rollback?"),
        (("export", FIXTURE), 2, "Choose from: original, events, anthropic"),
        (("show", FIXTURE), 2, "`show` needs one"),
        (("log", "--nonesuch"), 2, "No such option"),
        (("log", "--color", "pink"), 2, "pink"),
        (("log",), 2, "There is no ledger"),
        (("log", "nowhere.jsonl"), 2, "There is no file nowhere.jsonl"),
        (("log", "no/where"), 2, "There is no file no/where"),
        (("rollback", "nowhere.jsonl", "c1"), 2, "There is no file nowhere.jsonl"),
        (("log", "nowhere"), 2, "There is no ledger"),
        (("log", FIXTURE, "--at", "c9"), 2, "There is no c9"),
        (("log", FIXTURE, "--type", "compactoin"), 2, "no type of event"),
        (("window", FIXTURE, "--at", "999"), 2, "There is no version 999"),
        (("show", FIXTURE, "1.0"), 2, "There is no item 1.0"),
        (("ingest", FIXTURE.parent), 2, "is a folder"),
    ],
)
def test_a_problem_is_one_line_and_a_hint(
    run: Callable[..., object], args: tuple[object, ...], code: int, words: str
) -> None:
    result = run(*args)
    assert result.exit_code == code
    assert result.stdout == ""
    message, hint, *rest = result.stderr.splitlines()
    assert message.startswith("ctxledger: ")
    assert words in message
    assert hint.startswith("  ")
    assert rest == []


def test_without_a_command_it_says_how_it_is_called(run: Callable[..., object]) -> None:
    result = run()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: ")
    assert "Exit codes:" in result.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [(CorruptLedger("Bad."), 3), (ConflictError("Busy."), 4), (StorageFailed("Full."), 5)],
)
def test_each_error_has_its_exit_code(
    run: Callable[..., object], monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(Context, "reading", refuse)
    result = run("log", "@")
    assert (result.exit_code, result.stderr) == (code, f"ctxledger: {error}\n")


def test_a_defect_shows_its_trace_and_says_so(
    run: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("\x1b[2J")

    monkeypatch.setattr(Context, "reading", fail)
    result = run("log", "@")
    assert result.exit_code == DEFECT_EXIT
    assert "this is a defect" in result.stderr
    assert "\x1b" not in result.stderr


def test_ctrl_c_is_130(run: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Context, "reading", interrupt)
    result = run("log", "@")
    assert result.exit_code == 130
    assert "Traceback" not in result.stderr


def test_a_reader_that_leaves_early_is_no_problem(tmp_path: Path) -> None:
    lines = "".join(
        json.dumps({"role": "user", "content": f"{n} {'x' * 500}"}) + "\n" for n in range(2000)
    )
    (tmp_path / "long.jsonl").write_text(lines)
    command = f"{sys.executable} -m ctxledger.cli log {tmp_path / 'long.jsonl'} -n 0 | head -n 2"
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_ledger_in_place_of_a_recording_is_named(run: Callable[..., object], db: Path) -> None:
    run("ingest", FIXTURE)
    result = run("log", db)
    assert result.exit_code == 2
    assert f"--db {db}" in result.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize(
    "command", [("log", "-n", "0"), ("window", "--full"), ("window", "--json")]
)
def test_any_encoding_of_the_terminal_will_do(
    tmp_path: Path, encoding: str, command: tuple[str, ...]
) -> None:
    line = json.dumps({"role": "user", "content": "\u00e9 \u4e2d\u6587 \U0001f468 \ud800 \u2028"})
    (tmp_path / "words.jsonl").write_text(line + "\n")
    name, *options = command
    ran = in_process_of_its_own(
        name,
        tmp_path / "words.jsonl",
        *options,
        environment={"PYTHONIOENCODING": encoding, "LC_ALL": "C"},
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    ran.stdout.decode(encoding)
    assert ("\u2588" in ran.stdout.decode(encoding)) == (
        encoding == "utf-8" and "--full" in command
    )


def test_every_command_is_a_command_of_its_name() -> None:
    for name in COMMANDS:
        found = cli.get_command(click.Context(cli), name)
        assert found is not None
        assert found.name == name
    assert program.COMMANDS.keys() == COMMANDS.keys()
