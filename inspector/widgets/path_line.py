"""Where the person is, on the first line of each screen."""

from __future__ import annotations

from textual.widgets import Static

from ..text import content

SEPARATOR = " › "


class PathLine(Static):
    """`ctxledger › refactor-auth › version 42 of 330 (c1)`."""

    ALLOW_SELECT = False

    def show(self, *places: str) -> None:
        """Show the path; its parts may be recorded text."""
        self.update(content(SEPARATOR.join(("ctxledger", *(p for p in places if p)))))
