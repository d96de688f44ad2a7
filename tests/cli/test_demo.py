"""`ctxledger demo`: the whole story, the same each time, on a ledger of its own."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ctxledger.cli.context import Context
from ctxledger.cli.demo_data import recording
from ctxledger.cli.main import cli
from ctxledger.ledger.plaintext import cell_width

Run = Callable[..., Result]


def test_it_tells_the_story_at_80_columns(
    run: Run, tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    result = run("demo", width=80)
    assert result.exit_code == 0, result.stderr
    text = result.stdout.replace(str(tmp_path), "PLACE")
    lines = [line for line in text.splitlines() if "PLACE" not in line]
    assert all(cell_width(line) <= 80 for line in lines)
    golden("demo-80", text)


def test_the_commands_it_prints_work(run: Run, db: Path) -> None:
    printed = run("demo", width=80).stdout
    commands = [
        shlex.split(line) for line in re.findall(r"^\$ ctxledger (.*)$", printed, re.MULTILINE)
    ]
    assert [words[0] for words in commands] == [
        "ingest", "window", "diff", "blame", "rollback", "window", "verify",
    ]  # fmt: skip
    for words in commands[1:]:
        if words[0] == "rollback":
            words = ["rollback", "demo", "r1"]  # noqa: PLW2901 (c1 is undone already)
        assert run(*words).exit_code == 0, words
    assert db.exists()


def test_it_never_touches_a_ledger_that_is_there(run: Run, db: Path) -> None:
    assert run("demo").exit_code == 0
    before = db.read_bytes()
    again = run("demo")
    assert again.exit_code == 2
    assert "there already" in again.stderr
    assert db.read_bytes() == before


def test_without_a_name_it_makes_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine = {"CTXLEDGER_DB": str(tmp_path / "mine.db")}
    result = CliRunner(env=mine).invoke(cli, ["demo"], obj=Context())
    assert result.exit_code == 0, result.stderr
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("ctxledger-demo-")
    assert (folder / "demo.jsonl").read_bytes() == recording()
    assert oct((folder / "ledger.db").stat().st_mode)[-3:] == "600"


def test_it_is_for_people(run: Run, db: Path) -> None:
    assert run("demo", "--json").exit_code == 2
    assert not db.exists()
