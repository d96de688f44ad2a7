"""Asks for a version, a handle or a time."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ctxledger.ledger.errors import LedgerError

from ..actions import bindings
from ..text import content


class GotoScreen(ModalScreen[int | None]):
    """One line of input; wrong references are explained below it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("goto")

    def compose(self) -> ComposeResult:
        """Input and a line for what is wrong."""
        with Vertical(id="goto"):
            yield Input(placeholder="version, c1, c1^, e2, r1, call7, head~3 or @2026-11-30T14:00")
            yield Static("Enter goes there, escape goes back.", id="goto-problem", markup=False)

    @on(Input.Submitted)
    def resolve(self, event: Input.Submitted) -> None:
        """Go there, or say why not."""
        from ..app import InspectorApp

        app = self.app
        assert isinstance(app, InspectorApp), "BUG: a screen of another app"
        try:
            version = app.feed.resolve(app.state.session, event.value.strip())
        except LedgerError as error:
            self.query_one("#goto-problem", Static).update(content(f"{error.message} {error.hint}"))
            return
        self.dismiss(version)

    def action_cancel(self) -> None:
        """Stay where we are; bindings of the app do not reach a modal screen."""
        self.dismiss(None)
