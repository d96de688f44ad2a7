"""Recorded text is shown literally on every screen: no crash, no control, no markup."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.strip import Strip

from ctxledger.inspector.lines import Span
from ctxledger.inspector.screens.item import ItemScreen
from ctxledger.inspector.text import content, for_clipboard, lines_content
from ctxledger.ledger.content import block_from, tool_from
from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    EvictResults,
    ImportCompaction,
    OpenSession,
    SetSystem,
    SetTools,
)
from ctxledger.ledger.plaintext import cell_width, one_line, plain

UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]")
NAME = "evil"
SHOWN_CELLS = 60


@pytest.fixture(scope="session")
def corpus(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """All hostile texts at once; conftest.py of the tests has them."""
    top = request.config.pluginmanager.get_plugin(str(Path(__file__).parents[1] / "conftest.py"))
    texts: tuple[str, ...] = top.HOSTILE_TEXTS  # type: ignore[union-attr]
    assert len(texts) > 30
    return texts


def hostile_drafts(texts: tuple[str, ...]) -> list[AnyDraft]:
    """Every text as system prompt, tool, prompt, answer, call, result and brief."""

    def text(words: str, origin: Any) -> Any:
        return block_from({"type": "text", "text": words}, origin)

    def answer(place: int, words: str) -> list[AnyDraft]:
        tool_id = f"t{place}"
        call = {"type": "tool_use", "id": tool_id, "name": words, "input": {"command": words}}
        result = {"type": "tool_result", "tool_use_id": tool_id, "content": words, "is_error": True}
        return [
            AppendMessage(session=NAME, role="user", blocks=(text(words, "human"),)),
            AppendMessage(session=NAME, role="assistant",
                          blocks=(text(words, "assistant"), block_from(call, "assistant"))),
            AppendMessage(session=NAME, role="user", blocks=(block_from(result, "tool"),)),
        ]  # fmt: skip

    first = max(texts, key=lambda words: "\x1b" in words)
    return [
        OpenSession(session=NAME, format="native", title=first, folder=first, model=first),
        SetSystem(session=NAME, blocks=tuple(text(words, "system") for words in texts)),
        SetTools(session=NAME, tools=tuple(tool_from({"name": words}) for words in texts)),
        *(draft for place, words in enumerate(texts) for draft in answer(place, words)),
        EvictResults(session=NAME, tool_ids=("t0", "t13"), placeholder=first, reason=first),
        ImportCompaction(session=NAME, message="s1", role="user",
                         blocks=tuple(text(words, "summary") for words in texts)),
        AppendMessage(session=NAME, role="user", blocks=(text(f"needle {first}", "human"),)),
    ]  # fmt: skip


def assert_safe(see: Any, where: str) -> None:
    """Nothing that a terminal would act on is in what it gets."""
    strips: list[Strip] = see.app.screen._compositor.render_strips(see.app.size)
    for strip in strips:
        for segment in strip:
            assert segment.control is None, where
            assert UNSAFE.search(segment.text) is None, (where, segment.text)
            assert segment.style is None or not segment.style.link, where
            assert segment.style is None or "@click" not in (segment.style.meta or {}), where


@pytest.mark.parametrize("size", [(20, 12), (80, 24), (200, 60)])
def test_every_screen_survives(
    size: tuple[int, int],
    corpus: tuple[str, ...],
    fresh: Callable[..., Path],
    run: Callable[..., None],
) -> None:
    path = fresh(hostile_drafts(corpus))

    async def scenario(see: Any) -> None:
        assert_safe(see, "sessions")
        await see.press("enter")
        for key in ("k", "tab", "G", "g", "tab", "k", "k", "k"):
            await see.press(key)
            assert_safe(see, f"session after {key}")
        await see.press("g", "right_square_bracket", "d")
        assert_safe(see, "diff")
        await see.press("j", "j", "enter")
        assert see.screen == "ItemScreen"
        await see.press("escape", "escape", "u")
        assert see.screen == "RollbackScreen"
        assert_safe(see, "roll back")
        await see.press("escape", "slash")
        await see.type("needle")
        assert "1 hit" in see.lines()[0] or size[0] < 40
        assert_safe(see, "search")
        await see.press("escape", "question_mark")
        assert_safe(see, "help")
        await see.press("escape", "ctrl+g")
        await see.type(corpus[0])
        await see.press("enter")
        assert_safe(see, "go to")

    run(path, scenario, size=size)


def test_every_text_is_shown_literally_in_its_item(
    corpus: tuple[str, ...], fresh: Callable[..., Path], run: Callable[..., None]
) -> None:
    path = fresh(hostile_drafts(corpus))

    async def scenario(see: Any) -> None:
        see.app.open_session(1)
        for place, words in enumerate(corpus):
            version = 4 + 3 * place
            see.app.push_screen(ItemScreen(1, NAME, f"{version}.0", version))
            await see.settle()
            assert_safe(see, words[:30])
            wanted = plain(words).replace("\t", "    ")[:SHOWN_CELLS].strip()
            assert wanted in see.text(), words[:30]
            see.app.screen.action_copy()
            assert see.app.clipboard == for_clipboard(words)
            see.app.clear_notifications()
            see.app.pop_screen()

    run(path, scenario, size=(90, 26))


def test_every_text_is_shown_literally_in_the_timeline(
    corpus: tuple[str, ...], fresh: Callable[..., Path], run: Callable[..., None]
) -> None:
    path = fresh(hostile_drafts(corpus))

    async def scenario(see: Any) -> None:
        seen = set()
        for _ in range(8):
            seen |= {line for line in see.lines() if "▸ human" in line}
            await see.press("pageup")
        for words in corpus:
            wanted = one_line(words, 40).rstrip("…").rstrip()
            assert any(wanted in line for line in seen), words[:30]

    run(path, scenario, size=(250, 60), session=NAME)


def test_messages_about_hostile_text_are_safe(
    story: Path, corpus: tuple[str, ...], run: Callable[..., None]
) -> None:
    async def scenario(see: Any) -> None:
        for words in corpus:
            see.app.tell(words[:300])
            await see.settle()
            assert_safe(see, "notification")
            see.app.clear_notifications()

    run(story, scenario, size=(80, 24))


def test_content_is_never_markup(hostile_text: str) -> None:
    made = content(hostile_text)
    assert made.plain == plain(hostile_text)
    assert made.spans == []
    line = lines_content([(Span(hostile_text[:2_000], "bad"),)])
    assert UNSAFE.search(line.plain) is None
    assert cell_width(line.plain) > 0
