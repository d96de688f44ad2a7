"""The only maker of Textual content from data: safe first, then an object, never markup.

`plain` shows control characters, C1, bidi and zero-width characters visibly; Content and
Segment objects are never parsed for markup. Knows nothing about screens and events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.content import Content
from textual.strip import Strip

from ctxledger.ledger.plaintext import CHARS_PER_CELL_MAX, cell_width, cut, plain

from .lines import Line, Span, text_of

CURSOR = "▌"
TAB_CELLS = 4


def content(text: str) -> Content:
    """Recorded text for a Static or Label; newlines stay."""
    return Content(plain(text))


def lines_content(lines: list[Line]) -> Content:
    """A few lines for a Static, with their styles as classes of meaning.

    Only bold and dim are used here: lists have the colours.
    """
    parts: list[Content] = []
    for line in lines:
        if parts:
            parts.append(Content("\n"))
        for span in line:
            style = {"title": "bold", "muted": "dim", "bad": "bold", "change": "bold"}
            safe = plain(span.text, keep_newlines=False)
            parts.append(Content.styled(safe, style.get(span.style, "")))
    return Content("").join(parts)


def strip(line: Line, width: int, base: RichStyle, styles: Mapping[str, RichStyle]) -> Strip:
    """One line of a list in exactly `width` cells; what is too wide ends with an ellipsis."""
    segments: list[Segment] = []
    room = width
    for span in line:
        safe = plain(span.text[: CHARS_PER_CELL_MAX * (room + 1)], keep_newlines=False)
        style = base + styles[span.style] if span.style else base
        cells = cell_width(safe)
        if cells > room:
            short = cut(safe, room - 1)
            segments.append(Segment(short + "…" if room > 0 else "", style))
            room = 0
            break
        segments.append(Segment(safe, style))
        room -= cells
    return Strip(segments).adjust_cell_length(width, base)


def for_clipboard(text: str) -> str:
    """Raw text as a clipboard takes it: exactly the text, but lone surrogates become `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


class TextLines:
    """A long text as lines, wrapped at spaces for whatever width is asked for.

    Only the starts of lines are kept: a text of 1 MB on one line costs 100 kB more.
    """

    def __init__(self, text: str, above: tuple[Line, ...] = ()) -> None:
        """Nothing is wrapped yet.

        Args:
        above: lines that stand before the text.
        """
        self._text = plain(text).expandtabs(TAB_CELLS)
        self._above = above
        self._width = -1
        self._starts: list[int] = []

    def count(self, width: int) -> int:
        """Lines at this width."""
        self._wrap(max(1, width))
        return len(self._above) + len(self._starts)

    def line(self, index: int, width: int) -> Line:
        """One line."""
        if index < len(self._above):
            return self._above[index]
        self._wrap(max(1, width))
        at = index - len(self._above)
        start = self._starts[at]
        end = self._starts[at + 1] if at + 1 < len(self._starts) else len(self._text)
        return (Span(self._text[start:end].rstrip("\n")),)

    def _wrap(self, width: int) -> None:
        if width != self._width:
            self._width = width
            self._starts = list(_starts(self._text, width))

    @property
    def words(self) -> str:
        """All that is shown, for tests and for finding."""
        return "\n".join([*(text_of(line) for line in self._above), self._text])


def _starts(text: str, width: int) -> Iterator[int]:
    """Where the lines begin."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        if end < 0:
            end = len(text)
        while True:
            yield start
            piece = text[start : min(end, start + width)]
            fits = len(cut(piece, width))
            if start + fits >= end:
                break
            space = text.rfind(" ", start + 1, start + fits)
            start = space + 1 if space > start + fits // 2 else start + max(1, fits)
        start = end + 1
