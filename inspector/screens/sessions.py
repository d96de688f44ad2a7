"""All sessions of the ledger; entering one opens its timeline."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Footer

from ctxledger.ledger.errors import LedgerError

from ..actions import bindings
from ..lines import FixedLines, Span
from ..widgets.line_list import LineList
from ..widgets.path_line import PathLine
from ..widgets.session_lines import SessionLines, heading_line
from .ledger_screen import LedgerScreen
from .search import SearchScreen

EMPTY = "The ledger has no sessions. Fill it: ctxledger ingest FILE"


class SessionsScreen(LedgerScreen[None]):
    """A list of sessions, the newest first."""

    PLACE = "sessions"
    BINDINGS: ClassVar[list[BindingType]] = bindings("sessions")

    def __init__(self) -> None:
        super().__init__()
        self._lines = SessionLines(())

    def compose(self) -> ComposeResult:
        """Path, list, footer."""
        yield PathLine()
        yield LineList(id="sessions", empty="Reading ...")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Read the sessions."""
        self.query_one(PathLine).show(self.inspector.path)
        self.query_one(LineList).focus()

    def on_screen_resume(self) -> None:
        """Shown first, or again after a session; not while one is opened straight away."""
        if not self.inspector.first_session:
            self.reload()

    @work(exclusive=True, group="sessions")
    async def reload(self) -> None:
        """Read the sessions beside the screen."""
        try:
            sessions = await self.inspector.background.ask(lambda feed: feed.sessions())
        except LedgerError as error:
            line = (Span(f"! {error.message} {error.hint}", "bad"),)
            self.query_one(LineList).show(FixedLines([line]))
            return
        self._lines = SessionLines(sessions)
        path = self.query_one(PathLine)
        path.show(self.inspector.path, heading_line(len(sessions)))
        lines = self.query_one("#sessions", LineList)
        lines.empty = EMPTY
        lines.show(self._lines)

    @on(LineList.Chosen)
    def open_chosen(self, event: LineList.Chosen) -> None:
        """Open the timeline of a session."""
        if event.index < len(self._lines.sessions):
            self.inspector.open_session(self._lines.sessions[event.index].id)

    def action_search(self) -> None:
        """Search all sessions."""
        self.app.push_screen(SearchScreen(session=None, name="all sessions"))
