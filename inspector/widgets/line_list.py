"""A list that makes only the lines that are visible, so that a million cost as much as ten.

Attributes go down (`show`, `cursor`), messages go up (`Moved`, `Chosen`).
"""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style as RichStyle
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ..actions import bindings
from ..lines import STYLES, FixedLines, Line, LineSource, Span
from ..text import CURSOR, strip

GUTTER_CELLS = 2
"""The mark of the selected line at the left, and a blank at the right."""
STRIPS_MAX = 512
"""Rendered lines that are kept; a screen has at most a few hundred."""


class LineList(ScrollView, can_focus=True):
    """Lines from a source, one of them selected."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("list")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "line--cursor",
        "line--cursor-blurred",
        *(f"line--{style}" for style in STYLES),
    }
    ALLOW_SELECT = False

    cursor: reactive[int] = reactive(0)
    """The selected line; -1 never."""

    class Moved(Message):
        """Another line was selected by the person."""

        def __init__(self, lines: LineList, index: int) -> None:
            self.lines = lines
            self.index = index
            super().__init__()

        @property
        def control(self) -> LineList:
            """The list."""
            return self.lines

    class Chosen(Message):
        """The person wants to open the selected line."""

        def __init__(self, lines: LineList, index: int) -> None:
            self.lines = lines
            self.index = index
            super().__init__()

        @property
        def control(self) -> LineList:
            """The list."""
            return self.lines

    def __init__(
        self,
        *,
        has_cursor: bool = True,
        empty: str = "",
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        """Begin without lines.

        Args:
        has_cursor: False for reading: keys scroll instead.
        empty: what to say when there are no lines.
        """
        super().__init__(id=id, classes=classes)
        self._source: LineSource = FixedLines(())
        self._has_cursor = has_cursor
        self.empty = empty
        self._strips: dict[tuple[int, int, str], Strip] = {}

    @property
    def count(self) -> int:
        """Lines at the present width."""
        return self._source.count(self._line_width)

    @property
    def _line_width(self) -> int:
        return max(1, self.scrollable_content_region.width - GUTTER_CELLS)

    def show(self, source: LineSource, *, cursor: int | None = None) -> None:
        """Show other lines; the selection stays at its place unless `cursor` is given."""
        self._source = source
        self.forget_lines()
        wanted = self.cursor if cursor is None else cursor
        self.set_reactive(LineList.cursor, max(0, min(wanted, self.count - 1)))
        self._keep_cursor_visible()

    def forget_lines(self) -> None:
        """What the lines say has changed: make them again."""
        self._strips.clear()
        self._measure()
        self.refresh()

    def _measure(self) -> None:
        self.virtual_size = Size(self._line_width, max(1, self.count))

    def on_resize(self) -> None:
        """Another width: other lines."""
        self.forget_lines()
        self._keep_cursor_visible()

    # -- drawing ------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        index = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if index >= self.count:
            return self._blank(index, width)
        look = ""
        if self._has_cursor and index == self.cursor:
            look = "line--cursor" if self.has_focus else "line--cursor-blurred"
        key = (index, width, look)
        if key not in self._strips:
            while len(self._strips) >= STRIPS_MAX:
                del self._strips[next(iter(self._strips))]
            self._strips[key] = self._render_one(index, width, look)
        return self._strips[key]

    def _render_one(self, index: int, width: int, look: str) -> Strip:
        line: Line = self._source.line(index, self._line_width)
        line = (Span(CURSOR if look else " "), *line)
        if not look:
            return strip(line, width, self.rich_style, self._styles())
        # The selected line in one colour: others would not be readable on its background.
        selected = self.get_component_rich_style(look)
        return strip(line, width, selected, dict.fromkeys(STYLES, RichStyle.null()))

    def _styles(self) -> dict[str, RichStyle]:
        """Colour and weight of each style, blended; the background is that of the line."""
        found = {}
        for style in STYLES:
            look = self.get_component_rich_style(f"line--{style}")
            found[style] = RichStyle(color=look.color, bold=look.bold, dim=look.dim)
        return found

    def _blank(self, index: int, width: int) -> Strip:
        if index == 0 and self.empty:
            line = (Span(" "), Span(self.empty, "muted"))
            return strip(line, width, self.rich_style, self._styles())
        return Strip.blank(width, self.rich_style)

    def notify_style_update(self) -> None:
        """Another theme: other colours."""
        self._strips.clear()
        super().notify_style_update()

    # -- moving -------------------------------------------------------------------------------

    def validate_cursor(self, cursor: int) -> int:
        """Stay inside."""
        return max(0, min(cursor, self.count - 1))

    def watch_cursor(self) -> None:
        """Show the selected line."""
        self._keep_cursor_visible()
        self.refresh()

    def _keep_cursor_visible(self) -> None:
        if self._has_cursor and self.is_mounted:
            self.scroll_to_region(
                Region(0, self.cursor, 1, 1), animate=False, force=True, immediate=True
            )

    def _go(self, index: int) -> None:
        before = self.cursor
        self.cursor = index
        if self.cursor != before:
            self.post_message(self.Moved(self, self.cursor))

    def _move(self, by: int) -> None:
        if self._has_cursor:
            self._go(self.cursor + by)
        else:
            self.scroll_relative(y=by, animate=False)

    @property
    def _page(self) -> int:
        return max(1, self.scrollable_content_region.height - 1)

    def action_down(self) -> None:
        """One line down."""
        self._move(1)

    def action_up(self) -> None:
        """One line up."""
        self._move(-1)

    def action_page_down(self) -> None:
        """One page down."""
        self._move(self._page)

    def action_page_up(self) -> None:
        """One page up."""
        self._move(-self._page)

    def action_top(self) -> None:
        """To the first line."""
        self._move(-self.count)

    def action_bottom(self) -> None:
        """To the last line."""
        self._move(self.count)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to open in a text."""
        del parameters
        return self._has_cursor or action != "choose"

    def action_choose(self) -> None:
        """Open the selected line."""
        if self._has_cursor and self.count:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """A click selects, a second one opens."""
        if not self._has_cursor:
            return
        index = event.y + self.scroll_offset.y
        if index >= self.count:
            return
        if event.chain >= 2:
            self.action_choose()
        else:
            self._go(index)
