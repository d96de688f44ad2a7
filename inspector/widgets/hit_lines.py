"""Hits of a search as lines: whether it is in the window, or what took it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..lines import Line, Span, left

if TYPE_CHECKING:
    from ctxledger.ledger.finding.recall import Hit

WHERE_CELLS = 16
SESSION_CELLS = 14


class HitLines:
    """A line a hit, best first."""

    def __init__(self, hits: Sequence[Hit], *, with_session: bool) -> None:
        """Hits, best first.

        Args:
        with_session: name the session of each hit.
        """
        self.hits = hits
        self._with_session = with_session

    def count(self, width: int) -> int:
        """One line a hit."""
        del width
        return len(self.hits)

    def line(self, index: int, width: int) -> Line:
        """One line."""
        return hit_line(self.hits[index], width, with_session=self._with_session)


def hit_line(hit: Hit, width: int, *, with_session: bool) -> Line:
    """Item, where it is now, and the words around the hit."""
    where = "● in the window" if hit.in_window else f"○ left at {hit.left_by or '?'}"
    spans = [
        Span(left(hit.item, 9), "title"),
        Span(left(where, WHERE_CELLS) + " ", "good" if hit.in_window else "warn"),
    ]
    used = 9 + WHERE_CELLS + 1
    if with_session:
        spans.append(Span(left(hit.session, SESSION_CELLS) + " ", "muted"))
        used += SESSION_CELLS + 1
    spans.append(Span(left(hit.snippet, max(0, width - used))))
    return tuple(spans)
