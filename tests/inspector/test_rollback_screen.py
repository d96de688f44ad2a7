"""Rolling back in the inspector: shown first, asked, done once, undone again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ctxledger.ledger import Ledger

Run = Callable[..., None]
HEAD = 18


def head_of(path: Path) -> int:
    with Ledger.open(path, "read") as ledger:
        return ledger.find("@").version


def test_roll_back_shows_asks_does_and_can_be_undone(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        await see.press("left_square_bracket", "u")
        words = see.text()
        assert "Roll back: undo c1 (version 14)" in words
        assert "comes back: " in words
        assert "ctxledger rollback refactor-auth c1" in words
        assert "Append this roll-back?" in words
        await see.press("n")
        assert (see.screen, head_of(story)) == ("SessionScreen", HEAD)
        await see.press("u", "y")
        assert "Done: r1 at version 19." in see.text()
        assert "ctxledger rollback refactor-auth r1" in see.text()
        await see.press("y", "escape")
        assert head_of(story) == HEAD + 1
        assert see.app.state.selected == 14
        assert "(undone)" in see.text()
        await see.press("G", "u")
        assert "Roll back: undo r1 (version 19)" in see.text()

    run(story, scenario, session="@")


def test_restoring_names_the_version(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        await see.press("left_square_bracket", "k", "r")
        assert "Roll back: restore the window of version 13" in see.text()
        assert "--to 13" in see.text()

    run(story, scenario, session="@")


def test_a_read_only_inspector_shows_the_plan_and_refuses(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        await see.press("u")
        assert "undo c1 (version 14)" in see.text(), "the last compaction in force is named"
        assert "Read-only" in see.text()
        await see.press("y")
        assert head_of(story) == HEAD

    run(story, scenario, session="@", can_write=False)


def test_what_cannot_be_undone_is_explained(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        await see.press("u", "y", "n", "g", "u")
        assert "no compaction in force" in see.text()
        await see.press("y", "n")
        assert see.screen == "SessionScreen"

    run(story, scenario, session="@")


def test_a_roll_back_of_a_ledger_that_moved_on_is_refused(story: Path, run: Run) -> None:
    async def scenario(see: Any) -> None:
        await see.press("u")
        with Ledger.open(story) as ledger:
            ledger.find("@").append({"role": "user", "content": "meanwhile"})
        await see.press("y")
        assert "!" in see.text()
        assert "by hand" in see.text()
        assert head_of(story) == HEAD + 1
        await see.press("escape", "f5")
        assert see.app.state.head == HEAD + 1

    run(story, scenario, session="@")
