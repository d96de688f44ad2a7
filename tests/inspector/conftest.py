"""Ledgers to look at, made with a fixed clock, and an app that is run without a terminal."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxledger.inspector.app import InspectorApp
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
Scenario = Callable[[Any, InspectorApp], Coroutine[Any, Any, None]]


def text(words: str, origin: Any = "assistant") -> Block:
    return block_from({"type": "text", "text": words}, origin)


def call(tool_id: str, name: str, **arguments: str) -> Block:
    raw = {"type": "tool_use", "id": tool_id, "name": name, "input": arguments}
    return block_from(raw, "assistant")


def result(tool_id: str, words: str, *, is_error: bool = False) -> Block:
    raw = {"type": "tool_result", "tool_use_id": tool_id, "content": words}
    return block_from({**raw, "is_error": True} if is_error else raw, "tool")


def message(role: str, *blocks: Block, id: str = "") -> AppendMessage:
    return AppendMessage(session=NAME, role=role, blocks=blocks, message=id)


def step(number: int, tool_id: str, *answer: Block) -> list[AnyDraft]:
    """A model call with its answer and what the provider reported."""
    used = Usage(input_tokens=1_200 * number, cache_read_tokens=800, output_tokens=90)
    return [
        StartCall(session=NAME, call=f"req{number}", model="claude-sonnet-4-5"),
        message("assistant", *answer, id=f"a{tool_id}"),
        CompleteCall(session=NAME, call=f"req{number}", stop_reason="tool_use", usage=used),
    ]


def story_drafts(*, folder: str = "/home/ada/shop") -> list[AnyDraft]:
    """A small session: a rule, two tools, a failure, an eviction, a compaction, one more turn."""
    brief = text("Summary: auth was read, tests were run once. Next: fix the token check.", "summary")
    return [
        OpenSession(session=NAME, format="native", title="Refactor auth", coverage="exact",
                    model="claude-sonnet-4-5", limit_tokens=2_000, folder=folder),
        SetSystem(session=NAME, blocks=(text("You are a careful engineer.", "system"),)),
        SetTools(session=NAME, tools=(tool_from({"name": "Bash", "description": "Run a command."}),
                                      tool_from({"name": "Read", "description": "Read a file."}))),
        message("user", text(f"Refactor auth. {RULE}", "human"), id="u1"),
        *step(1, "t1", text("I read it first."), call("t1", "Read", file_path="auth/token.py")),
        message("user", result("t1", "def check(token):\n    return True\n" * 40), id="r1"),
        *step(2, "t2", call("t2", "Bash", command="pytest -q tests/auth")),
        message("user", result("t2", "2 failed, 3 passed", is_error=True), id="r2"),
        EvictResults(session=NAME, tool_ids=("t1",), placeholder="[file content cleared]",
                     reason="old result"),
        ImportCompaction(session=NAME, message="s1", role="user", blocks=(brief,), keep=("r2",),
                         trigger="auto", tokens_before=1_900, tokens_after=400),
        message("user", text("Go on, and mind the rule.", "human"), id="u2"),
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


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A ledger with one session, `refactor-auth`."""
    return write_ledger(tmp_path / "story.db", story_drafts())


@pytest.fixture
def hostile(tmp_path: Path, hostile_text: str) -> Path:
    """A ledger whose every text is hostile, titles and folders too."""
    evil = hostile_text
    drafts: list[AnyDraft] = [
        OpenSession(session=NAME, format="native", title=evil[:200], folder=evil[:200]),
        SetSystem(session=NAME, blocks=(text(evil, "system"),)),
        message("user", text(evil, "human"), id="u1"),
        message("assistant", text(evil), call("t1", "Bash", command=evil), id="a1"),
        message("user", result("t1", evil, is_error=True), id="r1"),
        ImportCompaction(session=NAME, message="s1", role="user", blocks=(text(evil, "summary"),)),
        message("user", text(f"{evil} needle", "human"), id="u2"),
    ]
    return write_ledger(tmp_path / "hostile.db", drafts)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A ledger without sessions."""
    return write_ledger(tmp_path / "empty.db", [])


async def settle(pilot: Any, app: InspectorApp) -> None:
    """Wait until everything that was asked for is shown."""
    await pilot.pause()
    await app.workers.wait_for_complete()
    await pilot.pause()


async def press(pilot: Any, app: InspectorApp, *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settle(pilot, app)


def shown(app: InspectorApp) -> list[str]:
    """The lines of the screen as a terminal gets them."""
    width, height = app.size
    strips = app.screen._compositor.render_strips(app.size)
    assert len(strips) == height
    return ["".join(segment.text for segment in strip) for strip in strips]


@pytest.fixture
def run() -> Iterator[Callable[..., None]]:
    """Run an app: `run(path, scenario, size=..., session=...)`."""
    import asyncio

    def go(path: Path | str, scenario: Scenario, *, size: tuple[int, int] = (120, 36),
           session: str = "", **options: Any) -> None:  # fmt: skip
        async def main() -> None:
            app = InspectorApp(str(path), session, **options)
            async with app.run_test(size=size) as pilot:
                await settle(pilot, app)
                await scenario(pilot, app)

        asyncio.run(main())

    yield go
