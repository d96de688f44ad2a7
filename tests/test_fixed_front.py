"""Tool definitions and system blocks stand in front, tools first, whatever is done to the rest."""

from __future__ import annotations

import pytest

from ctxledger.ledger.content import Block
from ctxledger.ledger.drafts import (
    CompleteCall,
    ImportCompaction,
    ReinjectItems,
    SetSystem,
    StartCall,
)

from .story import Story, open_ledger

SYSTEM = (
    Block(type="text", text="Be careful.", origin="system"),
    Block(type="text", text="Be brief.", origin="system"),
)
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("read", "write")]


@pytest.mark.parametrize("is_system_first", [True, False])
def test_tools_stand_before_system_whichever_came_first(is_system_first: bool) -> None:
    with open_ledger() as ledger:
        session = ledger.session("work")
        session.append({"role": "user", "content": "x"})
        if is_system_first:
            session.set_system("Be careful.")
        session.set_tools(TOOLS)
        session.set_system("Be quick.")
        session.set_tools(TOOLS[1:])
        assert [e.role for e in session.window().entries] == ["tools", "system", "user"]


def test_a_brief_of_a_system_block_stands_behind_the_others() -> None:
    story = Story(open_ledger())
    story.tell(SetSystem(session="story", blocks=SYSTEM))
    story.say("x")
    brief = Block(type="text", text="brief", origin="summary")
    story.tell(
        ImportCompaction(
            session="story", message="", role="user", blocks=(brief,), sources=("2.0",)
        )
    )
    shown = [entry.text for entry in story.session.window().entries]
    assert shown == ["Be brief.", "brief", "x"]


def test_a_system_block_comes_back_to_the_front() -> None:
    story = Story(open_ledger())
    story.tell(SetSystem(session="story", blocks=SYSTEM))
    item = story.say("x")
    story.evict("2.0")
    story.evict(item)
    story.tell(ReinjectItems(session="story", items=("3.0", "2.0")))
    shown = [entry.text for entry in story.session.window().entries]
    assert shown == ["Be brief.", "Be careful.", "x"]


def test_what_the_provider_drops_is_never_the_system() -> None:
    story = Story(open_ledger())
    story.tell(SetSystem(session="story", blocks=SYSTEM))
    story.say("old")
    story.say("new", message="new")
    story.tell(StartCall(session="story", call="k"))
    story.tell(CompleteCall(session="story", call="k", dropped_before="new"))
    seen = [entry.text for entry in story.session.window(view="effective").entries]
    assert seen == ["Be careful.", "Be brief.", "new"]
