"""All keys, place by place, from the table of actions."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Footer

from ..actions import PLACE_NAMES, Action, actions_of, keys_in_words
from ..lines import Line, Span, left, wrapped
from ..widgets.line_list import LineList
from ..widgets.path_line import PathLine
from .ledger_screen import LedgerScreen

WORDS = (
    "The timeline has one line an event. The window is what the model saw after the selected one.",
    "c1, e1, r1 are compactions, evictions and roll-backs; c1^ is the window just before c1.",
    "unrecorded = reported by the provider minus counted by us: not on record, or counted wrong.",
    "t = tokens. Nothing is ever changed or deleted: a roll-back appends an event.",
)


KEYS_CELLS = 14
DESCRIPTION_CELLS = 21
TOOLTIP_CELLS_MIN = 20


class HelpLines:
    """What the program shows, then its keys, wrapped for the width there is."""

    def __init__(self) -> None:
        self._made: tuple[int, list[Line]] = (-1, [])

    def count(self, width: int) -> int:
        """Lines at this width."""
        return len(self._at(width))

    def line(self, index: int, width: int) -> Line:
        """One line."""
        return self._at(width)[index]

    def _at(self, width: int) -> list[Line]:
        if self._made[0] != width:
            self._made = (width, help_lines(width))
        return self._made[1]


def help_lines(width: int) -> list[Line]:
    """All lines of the help."""
    lines: list[Line] = [line for words in WORDS for line in wrapped(words, width)]
    for place, name in PLACE_NAMES.items():
        lines.extend(((), (Span(name, "title"),)))
        for action in actions_of(place):
            lines.extend(_action_lines(action, width))
    return lines


def _action_lines(action: Action, width: int) -> list[Line]:
    head = (
        Span(f"  {left(keys_in_words(action), KEYS_CELLS)}", "call"),
        Span(left(action.description, DESCRIPTION_CELLS)),
    )
    room = width - KEYS_CELLS - DESCRIPTION_CELLS - 2
    if room < TOOLTIP_CELLS_MIN:
        return [head]
    first, *others = wrapped(action.tooltip, room)
    blank = Span(" " * (KEYS_CELLS + DESCRIPTION_CELLS + 2))
    return [
        (*head, Span(first[0].text, "muted")),
        *((blank, Span(line[0].text, "muted")) for line in others),
    ]


class HelpScreen(LedgerScreen[None]):
    """Keys and what they do."""

    def compose(self) -> ComposeResult:
        """Path, lines, footer."""
        yield PathLine()
        yield LineList(id="help", has_cursor=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Fill it."""
        self.query_one(PathLine).show("help")
        self.query_one(LineList).show(HelpLines())
