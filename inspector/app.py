"""The inspector: owns one state, one feed for rows and one thread for what takes longer.

Screens follow `state`; messages and actions change it. What is written goes through
undoing.py alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.reactive import reactive
from textual.screen import Screen

from ctxledger.ledger.errors import LedgerError
from ctxledger.ledger.plaintext import plain

from .actions import ACTIONS, bindings
from .answers import SessionOverview
from .background import Background
from .feed import Feed
from .lines import count_of
from .saving import file_stem, save_text
from .screens.help import HelpScreen
from .screens.ledger_screen import LedgerScreen
from .screens.problem import ProblemScreen
from .screens.session import SessionScreen
from .screens.sessions import SessionsScreen
from .state import ViewState, grown, open_session, select, with_hits
from .text import for_clipboard

if TYPE_CHECKING:
    from ctxledger.ledger.finding.recall import Hit

Severity = Literal["information", "warning", "error"]


class InspectorApp(App[None]):
    """`ctxledger inspect`."""

    TITLE = "ctxledger"
    CSS_PATH = "inspector.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as Textual declares it
        (0, "-narrow"),
        (116, "-wide"),
    ]

    state: reactive[ViewState] = reactive(ViewState())

    def __init__(
        self,
        path: str,
        session: str = "",
        *,
        can_write: bool = True,
        make_feed: Callable[[], Feed] | None = None,
    ) -> None:
        """Nothing is opened yet.

        Args:
        path: the ledger file; it is opened read-only.
        session: what to open first: name, title, prefix or `@`; "" = the list of sessions.
        can_write: False never rolls back, only shows what it would do.
        make_feed: another way to read, for tests.
        """
        super().__init__()
        self.path = path
        self.can_write = can_write
        self.first_session = session
        self._make_feed = make_feed or (lambda: Feed(path))
        self.background = Background(self._make_feed)
        self._feed: Feed | None = None

    @property
    def feed(self) -> Feed:
        """Reads what is cheap enough to be read while drawing."""
        assert self._feed is not None, "BUG: a screen that reads is shown without a ledger"
        return self._feed

    def get_default_screen(self) -> Screen[None]:
        """The sessions, or why there are none to show."""
        try:
            self._feed = self._make_feed()
        except LedgerError as error:
            return ProblemScreen(error)
        return SessionsScreen()

    def on_mount(self) -> None:
        """Open the session that was asked for."""
        wanted, self.first_session = self.first_session, ""
        if not wanted or self._feed is None:
            return
        try:
            self.open_session(self._feed.find(wanted))
        except LedgerError as error:
            self.say(error)

    def on_unmount(self) -> None:
        """Close both connections."""
        self.background.close()
        if self._feed is not None:
            self._feed.close()

    # -- going places -------------------------------------------------------------------------

    def open_session(self, session: int) -> None:
        """Show the timeline of a session, at its newest version."""
        try:
            found = self.feed.overview(session)
        except LedgerError as error:
            self.say(error)
            return
        self.state = _opened(self.state, found)
        if not any(isinstance(screen, SessionScreen) for screen in self.screen_stack):
            self.push_screen(SessionScreen())

    def go_to(self, session_name: str, version: int) -> int:
        """Select a version of a session, opened first if it is another; gives its id, 0 = none."""
        try:
            session = self.feed.find(session_name)
            found = self.feed.overview(session)
        except LedgerError as error:
            self.say(error)
            return 0
        if session != self.state.session:
            self.state = _opened(self.state, found)
        self.state = select(self.state, version)
        return session

    def remember_hits(self, query: str, hits: Sequence[Hit]) -> None:
        """For n and N in the timeline: hits in the session that is open."""
        versions = [hit.version for hit in hits if hit.session == self.state.name]
        self.state = with_hits(self.state, query, versions)

    def refresh_session(self) -> None:
        """See what was written since; the selection stays."""
        if self.state.session:
            try:
                found = self.feed.overview(self.state.session)
            except LedgerError as error:
                self.say(error)
                return
            self.state = grown(self.state, head=found.head, compactions=found.compactions)

    def action_refresh(self) -> None:
        """Read the ledger again."""
        self.refresh_session()
        if isinstance(self.screen, SessionsScreen):
            self.screen.reload()

    def action_step_back(self) -> None:
        """One step back; on the first screen nothing."""
        if len(self.screen_stack) > 1:
            self.pop_screen()

    def action_help(self) -> None:
        """All keys."""
        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen())

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: what the table of actions has for this screen, themes, screenshot."""
        places = {"app", screen.PLACE if isinstance(screen, LedgerScreen) else "app"}
        for action in ACTIONS:
            if action.place in places and action.is_in_palette:
                target = "app" if action.place == "app" else "screen"
                command = partial(self.run_action, f"{target}.{action.method}")
                yield SystemCommand(action.description, action.tooltip, command)
        yield SystemCommand("Theme", "Other colours", self.action_change_theme)
        picture = partial(self.set_timer, 0.1, self.deliver_screenshot)
        yield SystemCommand("Screenshot", "Save the screen as an SVG file", picture)

    # -- telling and taking along -------------------------------------------------------------

    def tell(self, words: str, severity: Severity = "information") -> None:
        """A short message; never markup."""
        self.notify(plain(words), severity=severity, markup=False)

    def say(self, error: LedgerError) -> None:
        """An error with its hint."""
        self.tell(f"{error.message} {error.hint}", "error")

    def _raw_text(self, session: int, items: list[str]) -> str | None:
        if not items:
            self.tell("Nothing with a text is selected.", "warning")
            return None
        try:
            return self.feed.raw_text(session, items)
        except LedgerError as error:
            self.say(error)
            return None

    def copy_items(self, session: int, items: list[str]) -> None:
        """Copy the raw text of items through the terminal: works over ssh."""
        text = self._raw_text(session, items)
        if text is not None:
            self.copy_to_clipboard(for_clipboard(text))
            self.tell(
                f"{count_of(len(text), 'character')} sent to the clipboard (OSC 52: also over ssh;"
                " in tmux `set -s set-clipboard on`). w writes a file instead."
            )

    def save_items(self, session: int, items: list[str]) -> None:
        """Write the raw text of items to a new file in the current folder."""
        text = self._raw_text(session, items)
        if text is None:
            return
        try:
            path = save_text(text, file_stem(self.state.name, items), Path.cwd())
        except OSError as error:
            self.tell(f"The file cannot be written: {error.strerror or error}.", "error")
            return
        self.tell(f"Written: {path}")


def _opened(state: ViewState, found: SessionOverview) -> ViewState:
    return open_session(
        state, session=found.id, name=found.name, head=found.head, compactions=found.compactions
    )
