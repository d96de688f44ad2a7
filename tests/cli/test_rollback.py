"""`ctxledger rollback`: sizes first, one event, everything later kept, and the way back."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from ctxledger.cli.demo_data import write_recording
from ctxledger.ledger import Ledger
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.render.anthropic_rules import check_request

Run = Callable[..., Result]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "demo.jsonl"
    write_recording(path)
    return path


@pytest.fixture
def ingested(run: Run, recording: Path) -> str:
    assert run("ingest", recording, "--session", "demo").exit_code == 0
    return "demo"


def one_object(result: Result, exit_code: int = 0) -> dict[str, Any]:
    assert result.exit_code == exit_code, result.stderr
    return dict(json.loads(result.stdout))


def entries(db: Path, at: str) -> list[str]:
    with Ledger.open(db, "read") as ledger:
        return [entry.key for entry in ledger.find("demo").structure(at).entries]


def test_a_real_compaction_is_undone(run: Run, ingested: str, db: Path) -> None:
    lost, later = set(entries(db, "c1^")), set(entries(db, "head")) - set(entries(db, "c1"))
    done = one_object(run("rollback", ingested, "c1", "--json"))
    assert set(done["restored"]) == lost
    assert (done["undid"], done["removed"], done["handle"]) == (["c1"], ["249.0"], "r1")
    assert done["tokens_after"] > done["tokens_before"] > 0
    now = entries(db, "head")
    assert lost | later <= set(now)
    assert "249.0" not in now
    with Ledger.open(db, "read") as ledger:
        session = ledger.find(ingested)
        assert check_request(session.render().body) == ()
        assert session.version == done["version"]
        assert sum(e.tokens for e in session.window().entries) == done["tokens_after"]
        assert verify(ledger.store).ok


def test_the_printed_command_takes_it_back(run: Run, ingested: str, db: Path) -> None:
    before = entries(db, "head")
    done = run("rollback", ingested, "c1", width=80)
    assert done.exit_code == 0
    (line,) = (li for li in done.stdout.splitlines() if li.startswith("Undo it with: "))
    program, *words = shlex.split(line.removeprefix("Undo it with: "))
    assert (program, words[:3]) == ("ctxledger", ["rollback", "demo", "r1"])
    assert run(*words).exit_code == 0
    assert entries(db, "head") == before


def test_a_dry_run_writes_nothing(run: Run, ingested: str) -> None:
    head = run("head").stdout
    shown = run("rollback", ingested, "c1", "--dry-run", width=80)
    assert shown.exit_code == 0
    assert "comes back: 172 items" in shown.stdout
    plan = one_object(run("rollback", ingested, "c1", "--dry-run", "--json"))
    assert plan["version"] is None
    assert len(plan["restored"]) == 172
    assert run("head").stdout == head


def test_a_file_is_only_looked_at(run: Run, recording: Path, db: Path) -> None:
    assert len(one_object(run("rollback", recording, "--dry-run", "--json"))["restored"]) == 172
    refused = run("rollback", recording, "c1")
    assert refused.exit_code == 2
    assert "ctxledger ingest" in refused.stderr
    assert not db.exists()


def test_a_version_is_restored_and_what_came_later_leaves(
    run: Run, ingested: str, db: Path
) -> None:
    then, now = entries(db, "c1^"), entries(db, "head")
    done = one_object(run("rollback", ingested, "--to", "c1^", "--json", "--reason", "start over"))
    assert entries(db, "head") == then
    assert done["removed"] == [key for key in now if key not in then]


@pytest.mark.parametrize(
    ("limit", "exit_code"), [(150_000, 1), (300_000, 0)], ids=["over", "within"]
)
def test_the_limit_decides_the_exit_code(run: Run, db: Path, limit: int, exit_code: int) -> None:
    with Ledger.open(db) as ledger:
        session = ledger.session("demo", limit_tokens=limit)
        session.append({"role": "user", "content": "word " * 200_000})
        session.append({"role": "user", "content": "go on"})
        session.rollback(to="head^")
        session.rollback(to="1")
    done = run("rollback", "demo", "r2", "--json")
    found = one_object(done, exit_code)
    assert (found["limit"], found["is_over"]) == (limit, bool(exit_code))


def test_what_is_undone_already_names_the_roll_back(run: Run, ingested: str) -> None:
    assert run("rollback", ingested, "c1").exit_code == 0
    again = run("rollback", ingested, "c1")
    assert again.exit_code == 2
    assert "c1 is undone already, by r1." in again.stderr
    assert run(*shlex.split(again.stderr.split("`")[1])[1:]).exit_code == 0


def test_a_handle_that_is_not_there_names_the_session(run: Run, ingested: str) -> None:
    assert "Session demo has c1." in run("rollback", ingested, "c9").stderr
    assert "Session demo has no eviction." in run("window", "--at", "e1").stderr


def test_nothing_to_undo_is_said(run: Run, ingested: str) -> None:
    assert run("rollback", ingested).exit_code == 0
    again = run("rollback", ingested)
    assert again.exit_code == 2
    assert "no compaction in force" in again.stderr
    twice = run("rollback", ingested, "c1")
    assert twice.exit_code == 2
    assert run("rollback", ingested, "c7").exit_code == 2


def test_an_undo_that_changes_nothing_is_refused(run: Run, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"id": "a", "role": "user", "content": "one"},
        {"type": "evict", "items": ["a/0"], "placeholder": "[gone]"},
        {"type": "compact", "sources": ["a/0"], "brief": "short"},
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert run("ingest", path).exit_code == 0
    refused = run("rollback", "s", "e1")
    assert refused.exit_code == 2
    assert "change nothing" in refused.stderr


def test_hostile_text_cannot_act(run: Run, tmp_path: Path, hostile_text: str) -> None:
    path = tmp_path / "s.jsonl"
    lines: list[dict[str, Any]] = [
        {"role": "user", "content": "hello"},
        {"id": "a", "role": "user", "content": f"{hostile_text}."},
        {"type": "compact", "sources": ["a/0"], "brief": f"{hostile_text}!"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    result = run("rollback", path, "--dry-run", width=80)
    assert result.exit_code == 0, result.stderr
    assert not set(result.stdout) & {"\x1b", "\x07", "\x9b", "\u202e", "\x00", "\r"}
