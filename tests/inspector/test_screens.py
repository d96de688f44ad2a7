"""Walking through the inspector as a person does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from ctxledger.inspector.widgets.line_list import LineList

Run = Callable[..., None]
HEAD = 18


def test_from_the_sessions_to_an_item_and_back(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        assert "Refactor auth" in see.text()
        await see.press("enter")
        assert see.screen == "SessionScreen"
        assert f"version {HEAD} of {HEAD}" in see.lines()[0]
        await see.press("left_square_bracket")
        assert "(c1)" in see.lines()[0]
        assert "Window at 14 (c1)" in see.text()
        assert "▾ Brief · 1 item" in see.text()
        await see.press("tab", "j", "enter")
        assert see.screen == "ItemScreen"
        assert "no file: recorded through the API" in see.text()
        await see.press("escape", "escape")
        assert see.screen == "SessionsScreen"
        await see.press("escape")
        assert see.screen == "SessionsScreen"

    run(story, scenario)


def test_moving_in_the_timeline_moves_the_window(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        await see.press("g")
        assert see.app.state.selected == 1
        assert "Nothing is in the window." in see.text()
        await see.press("j", "j", "j")
        assert see.app.state.selected == 4
        assert "Window at 4 " in see.text()
        assert "▾ System · 1 item" in see.text()
        await see.press("G", "k")
        assert see.app.state.selected == HEAD - 1

    run(story, scenario, session="refac")


def test_numbers_of_the_window_name_their_counter(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        words = see.text()
        assert "counted by tokenizer/" in words
        assert "exact: requests recorded" in words
        assert "unrecorded" in words
        assert "of 2,000" in words

    run(story, scenario, session="@", size=(160, 40))


def test_layers_fold(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        entries = see.app.screen.query_one("#entries", LineList)
        before = entries.count
        await see.press("tab", "enter")
        assert entries.count == before - 2
        assert "▸ Tools · 2 items" in see.text()
        await see.press("enter")
        assert entries.count == before

    run(story, scenario, session="@")


def test_the_difference_of_the_compaction_names_the_lost_rule(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        await see.press("left_square_bracket", "d")
        assert see.screen == "DiffScreen"
        words = see.text()
        assert "- Dropped" in words
        assert "rules · 1" in words
        assert "Never touch the production database." in words
        assert "version 13 → 14" in see.lines()[0]
        await see.press("j", "j", "enter")
        assert see.screen == "ItemScreen"
        assert "left at c1 (version 14)" in see.text()

    run(story, scenario, session="@")


def test_search_finds_what_left_and_n_goes_on(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        await see.press("slash")
        await see.type("rule database")
        assert "Nothing found" in see.text()
        await see.press(*["backspace"] * 13)
        await see.type("auth")
        assert "○ left at c1" in see.text()
        hits = see.app.state.hits
        assert len(hits) > 1
        await see.press("down", "enter")
        assert see.screen == "ItemScreen"
        await see.press("escape", "escape")
        assert see.screen == "SessionScreen"
        await see.press("g", "n")
        assert see.app.state.selected == hits[0]
        await see.press("n")
        assert see.app.state.selected == hits[1]
        await see.press("N")
        assert see.app.state.selected == hits[0]

    run(story, scenario, session="@")


def test_search_in_all_sessions_opens_the_session_of_the_hit(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        await see.press("slash")
        await see.type("production database")
        await see.press("enter", "enter")
        assert see.screen == "ItemScreen"
        assert (see.app.state.name, see.app.state.selected) == ("refactor-auth", 4)
        assert see.app.state.hits == (4,)

    run(story, scenario)


def test_going_to_a_reference(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        await see.press("ctrl+g")
        await see.type("c1^")
        await see.press("enter")
        assert see.app.state.selected == 13
        await see.press("ctrl+g")
        await see.type("c9")
        await see.press("enter")
        assert "There is no c9." in see.text()
        await see.press("escape")
        assert (see.screen, see.app.state.selected) == ("SessionScreen", 13)

    run(story, scenario, session="@")


def test_copying_gives_the_raw_text(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        await see.press("ctrl+g")
        await see.type("8")
        await see.press("enter", "y")
        assert see.app.clipboard == "def check(token):\n    return True\n" * 40
        assert "OSC 52" in see.text()

    run(story, scenario, session="@", size=(60, 24))


def test_writing_to_a_file(
    story: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def scenario(see: Any) -> None:
        await see.press("ctrl+g")
        await see.type("4")
        await see.press("enter", "enter", "w")
        written = (tmp_path / "refactor-auth-4.0.txt").read_text()
        assert written == "Refactor auth. Never touch the production database."
        await see.press("escape", "g", "w")
        assert "Nothing with a text is selected." in see.text()

    run(story, scenario, session="@")


def test_the_view_is_named(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        assert "as sent" in see.text()
        await see.press("v")
        assert "effective: after provider-side edits" in see.text()

    run(story, scenario, session="@")


def test_help_from_everywhere(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        for key in ("question_mark", "f1"):
            await see.press(key)
            assert see.screen == "HelpScreen"
            assert "Roll back" in see.text() or "Everywhere" in see.text()
            await see.press("escape")
        assert see.screen == "SessionScreen"

    run(story, scenario, session="@")


def test_typing_in_the_search_is_not_taken_for_keys(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        await see.press("slash")
        await see.pilot.press(*"q?jh")
        assert see.app.screen.query_one(Input).value == "q?jh"

    run(story, scenario, session="@")
