"""`redact` and `ingest --secrets`: what is said before, what is left after."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run

SECRET = "sk-ant-api03-" + "aB3dEf9_-x" * 9
LINES = (
    {"type": "session", "name": "work"},
    {"id": "u1", "role": "user", "content": f"use {SECRET} for it"},
    {"id": "u2", "role": "user", "content": "nothing else"},
)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "work.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), "utf-8")
    return path


def test_a_dry_run_tells_and_changes_nothing(run: Run, recording: Path) -> None:
    run("ingest", recording)
    told = run("redact", "--secrets", "--dry-run")
    assert told.exit_code == 0
    assert "1 anthropic in 1 content" in told.stdout
    assert "work: items 2.0" in told.stdout
    assert SECRET not in told.output
    assert SECRET in run("window", "@", "--full").stdout


def test_it_asks_and_says_first_that_nothing_brings_it_back(
    run: Run, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ingest", recording)
    refused = run("redact", "--secrets")
    assert (refused.exit_code, "--yes" in refused.stderr) == (2, True)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True)
    asked = run("redact", "--secrets", stdin="n\n")
    assert asked.exit_code == 1
    assert "cannot be undone" in asked.stderr
    assert "Nothing was changed" in asked.stderr
    monkeypatch.undo()
    assert SECRET in run("window", "@", "--full").stdout


def test_what_was_redacted_is_marked_and_verify_counts_it(run: Run, recording: Path) -> None:
    run("ingest", recording)
    done = run("redact", "--secrets", "--yes", "--reason", f"it leaked: {SECRET}")
    assert done.exit_code == 0
    assert "cannot be undone" in done.stdout
    assert "backups" in done.stderr
    shown = run("window", "@", "--full")
    assert "use [redacted:anthropic] for it" in shown.stdout
    assert "redacted" in run("window", "@", "--json").stdout
    checked = run("verify")
    assert checked.exit_code == 0
    assert f"Redacted: 1 content, {len(SECRET)} bytes of sources." in checked.stdout
    exported = run("export", "@", "--format", "original")
    assert f"{len(SECRET)} bytes were redacted, at byte" in exported.stderr
    listed = run("log", "@", "--type", "redaction")
    assert "contents removed: secrets; 1 anthropic" in listed.stdout
    again = run("ingest", recording)
    assert (again.exit_code, "was redacted" in again.stderr) == (0, True)
    for words in (shown, exported, listed, again, run("search", "sk"), run("stats", "@")):
        assert SECRET not in words.output


def test_nothing_found_is_exit_1(run: Run, recording: Path) -> None:
    run("ingest", recording)
    assert run("redact", "--text", "not there", "--yes").exit_code == 1


@pytest.mark.parametrize("words", [
    ["redact"], ["redact", "--secrets", "--text", "x"], ["redact", "--pattern", "("],
    ["redact", "--pattern", "a*"], ["redact", "--item", "99.0"], ["redact", "--text", ""],
    ["redact", "--finish", "--secrets"],
])  # fmt: skip
def test_what_cannot_be_meant_is_exit_2(run: Run, recording: Path, words: list[str]) -> None:
    run("ingest", recording)
    refused = run(*words)
    assert (refused.exit_code, refused.stderr.startswith("ctxledger: ")) == (2, True)


def test_json_says_what_was_done(run: Run, recording: Path) -> None:
    run("ingest", recording)
    done = json.loads(run("redact", "work", "--item", "3.0", "--yes", "--json").stdout)
    assert done["redacted"] is True
    assert done["kinds"] == {"item": 1}
    assert done["sessions"] == [{"session": "work", "items": ["3.0"]}]
    assert run("redact", "--finish").exit_code == 0


@pytest.mark.parametrize(
    ("mode", "words"), [("mark", "were found and stored"), ("redact", "were not stored")]
)
def test_ingest_says_what_it_found(
    run: Run, db: Path, recording: Path, mode: str, words: str
) -> None:
    told = run("ingest", recording, "--secrets", mode)
    assert told.exit_code == 0
    assert words in told.stderr
    assert "1 anthropic" in told.stderr
    assert (SECRET in run("window", "@", "--full").stdout) is (mode == "mark")
    assert SECRET not in told.output
    if mode == "redact":
        assert SECRET.encode() not in db.read_bytes()
