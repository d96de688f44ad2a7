"""Ledgers to look at, made with a fixed clock, and an app that is run without a terminal."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from ctxledger.inspector.app import InspectorApp
from ctxledger.inspector.screens import search as search_screen
from ctxledger.inspector.screens import session as session_screen
from ctxledger.ledger import Ledger
from ctxledger.ledger.content import Block, block_from, tool_from
from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    CompleteCall,
    EvictResults,
    ImportCompaction,
    OpenSession,
    SetSystem,
    SetTools,
    StartCall,
    Usage,
)

START_MS = 1_764_511_200_000
"""2025-11-30 14:00:00 UTC."""
NAME = "refactor-auth"
RULE = "Never touch the production database."


def text(words: str, origin: Any = "assistant") -> Block:
    return block_from({"type": "text", "text": words}, origin)


def call(tool_id: str, name: str, **arguments: str) -> Block:
    raw = {"type": "tool_use", "id": tool_id, "name": name, "input": arguments}
    return block_from(raw, "assistant")


def result(tool_id: str, words: str, *, is_error: bool = False) -> Block:
    raw = {"type": "tool_result", "tool_use_id": tool_id, "content": words}
    return block_from({**raw, "is_error": True} if is_error else raw, "tool")


def message(role: str, *blocks: Block, name: str = "") -> AppendMessage:
    return AppendMessage(session=NAME, role=role, blocks=blocks, message=name)


def step(number: int, tool_id: str, *answer: Block) -> list[AnyDraft]:
    """A model call with its answer and what the provider reported."""
    used = Usage(input_tokens=1_200 * number, cache_read_tokens=800, output_tokens=90)
    return [
        StartCall(session=NAME, call=f"req{number}", model="claude-sonnet-4-5"),
        message("assistant", *answer, name=f"a{tool_id}"),
        CompleteCall(session=NAME, call=f"req{number}", stop_reason="tool_use", usage=used),
    ]


def story_drafts(*, folder: str = "/home/ada/shop") -> list[AnyDraft]:
    """A small session: a rule, two tools, a failure, an eviction, a compaction, one more turn."""
    brief = text(
        "Summary: auth was read, tests were run once. Next: fix the token check.", "summary"
    )
    return [
        OpenSession(session=NAME, format="native", title="Refactor auth", coverage="exact",
                    model="claude-sonnet-4-5", limit_tokens=2_000, folder=folder),
        SetSystem(session=NAME, blocks=(text("You are a careful engineer.", "system"),)),
        SetTools(session=NAME, tools=(tool_from({"name": "Bash", "description": "Run a command."}),
                                      tool_from({"name": "Read", "description": "Read a file."}))),
        message("user", text(f"Refactor auth. {RULE}", "human"), name="u1"),
        *step(1, "t1", text("I read it first."), call("t1", "Read", file_path="auth/token.py")),
        message("user", result("t1", "def check(token):\n    return True\n" * 40), name="r1"),
        *step(2, "t2", call("t2", "Bash", command="pytest -q tests/auth")),
        message("user", result("t2", "2 failed, 3 passed", is_error=True), name="r2"),
        EvictResults(session=NAME, tool_ids=("t1",), placeholder="[file content cleared]",
                     reason="old result"),
        ImportCompaction(session=NAME, message="s1", role="user", blocks=(brief,), keep=("r2",),
                         trigger="auto", tokens_before=1_900, tokens_after=400),
        message("user", text("Go on, and mind the rule.", "human"), name="u2"),
        *step(3, "t3", call("t3", "Bash", command="psql production -c 'drop table users'")),
    ]  # fmt: skip


def write_ledger(path: Path, drafts: list[AnyDraft]) -> Path:
    chance = random.Random(7)
    ticks = iter(range(START_MS * 1000, START_MS * 1000 + 10**12, 1_000_000))
    with Ledger.open(path, clock_us=lambda: next(ticks), entropy=chance.randbytes) as ledger:
        for place, draft in enumerate(drafts):
            stamped = type(draft)(**{**as_dict(draft), "at_ms": START_MS + place * 1000})
            with ledger.store.transaction():
                ledger.writer.write(stamped)
    return path


def as_dict(draft: AnyDraft) -> dict[str, Any]:
    return {name: getattr(draft, name) for name in draft.__struct_fields__}


@pytest.fixture(autouse=True)
def _nothing_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Screens read at once instead of waiting until typing and moving have rested."""
    monkeypatch.setattr(session_screen, "SETTLE_S", 0)
    monkeypatch.setattr(search_screen, "SETTLE_S", 0)


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A ledger with one session, `refactor-auth`."""
    return write_ledger(tmp_path / "story.db", story_drafts())


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[list[AnyDraft]], Path]:
    """Write a ledger from drafts."""
    return lambda drafts: write_ledger(tmp_path / "fresh.db", drafts)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A ledger without sessions."""
    return write_ledger(tmp_path / "empty.db", [])


class Viewer:
    """An app that runs, with hands and eyes."""

    def __init__(self, pilot: Any, app: InspectorApp) -> None:
        self.pilot = pilot
        self.app = app

    async def settle(self) -> None:
        """Wait until everything that was asked for is shown."""
        for _ in range(3):
            await self.pilot.pause(0)
            await self.app.workers.wait_for_complete()
        await self.pilot.pause(0)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for something that Textual does in its own time."""
        for _ in range(200):
            if is_so():
                return
            await self.pilot.pause(0.01)
        raise AssertionError("it never happened")

    async def press(self, *keys: str) -> None:
        """Press keys, each when the one before has had its effect."""
        for key in keys:
            self.app.simulate_key(key)
            await self.settle()

    async def type(self, words: str) -> None:
        """Type into what has the focus."""
        field = self.app.screen.query_one(Input)
        field.insert_text_at_cursor(words)
        await self.settle()

    @property
    def screen(self) -> str:
        """The name of the screen on top."""
        return type(self.app.screen).__name__

    def lines(self) -> list[str]:
        """The lines of the screen as a terminal gets them."""
        strips = self.app.screen._compositor.render_strips(self.app.size)
        return ["".join(segment.text for segment in strip) for strip in strips]

    def text(self) -> str:
        """The same in one piece."""
        return "\n".join(self.lines())


@pytest.fixture
def run() -> Callable[..., None]:
    """Run an app: `run(path, scenario, size=(120, 36), session="", can_write=True)`."""

    def go(
        path: Path | str,
        scenario: Callable[[Viewer], Coroutine[Any, Any, None]],
        *,
        size: tuple[int, int] = (120, 36),
        session: str = "",
        **options: Any,
    ) -> None:
        async def main() -> None:
            app = InspectorApp(str(path), session, **options)
            async with app.run_test(size=size, notifications=True) as pilot:
                viewer = Viewer(pilot, app)
                await viewer.settle()
                await scenario(viewer)

        asyncio.run(main())

    return go
