"""`backup`, `restore`, `prune`, `doctor` as a person meets them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from ctxledger.ledger import Ledger

from .conftest import FIXTURES

Run = Callable[..., Result]


@pytest.fixture
def filled(run: Run, db: Path) -> Path:
    for name in ("claude-code-interrupts.jsonl", "anthropic-agent-loop.yaml"):
        assert run("ingest", FIXTURES / name, "--session", name[:6]).exit_code == 0
    return db


def test_a_ledger_is_backed_up_checked_lost_and_restored(
    run: Run, filled: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    head = run("head").stdout
    assert run("backup", copy).exit_code == 0
    assert "up to date" in run("backup", "--check", copy).stdout
    again = run("backup", copy)
    assert (again.exit_code, "already" in again.stderr) == (2, True)
    assert run("restore", copy).exit_code == 2, "a ledger is never overwritten"
    for path in tmp_path.glob("ledger.db*"):
        path.unlink()
    assert run("backup", "--check", copy).exit_code == 0, "also when there is no ledger any more"
    assert run("restore", copy).exit_code == 0
    assert run("head").stdout == head
    assert run("verify").exit_code == 0
    assert filled.stat().st_mode & 0o777 == 0o600


def test_a_backup_says_how_far_it_is_behind(run: Run, filled: Path, tmp_path: Path) -> None:
    assert filled.exists()
    copy = tmp_path / "copy.db"
    run("backup", copy)
    run("fork", "claude")
    assert "1 event behind this ledger" in run("backup", "--check", copy).stdout
    other = tmp_path / "other.db"
    with Ledger.open(other) as ledger:  # with chance of its own
        ledger.session("s")
    assert "another ledger" in run("backup", "--check", copy, "--db", other).stdout


def test_prune_does_nothing_unless_told_twice(run: Run, filled: Path, tmp_path: Path) -> None:
    os.utime(filled, (0, 0))  # k14-04: age means nothing
    before = run("sessions", "--json").stdout
    for arguments in ((), ("--caches",), ("--session", "claude"),
                      ("--session", "claude", "-o", tmp_path / "new.db")):  # fmt: skip
        result = run("prune", *arguments)
        assert result.exit_code == 0
        assert "Nothing was done" in result.stderr
    assert run("prune", "--session", "claude", "--yes").exit_code == 2
    assert not (tmp_path / "new.db").exists()
    assert run("sessions", "--json").stdout == before
    assert run("verify").exit_code == 0


def test_prune_writes_a_new_ledger_and_leaves_the_old_one(
    run: Run, filled: Path, tmp_path: Path
) -> None:
    new, head = tmp_path / "new.db", run("head").stdout
    result = run("prune", "--session", "claude", "-o", new, "--yes")
    assert result.exit_code == 0, result.stderr
    assert "it is your archive" in result.stderr
    assert run("head").stdout == head
    lines = run("sessions", "--json", "--db", new).stdout.splitlines()
    assert [json.loads(line)["session"] for line in lines] == ["anthro"]
    window = ("window", "anthro", "--json")
    assert run(*window, "--db", new).stdout == run(*window, "--db", filled).stdout
    again = run("ingest", FIXTURES / "anthropic-agent-loop.yaml", "--db", new, "--json")
    assert again.exit_code == 0
    assert run("verify", "--db", new).exit_code == 0
    assert run("fork", "claude").exit_code == 0
    refused = run("prune", "--session", "claude", "-o", tmp_path / "x.db", "--yes")
    assert (refused.exit_code, "goes on from it" in refused.stderr) == (4, True)
    assert not (tmp_path / "x.db").exists()


def test_caches_are_emptied_and_searching_fills_them_again(run: Run, filled: Path) -> None:
    hits = run("search", "the", "--json").stdout
    size = filled.stat().st_size
    assert run("prune", "--caches", "--yes").exit_code == 0
    assert filled.stat().st_size < size
    assert run("search", "the", "--json").stdout == hits
    assert run("verify").exit_code == 0


def test_doctor_tells_a_sound_ledger_from_an_open_one(run: Run, filled: Path) -> None:
    assert run("verify").exit_code == 0
    sound = run("doctor", "--json")
    assert sound.exit_code == 0, sound.stdout
    names = {check["name"] for check in json.loads(sound.stdout)["checks"]}
    assert names >= {"sqlite", "options", "file system", "mode", "wal", "open in", "free space",
                     "last backup", "last verified", "contents"}  # fmt: skip
    assert "never" not in next(
        c["value"] for c in json.loads(sound.stdout)["checks"] if c["name"] == "last verified"
    )
    filled.chmod(0o666)
    result = run("doctor")
    assert result.exit_code == 1
    assert f"chmod 600 {filled}" in result.stdout


def test_doctor_of_nothing(run: Run) -> None:
    result = run("doctor")
    assert (result.exit_code, "There is no ledger" in result.stdout) == (1, True)
