"""The rows of a timeline as lines: pages of events, read when they become visible."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..describe import KINDS, TimelineRow
from ..lines import Line, Span, clock, left, right

Rows = Callable[[int, int], Sequence[TimelineRow]]
"""Gives the rows of versions first to last."""
PAGE_ROWS = 64
PAGES_MAX = 32
WIDE_CELLS = 72
"""From this width on there is room for the time."""
NARROW_CELLS = 44
"""Below this there is no room for handles and sizes."""


class TimelineLines:
    """A line an event; line 0 is version 1."""

    def __init__(self, rows: Rows, head: int) -> None:
        self._rows = rows
        self._head = head
        self._pages: dict[int, Sequence[TimelineRow]] = {}

    def count(self, width: int) -> int:
        """One line an event."""
        del width
        return self._head

    def line(self, index: int, width: int) -> Line:
        """The line of one event."""
        return timeline_line(self.row(index), width, len(f"{self._head:,}"))

    def row(self, index: int) -> TimelineRow:
        """The row of one event; its page is read if it is not there."""
        number, place = divmod(index, PAGE_ROWS)
        if number not in self._pages:
            while len(self._pages) >= PAGES_MAX:
                del self._pages[next(iter(self._pages))]
            first = number * PAGE_ROWS + 1
            self._pages[number] = self._rows(first, min(first + PAGE_ROWS - 1, self._head))
        return self._pages[number][place]


def timeline_line(row: TimelineRow, width: int, version_cells: int) -> Line:
    """Version, mark, kind, handle, time, words, and tokens or size at the right edge."""
    kind = KINDS[row.kind]
    spans = [
        Span(right(f"{row.version:,}", version_cells), "muted"),
        Span(f" {kind.mark} {left(kind.word, 9)}", "muted" if row.is_undone else kind.style),
    ]
    amount = ""
    if width >= NARROW_CELLS:
        spans.append(Span(left(row.handle, 8), "title"))
        amount = right(row.amount, 10)
    if width >= WIDE_CELLS:
        spans.append(Span(f"{left(clock(row.at_ms), 8)} ", "muted"))
    used = version_cells + 12 + (8 if width >= NARROW_CELLS else 0) + len(amount)
    used += 9 if width >= WIDE_CELLS else 0
    is_loud = kind.style in ("change", "bad", "good") or row.kind == "human"
    style = kind.style if is_loud and not row.is_undone else "muted" if row.is_undone else ""
    spans.append(Span(left(row.summary, max(0, width - used)), style))
    spans.append(Span(amount, "muted"))
    return tuple(spans)
