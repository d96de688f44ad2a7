"""Between two windows: what differs, and the delta that turns one into the other.

Pure, like window.py. Knows nothing about storage, contents, tokens or providers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from msgspec import Struct

from .events import Delta
from .window import Entry, Window, entry_text, texts_of


class WindowDiff(Struct, frozen=True):
    """What differs between two windows, each list in the window's own order."""

    kept: tuple[Entry, ...]
    dropped: tuple[Entry, ...]
    added: tuple[Entry, ...]
    changed: tuple[tuple[Entry, Entry], ...]
    """(before, after): the same item in another form."""
    moved: tuple[Entry, ...]


def _stable(old: Sequence[Entry], new: Sequence[Entry]) -> set[str]:
    """Keys in both whose order relative to each other is unchanged (longest such set)."""
    places = {entry.key: place for place, entry in enumerate(old)}
    common = [entry.key for entry in new if entry.key in places]
    tails: list[int] = []
    tail_at: list[int] = []
    back = [-1] * len(common)
    for at, key in enumerate(common):
        place = bisect_left(tails, places[key])
        if place == len(tails):
            tails.append(places[key])
            tail_at.append(at)
        else:
            tails[place] = places[key]
            tail_at[place] = at
        back[at] = tail_at[place - 1] if place else -1
    stable: set[str] = set()
    at = tail_at[-1] if tail_at else -1
    while at >= 0:
        stable.add(common[at])
        at = back[at]
    return stable


def spans_of(keys: Sequence[str], order: Sequence[str]) -> tuple[str, ...]:
    """Write keys (in window order) as spans `first..last` of `order`."""
    places = {key: place for place, key in enumerate(order)}
    spans: list[list[str]] = []
    last_place = -2
    for key in keys:
        place = places[key]
        if place == last_place + 1:
            spans[-1][1] = key
        else:
            spans.append([key, key])
        last_place = place
    return tuple(first if first == last else f"{first}..{last}" for first, last in spans)


def keys_of(spans: Iterable[str], order: Sequence[str]) -> list[str]:
    """Read spans against the window they were written for. KeyError when one is not in it."""
    places = {key: place for place, key in enumerate(order)}
    keys: list[str] = []
    for span in spans:
        first, _, last = span.partition("..")
        keys.extend(order[places[first] : places[last or first] + 1])
    return keys


def delta_between(old: Sequence[Entry], new: Sequence[Entry]) -> Delta:
    """The delta that turns `old` into `new`; both may be any windows of one lineage.

    Postcondition: applying it to `old` gives exactly `new`.
    """
    stable = _stable(old, new)
    old_by_key = {entry.key: entry for entry in old}
    removed = [entry.key for entry in old if entry.key not in stable]
    replaced = [e for e in new if e.key in stable and old_by_key[e.key] != e]
    inserts: list[tuple[str, list[Entry]]] = []
    after = ""
    is_open = False
    for entry in new:
        if entry.key in stable:
            is_open = False
        elif is_open:
            inserts[-1][1].append(entry)
        else:
            inserts.append((after, [entry]))
            is_open = True
        after = entry.key
    append: tuple[str, ...] = ()
    if inserts and new[-1].key not in stable:
        append = texts_of(inserts.pop()[1])
    return Delta(
        remove=spans_of(removed, [entry.key for entry in old]),
        replace=texts_of_single(replaced),
        insert=tuple((key, texts_of(entries)) for key, entries in inserts),
        append=append,
    )


def texts_of_single(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Write entries one by one (replacements are never runs)."""
    return tuple(entry_text(entry) for entry in entries)


def diff(old: Window, new: Window) -> WindowDiff:
    """Compare two windows by item: an item that only changed its form is `changed`."""
    stable = _stable(old.entries, new.entries)
    old_by_key = {entry.key: entry for entry in old.entries}
    new_keys = {entry.key for entry in new.entries}
    both = [e for e in new.entries if e.key in old_by_key]
    return WindowDiff(
        kept=tuple(e for e in both if old_by_key[e.key] == e and e.key in stable),
        dropped=tuple(e for e in old.entries if e.key not in new_keys),
        added=tuple(e for e in new.entries if e.key not in old_by_key),
        changed=tuple((old_by_key[e.key], e) for e in both if old_by_key[e.key] != e),
        moved=tuple(e for e in both if old_by_key[e.key] == e and e.key not in stable),
    )
