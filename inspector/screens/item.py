"""One item in full, with where it came from."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Footer

from ctxledger.ledger.errors import LedgerError

from ..actions import bindings
from ..lines import FixedLines, Span
from ..state import select
from ..widgets.item_lines import ItemLines
from ..widgets.line_list import LineList
from ..widgets.path_line import PathLine
from .ledger_screen import LedgerScreen


class ItemScreen(LedgerScreen[None]):
    """Facts and contents of an item."""

    PLACE = "item"
    BINDINGS: ClassVar[list[BindingType]] = bindings("item")

    def __init__(self, session: int, session_name: str, item: str, at: int) -> None:
        """Nothing is read yet.

        Args:
        at: the version whose window it is looked at from.
        """
        super().__init__()
        self._session = session
        self._session_name = session_name
        self._item = item
        self._at = at

    def compose(self) -> ComposeResult:
        """Path, text, footer."""
        yield PathLine()
        yield LineList(id="text", has_cursor=False, empty="Reading ...")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Read it."""
        path = self.query_one(PathLine)
        path.show(self._session_name, f"version {self._at:,}", f"item {self._item}")
        self._load()

    @work(exclusive=True, group="item")
    async def _load(self) -> None:
        lines = self.query_one(LineList)
        try:
            picture = await self.inspector.background.ask(
                lambda feed: feed.item(self._session, self._item, self._at)
            )
        except LedgerError as error:
            lines.show(FixedLines([(Span(f"! {error.message}", "bad"),), (Span(error.hint),)]))
            return
        lines.show(ItemLines(picture))

    def action_copy(self) -> None:
        """Copy the raw text."""
        self.inspector.copy_items(self._session, [self._item])

    def action_save(self) -> None:
        """Write the raw text to a file."""
        self.inspector.save_items(self._session, [self._item])

    def action_origin(self) -> None:
        """Back to the timeline, at the event that introduced it."""
        version = int(self._item.partition(".")[0])
        if self.inspector.state.session == self._session:
            self.inspector.state = select(self.inspector.state, version)
        self.dismiss()
