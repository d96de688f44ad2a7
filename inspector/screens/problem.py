"""The ledger cannot be shown: what is wrong and what to do."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Footer, Static

from ctxledger.ledger.errors import LedgerError

from ..lines import Span
from ..text import lines_content
from ..widgets.path_line import PathLine
from .ledger_screen import LedgerScreen


class ProblemScreen(LedgerScreen[None]):
    """An error in words, with its hint; only help and quit from here."""

    def __init__(self, error: LedgerError) -> None:
        super().__init__()
        self._error = error

    def compose(self) -> ComposeResult:
        """Path, message, hint."""
        yield PathLine()
        yield Static(
            lines_content(
                [
                    (Span("! The ledger cannot be shown", "bad"),),
                    (Span(self._error.message),),
                    (),
                    (Span(self._error.hint, "muted"),),
                    (Span("Nothing was written. q quits.", "muted"),),
                ]
            ),
            id="problem",
        )
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Say where."""
        self.query_one(PathLine).show(self.inspector.path)
