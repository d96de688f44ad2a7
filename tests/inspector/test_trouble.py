"""Empty, damaged, foreign, small, colourless: the inspector says so and goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., None]
HEAD = 18


def test_an_empty_ledger_says_how_to_fill_it(empty: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        assert "ctxledger ingest FILE" in see.text()
        await see.press("enter", "j", "G", "slash")
        await see.type("x")

    run(empty, scenario)


def test_an_unknown_session_is_said_and_the_list_shown(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        assert see.screen == "SessionsScreen"
        assert "There is no session" in see.text()
        assert "Refactor auth" in see.text()

    run(story, scenario, session="zebra")


@pytest.mark.parametrize(
    "contents", [b"", b"not a database" * 100, b"SQLite format 3\x00" + b"x" * 99]
)
def test_what_is_no_ledger_is_explained(tmp_path: Path, run: Run, contents: bytes) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(contents)

    async def scenario(see: Any) -> None:
        assert see.screen == "ProblemScreen"
        assert "The ledger cannot be shown" in see.text()
        await see.press("question_mark", "escape", "f5", "escape")
        assert see.screen == "ProblemScreen"

    run(path, scenario, session="@")
    assert path.read_bytes() == contents


def test_a_missing_file_is_explained_and_not_made(tmp_path: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        assert "There is no ledger at" in see.text()

    run(tmp_path / "none.db", scenario)
    assert list(tmp_path.iterdir()) == []


def test_damage_is_shown_where_it_is(story: Path, run: Run) -> None:
    db = sqlite3.connect(story)
    db.execute("DROP TRIGGER events_no_update")
    db.execute("UPDATE events SET data = x'00ff' WHERE version = 8")
    db.commit()
    db.close()

    async def scenario(see: Any) -> None:
        assert "DAMAGED" in see.text()
        await see.press("ctrl+g")
        await see.type("4")
        await see.press("enter")
        assert "Window at 4 " in see.text()
        await see.press("G", "d", "escape", "u", "escape", "y")

    run(story, scenario, session="@")


def test_without_colour_the_selection_is_still_marked(
    story: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def scenario(see: Any) -> None:
        assert see.app.no_color
        (row,) = [line for line in see.lines() if line.startswith("▌")]
        assert "18 ←" in row

    run(story, scenario, session="@")


@pytest.mark.parametrize("size", [(20, 10), (40, 12), (80, 24), (116, 30), (200, 60)])
def test_every_size_shows_timeline_and_window(story: Path, run: Run, size: tuple[int, int]) -> None:
    async def scenario(see: Any) -> None:
        lines = see.lines()
        assert len(lines) == size[1]
        assert "Window at" in see.text()
        assert any(line.startswith("▌") for line in lines)
        if size[0] >= 80:
            assert "▾ Conversation" in see.text()
            assert "[brief] Summary" in see.text()

    run(story, scenario, session="@", size=size)
