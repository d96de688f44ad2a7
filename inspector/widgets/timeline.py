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
"""Below this there is no room for sizes."""
LABEL_CELLS = 11
AMOUNT_CELLS = 11


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
    """Version, mark, kind and handle, time, words, and tokens or size at the right edge."""
    kind = KINDS[row.kind]
    style = "muted" if row.is_undone else kind.style
    label = row.handle if row.kind == "call" else f"{kind.word} {row.handle}"
    spans = [
        Span(right(f"{row.version:,}", version_cells), "muted"),
        Span(f" {kind.mark} {left(label, LABEL_CELLS)} ", style),
    ]
    used = version_cells + LABEL_CELLS + 4
    if width >= WIDE_CELLS:
        spans.append(Span(f"{left(clock(row.at_ms), 8)} ", "muted"))
        used += 9
    amount = right(row.amount, AMOUNT_CELLS) if width >= NARROW_CELLS else ""
    words = left(row.summary, max(0, width - used - len(amount)))
    is_loud = kind.style in ("change", "bad", "good", "human") or row.is_undone
    spans.extend((Span(words, style if is_loud else ""), Span(amount, "muted")))
    return tuple(spans)
