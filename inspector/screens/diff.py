"""What changed in the window with its last change up to a version."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Footer, Static

from ctxledger.ledger.errors import LedgerError

from ..actions import bindings
from ..lines import FixedLines, Span
from ..text import content
from ..widgets.diff_lines import DiffLines, totals
from ..widgets.line_list import LineList
from ..widgets.path_line import PathLine
from .item import ItemScreen
from .ledger_screen import LedgerScreen


class DiffScreen(LedgerScreen[None]):
    """`v^` against `v`, grouped."""

    PLACE = "diff"
    BINDINGS: ClassVar[list[BindingType]] = bindings("diff")

    def __init__(self, session: int, session_name: str, version: int) -> None:
        super().__init__()
        self._session = session
        self._session_name = session_name
        self._version = version
        self._lines: DiffLines | None = None
        self._before = 0

    def compose(self) -> ComposeResult:
        """Path, totals, list, footer."""
        yield PathLine()
        yield Static(id="totals")
        yield LineList(id="diff", empty="Reading ...")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Compare."""
        self.query_one(PathLine).show(self._session_name, f"difference at {self._version:,}")
        self._load()

    @work(exclusive=True, group="diff")
    async def _load(self) -> None:
        lines = self.query_one(LineList)
        try:
            found = await self.inspector.background.ask(
                lambda feed: feed.diff(self._session, self._version)
            )
        except LedgerError as error:
            lines.show(FixedLines([(Span(f"! {error.message}", "bad"),), (Span(error.hint),)]))
            return
        self._before = found.before
        self._lines = DiffLines(found)
        compared = f"version {found.before:,} → {found.after:,}"
        self.query_one(PathLine).show(self._session_name, f"difference, {compared}")
        self.query_one("#totals", Static).update(content(totals(found)))
        lines.show(self._lines)

    def _selected(self, index: int) -> tuple[str, int] | None:
        """(item, the version to look at it from) of a line; None for headings."""
        if self._lines is None or index >= len(self._lines.rows):
            return None
        row = self._lines.rows[index]
        return (
            (row.item, self._before if row.part == "dropped" else self._version)
            if (row.item)
            else None
        )

    @on(LineList.Chosen)
    def open_item(self, event: LineList.Chosen) -> None:
        """Open the item of a line."""
        selected = self._selected(event.index)
        if selected is not None:
            item, at = selected
            self.app.push_screen(ItemScreen(self._session, self._session_name, item, at))

    def action_copy(self) -> None:
        """Copy the raw text of the selected item."""
        selected = self._selected(self.query_one(LineList).cursor)
        self.inspector.copy_items(self._session, [selected[0]] if selected else [])
