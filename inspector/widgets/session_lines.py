"""The list of sessions as lines."""

from __future__ import annotations

from collections.abc import Sequence

from ..answers import SessionLine
from ..lines import Line, Span, count_of, day_and_clock, left, number, right

WIDE_CELLS = 96
NAMED_CELLS = 124
"""From here on the name stands beside the title; the title is what people know it by."""
MIDDLE_CELLS = 60
MODEL_CELLS = 20
NAME_CELLS = 12
FIXED_CELLS = 8 + 13 + 11
"""Calls, compactions, tokens."""


class SessionLines:
    """A line a session, the newest first."""

    def __init__(self, sessions: Sequence[SessionLine]) -> None:
        self.sessions = list(reversed(sessions))

    def count(self, width: int) -> int:
        """One line a session."""
        del width
        return len(self.sessions)

    def line(self, index: int, width: int) -> Line:
        """One line."""
        return session_line(self.sessions[index], width)


def session_line(session: SessionLine, width: int) -> Line:
    """Title or name, model, calls, compactions, reported tokens, last activity."""
    name = session.title or session.name
    if session.relation:
        name = f"[{session.relation}] {name}"
    if session.title and width >= NAMED_CELLS:
        name = f"{left(session.name, NAME_CELLS)}  {name}"
    if width < MIDDLE_CELLS:
        return (Span(left(name, max(0, width - 10)), "title"), _tokens(session, 10))
    spans = []
    room = width - FIXED_CELLS
    if width >= WIDE_CELLS:
        room -= MODEL_CELLS + 1 + 21
        spans.append(Span(" " + left(session.model, MODEL_CELLS), "muted"))
    spans.append(Span(right(_counted(session.calls, "call"), 8 + 2)))
    compacted = _counted(session.compactions, "compaction")
    spans.append(Span(right(compacted, 15), "change" if session.compactions else "muted"))
    room -= 4
    spans.append(_tokens(session, 11))
    if width >= WIDE_CELLS:
        spans.append(Span("  " + right(day_and_clock(session.last_at_ms), 20), "muted"))
        room -= 1
    return (Span(left(name, max(0, room)), "title"), *spans)


def heading_line(count: int) -> str:
    """What stands above the list."""
    return f"{count_of(count, 'session')}, the newest first"


def _counted(n: int, noun: str) -> str:
    return count_of(n, noun) if n else "-"


def _tokens(session: SessionLine, cells: int) -> Span:
    """Context size at the last call as reported; with a limit, the share of it."""
    if not session.reported_tokens:
        return Span(right("-", cells), "muted")
    if session.limit_tokens:
        share = session.reported_tokens / session.limit_tokens
        return Span(right(f"{share:.0%}", cells), "bad" if share > 1 else "")
    return Span(right(f"{number(session.reported_tokens)} t", cells))
