"""Lines of a screen as plain data: spans of text, each with the name of a style.

Everything that is shown is made from these first, so that what a screen says can be tested
without a terminal. Texts in spans may come from recordings: text.py makes them safe before
they reach Textual. Knows nothing about Textual, events or storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple, Protocol, get_args

from ctxledger.ledger.plaintext import cell_width, cut, one_line

Style = Literal[
    "", "muted", "title", "human", "assistant", "tool", "call", "change", "good", "warn", "bad"
]
"""What a text means; the colours are in inspector.tcss. Words and marks say the same."""
STYLES: tuple[str, ...] = tuple(style for style in get_args(Style) if style)
PREVIEW_CHARS = 400
"""A line never needs more of a text than this."""


class Span(NamedTuple):
    """A piece of a line."""

    text: str
    style: Style = ""


Line = tuple[Span, ...]


class LineSource(Protocol):
    """What a list shows: any number of lines, made when they become visible."""

    def count(self, width: int) -> int:
        """How many lines there are at this width, in cells."""
        ...

    def line(self, index: int, width: int) -> Line:
        """One line, 0 <= index < count(width)."""
        ...


class FixedLines:
    """A short list whose lines are made beforehand."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    def count(self, width: int) -> int:
        """All lines, whatever the width."""
        del width
        return len(self._lines)

    def line(self, index: int, width: int) -> Line:
        """The line as it was given; what is too wide is cut off by the list."""
        del width
        return self._lines[index]


def left(text: str, cells: int) -> str:
    """Text in exactly `cells` cells, left-aligned; an ellipsis when it was cut off."""
    short = one_line(text, cells)
    return short + " " * max(0, cells - cell_width(short))


def right(text: str, cells: int) -> str:
    """Text in exactly `cells` cells, right-aligned."""
    short = one_line(text, cells)
    return " " * max(0, cells - cell_width(short)) + short


def number(n: int) -> str:
    """`12,345`."""
    return f"{n:,}"


def size(n_bytes: int) -> str:
    """Bytes for people: `512 B`, `1.2 kB`, `3.4 MB`."""
    if n_bytes < 1_000:
        return f"{n_bytes} B"
    if n_bytes < 1_000_000:
        return f"{n_bytes / 1_000:.1f} kB"
    return f"{n_bytes / 1_000_000:.1f} MB"


def count_of(n: int, noun: str) -> str:
    """`1 item`, `2 items`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def clock(at_ms: int | None) -> str:
    """`14:02:11` in UTC; empty when it is not known."""
    return _format(at_ms, "%H:%M:%S")


def day_and_clock(at_ms: int | None) -> str:
    """`2026-11-30 14:02 UTC`; empty when it is not known."""
    return _format(at_ms, "%Y-%m-%d %H:%M UTC")


def _format(at_ms: int | None, form: str) -> str:
    if at_ms is None:
        return ""
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime(form)
    except (ValueError, OverflowError, OSError):
        return "?"


def text_of(line: Line) -> str:
    """The words of a line without styles."""
    return "".join(span.text for span in line)


def width_of(line: Line) -> int:
    """Cells that a line fills."""
    return sum(cell_width(span.text) for span in line)


def fill_bar(parts: Sequence[tuple[int, str]], total: int, cells: int) -> list[tuple[str, int]]:
    """Share `cells` among parts in proportion to `total`, largest remainders first.

    Args:
        parts: (amount, name); amounts add up to at most `total`.

    Returns:
        (name, cells) in the same order; together at most `cells`. A part that is not zero
        gets a cell as long as there are enough.
    """
    if total <= 0 or cells <= 0:
        return []
    exact = [(max(0, amount) * cells / total, name) for amount, name in parts]
    got = [int(share) for share, _ in exact]
    order = sorted(range(len(exact)), key=lambda i: got[i] - exact[i][0])
    spare = round(sum(share for share, _ in exact)) - sum(got)
    for i in order[: max(0, spare)]:
        got[i] += 1
    for i, (share, _) in enumerate(exact):
        richest = max(range(len(got)), key=got.__getitem__)
        if share > 0 and got[i] == 0 and got[richest] > 1:
            got[i] += 1
            got[richest] -= 1
    return [(name, n) for (_, name), n in zip(exact, got, strict=True)]


def wrapped(text: str, cells: int) -> list[Line]:
    """A short text of ours as lines of at most `cells` cells, broken at spaces."""
    lines: list[Line] = []
    current = ""
    for word in text.split():
        longer = f"{current} {word}" if current else word
        if current and cell_width(longer) > cells:
            lines.append((Span(current),))
            current = word
        else:
            current = longer
        while cell_width(current) > cells > 0 and cut(current, cells):
            head = cut(current, cells)
            lines.append((Span(head),))
            current = current[len(head) :]
    if current or not lines:
        lines.append((Span(current),))
    return lines
