"""What each event does to each item: entered, left, stood in for, moved, changed.

One window kept step by step; a delta gives the items it touched. Pure. Knows nothing about
storage and contents.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..deltas import keys_of
from ..events import Delta
from ..window import Entry, WindowBuilder, entries_of

ENTERED = 1
"""It was not in the window; now its own words are."""
LEFT = 2
"""No entry stands for it any more."""
STOOD_IN = 3
"""Something else is shown in its place: a placeholder, a shortened text."""
MOVED = 4
"""The same entry at another place."""
CHANGED = 5
"""Its own words are in the window, in another form than before."""

_STAND_INS = frozenset({"placeholder", "offloaded", "truncated", "opaque", "redacted"})


def shows_own_words(entry: Entry) -> bool:
    """True if the model sees the item itself, false for what stands in for it."""
    return entry.form not in _STAND_INS and entry.text_id == entry.item_id


class WindowTracker:
    """A window that says which items each delta touches."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._builder = WindowBuilder(entries)
        self._entries_of: dict[str, int] = {}
        self._visible_of: dict[str, int] = {}
        for entry in self._builder.entries.values():
            self._count(entry, 1)

    def _count(self, entry: Entry, by: int) -> None:
        item = entry.item_id
        self._entries_of[item] = self._entries_of.get(item, 0) + by
        self._visible_of[item] = self._visible_of.get(item, 0) + by * shows_own_words(entry)

    def apply(self, delta: Delta) -> list[tuple[str, int]]:
        """Change the window; gives (item, what became of it), each touched item once.

        Raises:
            KeyError: the delta names what is not in the window: a damaged event.
        """
        entries = self._builder.entries
        new = list(entries_of(delta.replace))
        for _, texts in delta.insert:
            new.extend(entries_of(texts))
        new.extend(entries_of(delta.append))
        keys = keys_of(delta.remove, list(entries)) if delta.remove else []
        keys.extend(entry.key for entry in new if entry.key in entries)
        old = [entries[key] for key in dict.fromkeys(keys)]
        self._builder.apply(delta)
        return self._touches(old, new)

    def _touches(self, old: list[Entry], new: list[Entry]) -> list[tuple[str, int]]:
        items = dict.fromkeys(entry.item_id for entry in (*old, *new))
        before = {i: (self._entries_of.get(i, 0), self._visible_of.get(i, 0)) for i in items}
        for entry in old:
            self._count(entry, -1)
        for entry in new:
            self._count(entry, 1)
        same = set(old) & set(new)
        altered = {entry.item_id for entry in (*old, *new) if entry not in same}
        return [(item, self._what(item, *before[item], item in altered)) for item in items]

    def _what(self, item: str, entries_before: int, visible_before: int, is_altered: bool) -> int:
        if self._entries_of[item] == 0:
            del self._entries_of[item], self._visible_of[item]
            return LEFT
        if not self._visible_of[item]:
            return STOOD_IN if is_altered or visible_before or not entries_before else MOVED
        if not entries_before:
            return ENTERED
        return CHANGED if is_altered or not visible_before else MOVED
