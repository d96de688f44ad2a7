"""Where the person is: one frozen value, and functions that give the next one.

Knows nothing about Textual or storage; the app holds one of these and shows it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

View = Literal["sent", "effective"]


class ViewState(Struct, frozen=True, kw_only=True):
    """What is looked at. `session == 0` means that no session is open."""

    session: int = 0
    name: str = ""
    head: int = 0
    """The newest version."""
    selected: int = 0
    """The version whose window is shown, 1 to `head`; 0 only while no session is open."""
    view: View = "sent"
    compactions: tuple[int, ...] = ()
    """Versions of all compactions, oldest first."""
    query: str = ""
    hits: tuple[int, ...] = ()
    """Versions in this session where the last search found something, oldest first."""
    generation: int = 0
    """Raised when what is stored may have changed, so that everything is read again."""


def open_session(
    state: ViewState, *, session: int, name: str, head: int, compactions: Sequence[int]
) -> ViewState:
    """Look at a session, at its newest version; the view stays as it was chosen."""
    return ViewState(
        session=session,
        name=name,
        head=head,
        selected=head,
        view=state.view,
        compactions=tuple(compactions),
        generation=state.generation + 1,
    )


def grown(state: ViewState, *, head: int, compactions: Sequence[int]) -> ViewState:
    """The session may have new events: stay where we are, or at the end if we were there."""
    at_end = state.selected == state.head
    return replace(
        state,
        head=head,
        selected=head if at_end else min(state.selected, head),
        compactions=tuple(compactions),
        generation=state.generation + 1,
    )


def select(state: ViewState, version: int) -> ViewState:
    """Look at another version; what lies outside is brought inside."""
    if not state.head:
        return state
    return replace(state, selected=max(1, min(version, state.head)))


def toggle_view(state: ViewState) -> ViewState:
    """From what was sent to what the model saw after provider-side edits, and back."""
    return replace(state, view="effective" if state.view == "sent" else "sent")


def with_hits(state: ViewState, query: str, versions: Sequence[int]) -> ViewState:
    """Remember what a search found in this session."""
    return replace(state, query=query, hits=tuple(sorted(set(versions))))


def next_of(versions: Sequence[int], selected: int, direction: int) -> int | None:
    """The nearest version behind (1) or before (-1) the selected one; None = there is none.

    Args:
        versions: ascending.
    """
    if direction > 0:
        place = bisect_right(versions, selected)
        return versions[place] if place < len(versions) else None
    place = bisect_left(versions, selected) - 1
    return versions[place] if place >= 0 else None


def to_hit(state: ViewState, direction: int) -> ViewState:
    """Select the next (1) or previous (-1) hit of the last search, from the other end at last."""
    if not state.hits:
        return state
    found = next_of(state.hits, state.selected, direction)
    return select(state, found if found is not None else state.hits[0 if direction > 0 else -1])


def to_compaction(state: ViewState, direction: int) -> ViewState:
    """Select the next (1) or previous (-1) compaction; without one stay."""
    found = next_of(state.compactions, state.selected, direction)
    return state if found is None else select(state, found)


def place_in_words(state: ViewState) -> str:
    """`version 42 of 330`, and `c2` when it is a compaction."""
    if not state.session:
        return ""
    words = f"version {state.selected:,} of {state.head:,}"
    if state.selected in state.compactions:
        words += f" (c{state.compactions.index(state.selected) + 1})"
    return words
