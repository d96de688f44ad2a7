"""Finding what agents recorded on this machine: the newest is shown, all are listed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from ctxledger.ledger.plaintext import cell_width, plain
from ctxledger.ledger.record import places as finder

Run = Callable[..., Result]
FIXTURE = Path(__file__).parents[1] / "fixtures" / "claude-code-interrupts.jsonl"
HOUR_S = 3600
NOW_S = 1_790_000_000


def transcript(path: Path, *texts: str, cwd: str = "/src/app", age_h: float = 1) -> Path:
    """A small Claude Code transcript."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = [{"type": "file-history-snapshot", "snapshot": {}}]
    parent = None
    for number, text in enumerate(texts):
        uuid = f"{path.stem}-{number}"
        lines.append(
            {"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": path.stem,
             "cwd": cwd, "gitBranch": "main", "timestamp": "2026-01-01T00:00:00Z",
             "message": {"role": "user", "content": text}}
        )  # fmt: skip
        parent = uuid
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    aged(path, age_h)
    return path


def aged(path: Path, hours: float) -> None:
    at = NOW_S - hours * HOUR_S
    os.utime(path, (at, at))


@pytest.fixture
def agents(home: Path) -> dict[str, Path]:
    """Two projects of Claude Code, a subagent, empty and odd files, and a newer Codex rollout."""
    projects = home / ".claude" / "projects"
    found = {
        "old": transcript(projects / "-src-app" / "old.jsonl", "first words", age_h=50),
        "new": transcript(projects / "-src-web" / "new.jsonl", "hello web", cwd="/src/web"),
        "agent": transcript(projects / "-src-web" / "agent-7.jsonl", "sub", age_h=0.5),
        "bare": transcript(projects / "-src-web" / "bare.jsonl", age_h=0.4),
        "codex": home / ".codex" / "sessions" / "2026" / "01" / "02" / "rollout-x.jsonl",
    }
    (projects / "-src-web" / "empty.jsonl").touch()
    (projects / "-src-web" / "loop.jsonl").symlink_to(projects / "nowhere.jsonl")
    os.mkfifo(projects / "-src-web" / "pipe.jsonl")
    found["codex"].parent.mkdir(parents=True)
    payload = {"id": "x", "cwd": "/src/web"}
    lines = [{"type": "session_meta", "payload": payload}, {"type": "response_item", "payload": {}}]
    found["codex"].write_text("".join(json.dumps(line) + "\n" for line in lines))
    aged(found["codex"], 0.1)
    return found


def listed(run: Run, *options: str) -> list[str]:
    result = run("sessions", "--found", "--json", *options)
    assert (result.exit_code, result.stderr) == (0, "")
    return [Path(json.loads(line)["file"]).stem for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    "command",
    [("log",), ("window",), ("show", "head"), ("diff",), ("blame", "--text", "hello web"),
     ("log", "--json"), ("window", "--at", "2"), ("export", "--format", "events"), ("stats",)],
)  # fmt: skip
def test_without_a_ledger_the_newest_recording_is_shown_and_named(
    run: Run, agents: dict[str, Path], command: tuple[str, ...]
) -> None:
    result = run(*command)
    assert result.exit_code == 0, result.stderr
    assert str(agents["new"]) in result.stderr
    assert "has no sessions yet" in result.stderr
    named = run(*command[:1], agents["new"], *command[1:])
    assert result.stdout == named.stdout


def test_search_looks_in_it_too(run: Run, agents: dict[str, Path]) -> None:
    result = run("search", "hello", "--json")
    assert (result.exit_code, json.loads(result.stdout)["session"]) == (0, "new")
    assert str(agents["new"]) in result.stderr


def test_an_empty_ledger_is_the_same_as_none(run: Run, db: Path, agents: dict[str, Path]) -> None:
    db.touch()
    assert str(agents["new"]) in run("log").stderr
    db.unlink()
    assert run("ingest", agents["old"]).exit_code == 0
    assert run("log").stderr == ""
    assert run("window", "--json").stdout == run("window", "@", "--json").stdout


def test_only_an_argument_left_out_means_what_was_found(run: Run, agents: dict[str, Path]) -> None:
    for arguments in (("log", "@"), ("log", "new"), ("diff", "new", "c1")):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert str(agents["new"]) not in result.stderr


def test_what_can_only_be_read_is_not_changed(run: Run, agents: dict[str, Path]) -> None:
    result = run("rollback", "--yes")
    assert result.exit_code == 2
    assert f"ctxledger ingest {agents['new']}" in result.stderr


def test_the_way_back_begins_with_taking_the_file_in(run: Run, home: Path) -> None:
    from ctxledger.cli.demo_data import write_recording

    path = home / ".claude" / "projects" / "-x" / "demo.jsonl"
    path.parent.mkdir(parents=True)
    write_recording(path)
    story = json.loads(run("blame", "36.0", "--json").stdout)
    assert story["put_back"].startswith(f"ctxledger ingest {path}")
    undo = json.loads(run("report", "c1", "--json").stdout)["undo"]
    assert undo["commands"][0] == "ctxledger ingest demo.jsonl"


def test_a_damaged_ledger_is_said_and_nothing_else_shown(
    run: Run, db: Path, agents: dict[str, Path]
) -> None:
    db.write_bytes(b"no ledger, but some text")
    result = run("log")
    assert (result.exit_code, result.stdout) == (3, "")
    assert str(agents["new"]) not in result.stderr


def test_recordings_that_cannot_be_read_are_named(run: Run, agents: dict[str, Path]) -> None:
    shutil.rmtree(agents["new"].parents[1])
    result = run("log")
    assert result.exit_code == 2
    assert f"{agents['codex']}, but codex cannot be read yet" in result.stderr
    assert "There is no ledger" in result.stderr


def test_all_are_listed_the_newest_last(run: Run, agents: dict[str, Path]) -> None:
    assert listed(run) == ["old", "new", "rollout-x"]
    first = json.loads(run("sessions", "--found", "--json").stdout.splitlines()[0])
    assert first == {
        "file": str(agents["old"]), "format": "claude-code", "is_readable": True,
        "session": "old", "title": "first words", "cwd": "/src/app", "branch": "main",
        "bytes": agents["old"].stat().st_size, "updated_at": first["updated_at"],
    }  # fmt: skip
    result = run("sessions", "--found")
    assert [str(agents[name]) in result.stdout for name in ("old", "new", "codex")] == [True] * 3
    assert "1 recording here cannot be read yet" in result.stderr


def test_they_are_chosen_by_folder_and_time(
    run: Run, agents: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert listed(run, "--cwd", "/src/app") == ["old"]
    assert listed(run, "--cwd", "/src") == ["old", "new", "rollout-x"]
    assert listed(run, "--since", "2026-09-21T00:00") == ["new", "rollout-x"]
    monkeypatch.chdir(tmp_path)
    assert listed(run, "--cwd") == []
    transcript(agents["old"].with_name("here.jsonl"), "x", cwd=str(tmp_path))
    assert listed(run, "--cwd") == ["here"]
    assert "were found that fit" in run("sessions", "--found", "--cwd", "/nowhere").stderr


@pytest.mark.usefixtures("agents")
def test_the_environment_names_other_homes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript(tmp_path / "claude" / "projects" / "p" / "mine.jsonl", "x")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    assert listed(run) == ["mine"]


def test_the_table_fits_and_hostile_titles_cannot_act(
    run: Run, home: Path, hostile_text: str
) -> None:
    transcript(home / ".claude" / "projects" / "p" / "h.jsonl", f"x {hostile_text}", cwd="/\x1b[2J")
    result = run("sessions", "--found", width=80)
    assert result.exit_code == 0, result.stderr
    assert plain(result.stdout) == result.stdout
    assert cell_width(result.stdout.splitlines()[0]) <= 80


def test_a_given_title_wins_and_little_is_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = transcript(
        home / ".claude" / "projects" / "p" / "big.jsonl", "prompt", *["x" * 999] * 300
    )
    with path.open("a") as file:
        file.write(json.dumps({"type": "summary", "summary": "Renaming\nfields"}) + "\n")
    (recording,) = finder.recordings(finder.places({}, home))
    read: list[int] = []
    opened = Path.open

    def counting(self: Path, *arguments: Any) -> Any:
        file = opened(self, *arguments)
        original = file.read

        class Counting:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def seek(self, at: int) -> None:
                file.seek(at)

            def read(self, size: int) -> bytes:
                data = original(size)
                read.append(len(data))
                return bytes(data)

        return Counting()

    monkeypatch.setattr(Path, "open", counting)
    outline = finder.outline(recording)
    assert outline is not None
    assert outline.title == "Renaming fields"
    assert recording.bytes > 300_000
    assert sum(read) <= finder.HEAD_BYTES + finder.TAIL_BYTES


def test_a_slash_command_is_a_title_other_tags_are_not(home: Path) -> None:
    command = "<command-name>/review</command-name><command-args>PR 7</command-args>"
    folder = home / ".claude" / "projects" / "p"
    transcript(folder / "a.jsonl", "<local-command-stdout>x</local-command-stdout>", command, "hi")
    transcript(folder / "b.jsonl", "<reminder>x</reminder>", "hi", age_h=2)
    found = [finder.outline(one) for one in finder.recordings(finder.places({}, home))]
    assert [one.title for one in found if one is not None] == ["/review PR 7", "hi"]


def test_a_first_line_longer_than_what_is_read_is_still_a_conversation(home: Path) -> None:
    path = transcript(home / ".claude" / "projects" / "p" / "l.jsonl", "y" * 200_000)
    (recording,) = finder.recordings(finder.places({}, home))
    assert recording.path == path
    assert finder.newest([recording]) == recording
    outline = finder.outline(recording)
    assert outline is not None
    assert outline.folder == "/src/app"


def test_a_real_transcript_is_outlined(home: Path) -> None:
    path = home / ".claude" / "projects" / "p" / FIXTURE.name
    path.parent.mkdir(parents=True)
    shutil.copyfile(FIXTURE, path)
    (recording,) = finder.recordings(finder.places({}, home))
    outline = finder.outline(recording)
    assert outline is not None
    assert outline.folder.startswith("/")
    assert outline.branch
    assert outline.title
