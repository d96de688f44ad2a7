"""Search the raw history, also what left the window."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Footer, Input

from ctxledger.ledger.errors import LedgerError

from ..actions import bindings
from ..lines import FixedLines, Span, count_of
from ..widgets.hit_lines import HitLines
from ..widgets.line_list import LineList
from ..widgets.path_line import PathLine
from .item import ItemScreen
from .ledger_screen import LedgerScreen

SETTLE_S = 0.15
"""A query is asked when typing has rested for so long."""


class SearchScreen(LedgerScreen[None]):
    """A query above, its hits below."""

    PLACE = "search"
    BINDINGS: ClassVar[list[BindingType]] = bindings("search")

    def __init__(self, session: int | None, name: str, query: str = "") -> None:
        """Begin with a query, or with none.

        Args:
        session: None searches all sessions.
        """
        super().__init__()
        self._session = session
        self._session_name = name
        self._query = query
        self._lines = HitLines((), with_session=True)

    def compose(self) -> ComposeResult:
        """Path, query, hits, footer."""
        yield PathLine()
        yield Input(self._query, placeholder='words, or "a phrase"', id="query")
        yield LineList(id="hits")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Begin with the query."""
        self.query_one(PathLine).show(self._session_name, "search")
        self.query_one(Input).focus()

    @on(Input.Changed)
    def query_changed(self, event: Input.Changed) -> None:
        """Search while typing."""
        self._search(event.value)

    @on(Input.Submitted)
    def query_submitted(self) -> None:
        """To the hits."""
        self.action_to_list()

    @work(exclusive=True, group="search")
    async def _search(self, query: str) -> None:
        """A newer query cancels this one, so an old result is never shown."""
        await asyncio.sleep(SETTLE_S)
        hits = self.query_one("#hits", LineList)
        if not query.strip():
            self._lines = HitLines((), with_session=True)
            hits.empty = ""
            hits.show(self._lines, cursor=0)
            return
        try:
            found = await self.inspector.background.ask(
                lambda feed: feed.search(query, self._session)
            )
        except LedgerError as error:
            hits.show(FixedLines([(Span(f"! {error.message} {error.hint}", "bad"),)]))
            return
        self._lines = HitLines(found, with_session=self._session is None)
        hits.empty = "Nothing found in the raw history."
        hits.show(self._lines, cursor=0)
        self.query_one(PathLine).show(self._session_name, f"search: {count_of(len(found), 'hit')}")
        self.inspector.remember_hits(query, found)

    @on(LineList.Chosen)
    def open_hit(self, event: LineList.Chosen) -> None:
        """Select the hit's version in its session and show the item."""
        if event.index >= len(self._lines.hits):
            return
        hit = self._lines.hits[event.index]
        session = self.inspector.go_to(hit.session, hit.version)
        if session:
            self.inspector.remember_hits(self.query_one(Input).value, self._lines.hits)
            self.app.push_screen(ItemScreen(session, hit.session, hit.item, hit.version))

    def action_to_list(self) -> None:
        """From the query to the hits."""
        self.query_one("#hits", LineList).focus()

    def action_to_query(self) -> None:
        """Back to the query."""
        self.query_one(Input).focus()
