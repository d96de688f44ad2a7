"""`verify`, `head`, `rebuild`, `stats`, `inspect`: proof, caches, numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from ctxledger.cli.demo_data import recording as demo_recording
from ctxledger.cli.demo_data import write_recording
from ctxledger.ledger.storage.connection import Connection

Run = Callable[..., Result]


@pytest.fixture
def ingested(run: Run, tmp_path: Path) -> str:
    path = tmp_path / "demo.jsonl"
    write_recording(path)
    assert run("ingest", path, "--session", "demo").exit_code == 0
    return "demo"


def change(db: Path, statement: str) -> None:
    """Tamper with a ledger as somebody with a database shell would."""
    connection = Connection(str(db), "write")
    with connection.transaction():
        for trigger in ("events_no_update", "events_no_delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        connection.execute(statement)
    connection.close()


def test_an_untouched_ledger_verifies(run: Run, ingested: str, tmp_path: Path) -> None:
    saved = tmp_path / "saved.head"
    saved.write_text(run("head").stdout, "utf-8")
    assert run("rollback", ingested).exit_code == 0
    result = run("verify", "--since", saved)
    assert result.exit_code == 0, result.stdout
    assert result.stdout.startswith("ok: 331 events")
    assert "nothing was cut off" in result.stdout
    found = json.loads(run("verify", "--json").stdout)
    assert found == {"ok": True, "events": 331, "problems": []}


@pytest.mark.usefixtures("ingested")
def test_a_changed_event_is_found(run: Run, db: Path) -> None:
    assert run("verify").exit_code == 0
    change(db, "UPDATE events SET actor = 'somebody' WHERE version = 7")
    result = run("verify", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert not found["ok"]
    assert {"session", "version", "problem"} == set(found["problems"][0])
    text = run("verify").stdout
    assert "problems found" in text


@pytest.mark.usefixtures("ingested")
def test_a_cut_end_needs_a_saved_head(run: Run, db: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.head"
    saved.write_text(run("head").stdout, "utf-8")
    size = json.loads(run("head", "--json").stdout)["size"]
    change(db, f"DELETE FROM events WHERE position = {size}")
    assert run("verify", "--since", saved).exit_code == 1


@pytest.mark.parametrize("text", ["", "nonsense", "a\nb\nc\n"])
@pytest.mark.usefixtures("ingested")
def test_a_head_that_is_none_is_refused(run: Run, tmp_path: Path, text: str) -> None:
    saved = tmp_path / "saved.head"
    saved.write_text(text, "utf-8")
    assert run("verify", "--since", saved).exit_code == 2
    assert run("verify", "--since", tmp_path / "missing").exit_code == 2


@pytest.mark.usefixtures("ingested")
def test_a_head_is_three_lines(run: Run) -> None:
    origin, size, digest = run("head").stdout.splitlines()
    assert json.loads(run("head", "--json").stdout) == {
        "origin": origin, "size": int(size), "hash": digest,
    }  # fmt: skip


def test_rebuild_changes_no_window(run: Run, ingested: str) -> None:
    before = [run("window", ingested, "--at", at, "--json").stdout for at in ("c1^", "head")]
    result = run("rebuild")
    assert result.exit_code == 0, result.stderr
    assert "330 events" in result.stdout
    assert before == [
        run("window", ingested, "--at", at, "--json").stdout for at in ("c1^", "head")
    ]
    assert run("verify").exit_code == 0


@pytest.mark.parametrize("command", ["verify", "head", "rebuild", "stats"])
def test_without_a_ledger_there_is_one_line(run: Run, command: str, db: Path) -> None:
    result = run(command)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("ctxledger: ")
    assert not db.exists()


def test_numbers_of_a_session(run: Run, ingested: str) -> None:
    found = json.loads(run("stats", ingested, "--json").stdout)
    assert found["calls"] == 50
    assert found["tokens"]["cache_read"] == 4_251_079
    assert found["context_tokens_max"] == 173_215
    assert (found["compactions"], found["compactions_undone"]) == (1, 0)
    early = json.loads(run("stats", ingested, "--at", "c1^", "--json").stdout)
    assert (early["compactions"], early["calls"] < 50) == (0, True)
    text = run("stats", ingested, width=80).stdout
    assert "4,251,079" in text
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.usefixtures("ingested")
def test_numbers_of_the_ledger(run: Run) -> None:
    found = json.loads(run("stats", "--json").stdout)
    assert found["events"] == 330
    assert found["source_bytes"] == len(demo_recording())
    assert found["disk_bytes"] > found["source_stored_bytes"]
    text = run("stats", width=80).stdout
    assert "bytes on disk" in text
    assert all(len(line) <= 80 for line in text.splitlines()[1:])


def test_the_inspector_needs_a_terminal(run: Run, ingested: str) -> None:
    result = run("inspect", ingested)
    assert result.exit_code == 2
    assert "needs a terminal" in result.stderr
