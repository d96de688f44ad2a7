"""Roll back: shows what would happen, asks, does it, says how to undo it."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Footer, Static

from ctxledger.ledger.errors import LedgerError

from ..actions import bindings
from ..lines import FixedLines, Line, Span
from ..text import content
from ..undoing import apply_plan, preview_rollback
from ..widgets.line_list import LineList
from ..widgets.path_line import PathLine
from ..widgets.rollback_lines import RollbackPreview, command, done_lines, preview_lines
from .ledger_screen import LedgerScreen

ASKS = "Append this roll-back?  y yes   n no"
READ_ONLY = "Read-only: nothing is written from here. n goes back."


class RollbackScreen(LedgerScreen[None]):
    """Preview, question, result."""

    PLACE = "rollback"
    BINDINGS: ClassVar[list[BindingType]] = bindings("rollback")

    def __init__(self, session: int, handles: tuple[str, ...], to: str = "") -> None:
        super().__init__()
        self._session = session
        self._handles = handles
        self._to = to
        self._preview: RollbackPreview | None = None

    def compose(self) -> ComposeResult:
        """Path, lines, question, footer."""
        yield PathLine()
        yield LineList(id="plan", has_cursor=False, empty="Planning ...")
        yield Static(id="question")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Plan it."""
        self.query_one(PathLine).show(self.inspector.state.name, "roll back")
        self._plan()

    @work(exclusive=True, group="rollback")
    async def _plan(self) -> None:
        try:
            preview = await self.inspector.background.ask(
                lambda feed: preview_rollback(feed, self._session, self._handles, self._to)
            )
        except LedgerError as error:
            self._show([(Span(f"! {error.message}", "bad"),), (Span(error.hint),)], "n goes back.")
            return
        self._preview = preview
        lines = preview_lines(preview, max(20, self.query_one(LineList).size.width - 2))
        self._show(lines, ASKS if self.inspector.can_write else READ_ONLY)

    def _show(self, lines: list[Line], question: str) -> None:
        self.query_one(LineList).show(FixedLines(lines))
        self.query_one("#question", Static).update(content(question))
        self.refresh_bindings()

    @work(exclusive=True, group="rollback")
    async def action_yes(self) -> None:
        """Append what was shown, once."""
        preview, app = self._preview, self.inspector
        if preview is None or not app.can_write:
            return
        self._preview = None
        try:
            number, version = await app.background.run(
                lambda: apply_plan(app.path, self._session, preview.plan)
            )
        except LedgerError as error:
            again = command(preview.name, preview.handles, preview.to)
            lines: list[Line] = [
                (Span(f"! {error.message}", "bad"),),
                (Span(error.hint),),
                (Span("by hand  ", "muted"), Span(again)),
            ]
            self._show(lines, "n goes back.")
            return
        self._show(done_lines(preview.name, number, version), "Done. n goes back.")
        app.refresh_session()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is a yes only while there is a question."""
        del parameters
        return action != "yes" or (self._preview is not None and self.inspector.can_write)

    def action_no(self) -> None:
        """Leave everything as it is."""
        self.dismiss()
