"""One table feeds keys, palette, footer and help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Footer, OptionList
from textual.widgets._footer import FooterKey

from ctxledger.inspector.actions import ACTIONS, PLACE_NAMES, bindings
from ctxledger.inspector.app import InspectorApp
from ctxledger.inspector.lines import text_of
from ctxledger.inspector.screens.diff import DiffScreen
from ctxledger.inspector.screens.goto import GotoScreen
from ctxledger.inspector.screens.help import HelpScreen, help_lines
from ctxledger.inspector.screens.item import ItemScreen
from ctxledger.inspector.screens.ledger_screen import LedgerScreen
from ctxledger.inspector.screens.rollback import RollbackScreen
from ctxledger.inspector.screens.search import SearchScreen
from ctxledger.inspector.screens.session import SessionScreen
from ctxledger.inspector.screens.sessions import SessionsScreen
from ctxledger.inspector.widgets.line_list import LineList

OWNERS: dict[str, type] = {
    "app": InspectorApp,
    "list": LineList,
    "sessions": SessionsScreen,
    "session": SessionScreen,
    "item": ItemScreen,
    "diff": DiffScreen,
    "search": SearchScreen,
    "rollback": RollbackScreen,
    "goto": GotoScreen,
}
FOOTER_KEYS_MAX = 6
HABITS = {"j", "k", "g", "G", "slash", "n", "N", "question_mark", "q", "escape", "ctrl+p", "f1"}


def test_ids_are_unique_and_every_action_says_what_it_does() -> None:
    assert Counter(action.id for action in ACTIONS).most_common(1)[0][1] == 1
    assert all(action.description and action.tooltip and action.method for action in ACTIONS)
    assert {action.place for action in ACTIONS} == set(OWNERS) == set(PLACE_NAMES)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_exists_where_the_table_says(action: Any) -> None:
    owner = OWNERS[action.place]
    assert hasattr(owner, f"action_{action.method.partition('(')[0]}")
    assert action.id in {getattr(b, "id", None) for b in bindings(action.place)}
    if issubclass(owner, LedgerScreen):
        assert action.place == owner.PLACE


@pytest.mark.parametrize("place", PLACE_NAMES)
def test_no_key_has_two_meanings_at_a_place(place: Any) -> None:
    keys = Counter(binding.key for binding in bindings(place))
    assert [key for key, n in keys.items() if n > 1] == []


def test_the_keys_people_know_are_there() -> None:
    assert {key for action in ACTIONS for key in action.keys.split(",")} >= HABITS


@pytest.mark.parametrize("width", [20, 60, 140])
def test_the_help_names_every_action(width: int) -> None:
    shown = "\n".join(text_of(line) for line in help_lines(width))
    assert all(action.description in shown for action in ACTIONS)


def test_every_screen_has_few_keys_in_its_footer(story: Path, run: Callable[..., None]) -> None:
    counted: dict[str, int] = {}

    async def scenario(see: Any) -> None:
        async def count() -> None:
            footer = see.app.screen.query_one(Footer)
            await see.until(lambda: len(footer.query(FooterKey)) > 0)
            await see.settle()
            counted[see.screen] = len(footer.query(FooterKey))

        await count()
        see.app.open_session(1)
        await see.settle()
        await count()
        for key in ("d", "slash", "u", "question_mark"):
            await see.press(key)
            await count()
            await see.press("escape")
        see.app.push_screen(ItemScreen(1, "s", "4.0", 4))
        await see.settle()
        await count()

    run(story, scenario)
    screens = (SessionsScreen, SessionScreen, DiffScreen, SearchScreen, RollbackScreen, HelpScreen,
               ItemScreen)  # fmt: skip
    assert set(counted) == {screen.__name__ for screen in screens}
    assert all(0 < n <= FOOTER_KEYS_MAX for n in counted.values()), counted


def test_the_palette_offers_what_the_screen_can_do(story: Path, run: Callable[..., None]) -> None:
    async def scenario(see: Any) -> None:
        offered = {command.title for command in see.app.get_system_commands(see.app.screen)}
        here = [a for a in ACTIONS if a.is_in_palette and a.place in ("app", "session")]
        assert {action.description for action in here} <= offered
        assert "Write to file" in offered

    run(story, scenario, session="@")


def test_the_palette_runs_what_it_offers(story: Path, run: Callable[..., None]) -> None:
    async def scenario(see: Any) -> None:
        await see.pilot.press("ctrl+p", *"diff")
        options = see.app.screen.query_one(OptionList)
        await see.until(lambda: options.option_count == 1)
        await see.press("enter")
        await see.until(lambda: see.screen == "DiffScreen")

    run(story, scenario, session="@")
