"""A million events cost what a thousand cost: only what is visible is read and drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ctxledger.inspector.answers import SessionLine, SessionOverview
from ctxledger.inspector.describe import TimelineRow
from ctxledger.inspector.widgets.line_list import STRIPS_MAX, LineList
from ctxledger.inspector.widgets.timeline import PAGE_ROWS, PAGES_MAX, TimelineLines
from ctxledger.ledger.views.contents import WindowView

SIZES = (0, 1, 1_000, 1_000_000)


class FakeFeed:
    """A session of any length; counts the rows that are asked for."""

    tokens_method = "estimate/len4"

    def __init__(self, head: int) -> None:
        self.head = head
        self.rows_read = 0

    def close(self) -> None:
        pass

    def sessions(self) -> list[SessionLine]:
        return [SessionLine(id=1, name="long", version=self.head)]

    def find(self, reference: str) -> int:
        assert reference == "long"
        return 1

    def overview(self, session: int) -> SessionOverview:
        compactions = (self.head // 2,) if self.head > 1 else ()
        return SessionOverview(id=session, name="long", head=self.head, compactions=compactions)

    def timeline(self, session: int, first: int, last: int) -> list[TimelineRow]:
        assert session == 1
        self.rows_read += last - first + 1
        return [
            TimelineRow(version=v, kind="human", summary=f"event {v}", at_ms=v * 1000)
            for v in range(first, last + 1)
        ]

    def window(self, session: int, version: int, view: str) -> WindowView:
        assert session == 1
        return WindowView(session="long", version=version, view=view, coverage="exact",
                          entries=(), tokens_method=self.tokens_method)  # fmt: skip

    def handle_at(self, session: int, version: int) -> str:
        assert (session, version) != (0, 0)
        return ""


@pytest.mark.parametrize("head", SIZES)
def test_only_what_is_visible_is_read(head: int, run: Callable[..., None]) -> None:
    feeds: list[FakeFeed] = []

    def make() -> FakeFeed:
        feeds.append(FakeFeed(head))
        return feeds[-1]

    async def scenario(see: Any) -> None:
        feed = feeds[0]
        timeline = see.app.screen.query_one("#timeline", LineList)
        assert feed.rows_read <= 2 * PAGE_ROWS
        assert timeline.virtual_size.height == max(1, head)
        if head > 1:
            assert f"event {head}" in see.text()
            await see.press("g")
            assert "event 1 " in see.text()
            await see.press("right_square_bracket")
            assert f"event {head // 2}" in see.text()
            await see.press("G", "k", "pageup")
            assert feed.rows_read <= 8 * PAGE_ROWS
            assert len(timeline._strips) <= STRIPS_MAX

    run("unused", scenario, session="long", make_feed=make)


def test_pages_are_forgotten() -> None:
    feed = FakeFeed(1_000_000)
    lines = TimelineLines(lambda first, last: feed.timeline(1, first, last), feed.head)
    for index in range(0, 200_000, PAGE_ROWS):
        lines.row(index)
    assert len(lines._pages) == PAGES_MAX
