"""ingest of files: what is new, what is known, what cannot be read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
FIXTURE = Path(__file__).parents[1] / "fixtures" / "claude-code-interrupts.jsonl"
NAME = "8a2518dd-ff41-4d5f-83a1-407b03598cc6"
SESSION_KEYS = {
    "session",
    "format",
    "coverage",
    "records",
    "new_events",
    "messages",
    "calls",
    "compactions",
    "evictions",
    "quarantined",
    "version",
}


def line(number: int) -> bytes:
    return (
        json.dumps({"role": "user", "content": f"message {number}", "id": f"u{number}"}).encode()
        + b"\n"
    )


def test_the_report_has_the_keys_of_the_contract(run: Run) -> None:
    result = run("ingest", FIXTURE, "--json")
    report = json.loads(result.stdout)
    (session,) = report["sessions"]
    assert session.keys() == SESSION_KEYS
    assert (session["session"], session["version"], session["calls"]) == (NAME, 58, 11)
    assert report.keys() >= {
        "sessions",
        "source",
        "pending_bytes",
        "duplicates",
        "repaired",
        "warnings",
    }


def test_a_second_import_adds_nothing(run: Run) -> None:
    run("ingest", FIXTURE)
    again = run("ingest", FIXTURE)
    assert again.exit_code == 0
    assert "nothing new" in again.stderr
    assert json.loads(run("log", "@", "-n", 1, "--json").stdout)["version"] == 58


def test_again_is_a_new_source(run: Run) -> None:
    run("ingest", FIXTURE, "--session", "one")
    report = json.loads(run("ingest", FIXTURE, "--again", "--session", "two", "--json").stdout)
    assert report["sessions"][0]["new_events"] == 58


def test_records_that_cannot_be_read_are_named_and_the_rest_goes_on(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(line(1) + b"no json at all\n" + line(2) + b'{"role": "user", "cont')
    result = run("ingest", path)
    assert result.exit_code == 1
    assert f"byte {len(line(1))}, 15 bytes: not_json" in result.stderr
    assert "22 bytes at the end are a half record" in result.stderr
    quarantined = [
        json.loads(x) for x in run("log", "@", "--type", "quarantine", "--json").stdout.splitlines()
    ]
    assert [(q["offset"], q["length"], q["reason"]) for q in quarantined] == [
        (len(line(1)), 15, "not_json")
    ]
    assert "no json at all" in run("show", quarantined[0]["version"]).stdout
    assert run("log", path, "--json").exit_code == 0
    messages = run("log", "@", "--type", "message", "--json").stdout.splitlines()
    assert len(messages) == 2


def test_one_bad_file_of_many_stops_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    result = run("ingest", tmp_path / "empty.jsonl", tmp_path / "none.jsonl", FIXTURE)
    assert result.exit_code == 2
    assert "is empty" in result.stderr
    assert "none.jsonl" in result.stderr
    assert json.loads(run("log", "@", "-n", 1, "--json").stdout)["version"] == 58


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, "binary"),
        (b"Dear diary, nothing happened.\n" * 9, "none of the formats"),
        (
            b'{"timestamp": "t", "type": "session_meta", "payload": {}}\n',
            "not supported yet",
        ),
    ],
)
def test_what_cannot_be_read_is_said(run: Run, tmp_path: Path, contents: bytes, words: str) -> None:
    path = tmp_path / "input"
    path.write_bytes(contents)
    result = run("ingest", path)
    assert result.exit_code == 2
    assert words in result.stderr


def test_the_ledger_is_not_taken_for_a_recording(run: Run, db: Path) -> None:
    run("ingest", FIXTURE)
    result = run("ingest", db)
    assert result.exit_code == 2
    assert "is the ledger itself" in result.stderr


@pytest.mark.parametrize(
    "args", [("-", FIXTURE), ("--follow", FIXTURE, FIXTURE), ("--session", "x", FIXTURE, FIXTURE)]
)
def test_arguments_that_do_not_fit(run: Run, args: tuple[object, ...]) -> None:
    assert run("ingest", *args).exit_code == 2
