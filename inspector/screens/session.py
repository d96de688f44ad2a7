"""One session: its timeline, and the window at the selected version."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.widgets import Footer

from ctxledger.ledger.errors import LedgerError

from ..actions import bindings
from ..describe import TimelineRow, damaged_row
from ..lines import FixedLines, Span
from ..state import ViewState, place_in_words, select, to_compaction, to_hit, toggle_view
from ..widgets.line_list import LineList
from ..widgets.path_line import PathLine
from ..widgets.timeline import TimelineLines
from ..widgets.window_lines import HeadingLines, WindowLines
from .diff import DiffScreen
from .goto import GotoScreen
from .item import ItemScreen
from .ledger_screen import LedgerScreen
from .rollback import RollbackScreen
from .search import SearchScreen

SETTLE_S = 0.04
"""A window is read when the selection has rested for so long."""


class SessionScreen(LedgerScreen[None]):
    """Timeline and window, side by side or one above the other."""

    PLACE = "session"
    BINDINGS: ClassVar[list[BindingType]] = bindings("session")

    def __init__(self) -> None:
        super().__init__()
        self._window = WindowLines(())
        self._folded: frozenset[str] = frozenset()
        self._shown: tuple[int, int, str, int] = (0, 0, "", 0)

    def compose(self) -> ComposeResult:
        """Path, the two panes, footer."""
        yield PathLine()
        with Container(id="panes"):
            yield LineList(id="timeline", empty="No events.")
            with Vertical(id="window"):
                heading = LineList(id="heading", has_cursor=False)
                heading.can_focus = False
                yield heading
                yield LineList(id="entries", empty="Nothing is in the window.")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Follow the app's state."""
        self._timeline.border_title = "timeline"
        self._entries.border_title = "entries"
        self.watch(self.app, "state", self._show_state)
        self._timeline.focus()

    @property
    def _timeline(self) -> LineList:
        return self.query_one("#timeline", LineList)

    @property
    def _entries(self) -> LineList:
        return self.query_one("#entries", LineList)

    # -- showing ------------------------------------------------------------------------------

    def _show_state(self, old: ViewState, new: ViewState) -> None:
        if not new.session:
            return
        if (old.session, old.generation) != (new.session, new.generation) or old is new:
            rows = TimelineLines(self._read_rows, new.head)
            self._timeline.show(rows, cursor=new.selected - 1)
        else:
            self._timeline.cursor = new.selected - 1
        self.query_one(PathLine).show(new.name, place_in_words(new))
        wanted = (new.session, new.selected, new.view, new.generation)
        if wanted != self._shown:
            self._shown = wanted
            self._load_window(new)

    def _read_rows(self, first: int, last: int) -> Sequence[TimelineRow]:
        """Rows for the timeline; what cannot be read is said in the rows."""
        try:
            return self.inspector.feed.timeline(self.inspector.state.session, first, last)
        except LedgerError as error:
            words = f"{error.message} {error.hint}"
            return [damaged_row(version, words) for version in range(first, last + 1)]

    @work(exclusive=True, group="window")
    async def _load_window(self, state: ViewState) -> None:
        await asyncio.sleep(SETTLE_S)
        try:
            view, handle = await self.inspector.background.ask(
                lambda feed: (
                    feed.window(state.session, state.selected, state.view),
                    feed.handle_at(state.session, state.selected),
                )
            )
        except LedgerError as error:
            problem = (Span(f"! {error.message}", "bad"),)
            self.query_one("#heading", LineList).show(FixedLines([problem, (Span(error.hint),)]))
            self._window = WindowLines(())
        else:
            self.query_one("#heading", LineList).show(HeadingLines(view, handle))
            self._window = WindowLines(view.entries, self._folded)
        self._entries.show(self._window)

    # -- what the lists say -------------------------------------------------------------------

    @on(LineList.Moved, "#timeline")
    def select_version(self, event: LineList.Moved) -> None:
        """The person moved in the timeline."""
        self.inspector.state = select(self.inspector.state, event.index + 1)

    @on(LineList.Chosen, "#timeline")
    def enter_version(self) -> None:
        """Enter on an event: its item in full if it is one item, else its window."""
        items = self._selected_items()
        if len(items) == 1:
            self._open_item(items[0])
        else:
            self._entries.focus()

    @on(LineList.Chosen, "#entries")
    def enter_entry(self, event: LineList.Chosen) -> None:
        """Enter on a layer folds it, on an entry opens it."""
        if event.index >= len(self._window.rows):
            return
        row = self._window.rows[event.index]
        if row.entry is not None:
            self._open_item(row.entry.item)
            return
        self._folded ^= {row.layer}
        self._window = WindowLines(self._window.entries, self._folded)
        self._entries.show(self._window)

    def _open_item(self, item: str) -> None:
        state = self.inspector.state
        self.app.push_screen(ItemScreen(state.session, state.name, item, state.selected))

    def _selected_items(self) -> list[str]:
        """Items of the selected entry, or of the selected event."""
        state = self.inspector.state
        if self._entries.has_focus:
            row = self._window.rows[self._entries.cursor] if self._window.rows else None
            return [row.entry.item] if row is not None and row.entry is not None else []
        try:
            return self.inspector.feed.items_at(state.session, state.selected)
        except LedgerError as error:
            self.inspector.say(error)
            return []

    # -- actions ------------------------------------------------------------------------------

    def action_other_pane(self) -> None:
        """Between timeline and window."""
        (self._timeline if self._entries.has_focus else self._entries).focus()

    def action_compaction(self, direction: int) -> None:
        """Select the next or previous compaction."""
        before = self.inspector.state
        self.inspector.state = to_compaction(before, direction)
        if self.inspector.state is before:
            words = "after" if direction > 0 else "before"
            self.inspector.tell(f"There is no compaction {words} version {before.selected}.")

    def action_hit(self, direction: int) -> None:
        """Select the next or previous hit of the last search."""
        if not self.inspector.state.hits:
            self.inspector.tell("Nothing was searched for yet: / searches.")
        self.inspector.state = to_hit(self.inspector.state, direction)

    def action_toggle_view(self) -> None:
        """Sent or effective."""
        self.inspector.state = toggle_view(self.inspector.state)

    def action_goto(self) -> None:
        """Ask for a reference and go there."""
        self.app.push_screen(GotoScreen(), self._go_to)

    def _go_to(self, version: int | None) -> None:
        if version is not None:
            self.inspector.state = select(self.inspector.state, version)

    def action_search(self) -> None:
        """Search this session."""
        state = self.inspector.state
        self.app.push_screen(SearchScreen(state.session, state.name, state.query))

    def action_diff(self) -> None:
        """The window before the last change against the window here."""
        state = self.inspector.state
        self.app.push_screen(DiffScreen(state.session, state.name, state.selected))

    def action_undo(self) -> None:
        """Roll back what is selected, or the last compaction in force."""
        state = self.inspector.state
        try:
            handle = self.inspector.feed.undoable_at(state.session, state.selected)
        except LedgerError as error:
            self.inspector.say(error)
            return
        self.app.push_screen(RollbackScreen(state.session, (handle,) if handle else ()))

    def action_restore(self) -> None:
        """Bring back the window of the selected version."""
        state = self.inspector.state
        self.app.push_screen(RollbackScreen(state.session, (), to=str(state.selected)))

    def action_copy(self) -> None:
        """Copy the raw text of what is selected."""
        items = self._selected_items()
        self.inspector.copy_items(self.inspector.state.session, items)

    def action_save(self) -> None:
        """Write the raw text of what is selected to a file."""
        items = self._selected_items()
        self.inspector.save_items(self.inspector.state.session, items)
