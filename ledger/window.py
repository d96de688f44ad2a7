"""The window at a version: a pure projection of events, one delta after the other.

A window here is structure only: which items, in which form and order. Contents are joined
later by whoever shows it. Knows nothing about storage, contents, tokens or providers.

    Item ids are `<version>.<index>`: the event that introduced the block, and its place there.
    `entry_text` writes an entry as `KEY`, `KEY-LAST` (a run of one event's blocks), or
    `KEY FORM ITEM TEXT` with `=` for "as before" - short, and readable in the raw database.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Literal

from msgspec import Struct

from .events import AnyEvent, Delta

Form = Literal[
    "verbatim",
    "placeholder",
    "offloaded",
    "truncated",
    "brief",
    "state",
    "reinjected",
    "synthetic",
    "opaque",
    "redacted",
]
PROJECTOR_VERSION = 1
"""Raised whenever the same events would give another window; older snapshots are ignored."""


class Entry(Struct, frozen=True, gc=False):
    """An item's presence in a window."""

    key: str
    """Names the place: the item id, or of a second copy the id of the copy."""
    form: str = "verbatim"
    item: str = ""
    """The item it stands for; "" = `key`."""
    text: str = ""
    """The item whose block is shown (a placeholder's text ...); "" = the item's own."""

    @property
    def item_id(self) -> str:
        """The item it stands for."""
        return self.item or self.key

    @property
    def text_id(self) -> str:
        """The item whose block is shown."""
        return self.text or self.item or self.key


class Window(Struct, frozen=True):
    """All entries after `version`, in prompt order."""

    version: int
    entries: tuple[Entry, ...]

    def digest(self) -> str:
        """A digest of the structure, hex: equal windows have equal digests everywhere."""
        joined = "\n".join(texts_of(self.entries))
        return blake2b(joined.encode(), digest_size=16).hexdigest()


class WindowDiff(Struct, frozen=True):
    """What differs between two windows, each list in the window's own order."""

    kept: tuple[Entry, ...]
    dropped: tuple[Entry, ...]
    added: tuple[Entry, ...]
    changed: tuple[tuple[Entry, Entry], ...]
    """(before, after): the same item in another form."""
    moved: tuple[Entry, ...]


def split_id(item: str) -> tuple[int, int]:
    """`42.1` -> (42, 1)."""
    version, _, index = item.partition(".")
    return int(version), int(index)


def is_item_id(text: str) -> bool:
    """True for `42.1`."""
    version, _, index = text.partition(".")
    return version.isdecimal() and index.isdecimal()


def entry_text(entry: Entry) -> str:
    """Write one entry."""
    if entry.form == "verbatim" and not entry.item and not entry.text:
        return entry.key
    parts = [entry.key, entry.form]
    if entry.item or entry.text:
        parts.append(entry.item or "=")
    if entry.text:
        parts.append(entry.text)
    return " ".join(parts)


def texts_of(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Write entries, neighbours of one event as a run `42.0-3`."""
    out: list[str] = []
    run_version, run_first, run_last = "", 0, -2
    for entry in entries:
        text = entry_text(entry)
        if " " in text:
            run_version = ""
            out.append(text)
            continue
        version, _, index_text = text.partition(".")
        index = int(index_text)
        if version == run_version and index == run_last + 1:
            run_last = index
            out[-1] = f"{version}.{run_first}-{run_last}"
        else:
            run_version, run_first, run_last = version, index, index
            out.append(text)
    return tuple(out)


def entries_of(texts: Iterable[str]) -> Iterator[Entry]:
    """Read what `texts_of` wrote."""
    for text in texts:
        if " " in text:
            key, form, *rest = text.split(" ")
            item = rest[0] if rest and rest[0] != "=" else ""
            yield Entry(key, form, item, rest[1] if len(rest) > 1 else "")
        elif "-" in text:
            first, _, last = text.partition("-")
            version, _, index = first.partition(".")
            for place in range(int(index), int(last) + 1):
                yield Entry(f"{version}.{place}")
        else:
            yield Entry(text)


class WindowBuilder:
    """Applies deltas one by one; `entries` holds the window by key, in order."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries: dict[str, Entry] = {entry.key: entry for entry in entries}

    def apply(self, delta: Delta) -> None:
        """Change the window as the event says. An unknown key is a damaged event (KeyError)."""
        entries = self.entries
        if delta.remove:
            self._remove(delta.remove)
        for entry in entries_of(delta.replace):
            entries[entry.key]  # the place must exist
            entries[entry.key] = entry
        if delta.insert:
            self._insert(delta.insert)
        for text in delta.append:
            if " " in text or "-" in text:
                for entry in entries_of((text,)):
                    self.entries[entry.key] = entry
            else:
                self.entries[text] = Entry(text)

    def _remove(self, spans: Iterable[str]) -> None:
        keys: list[str] = []
        places: dict[str, int] = {}
        for span in spans:
            first, dots, last = span.partition("..")
            if not dots:
                del self.entries[first]
                continue
            if not keys:
                keys = list(self.entries)
                places = {key: place for place, key in enumerate(keys)}
            for key in keys[places[first] : places[last] + 1]:
                self.entries.pop(key, None)

    def _insert(self, inserts: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        for after, texts in inserts:
            new = {entry.key: entry for entry in entries_of(texts)}
            if not after:
                self.entries = new | self.entries
                continue
            rebuilt: dict[str, Entry] = {}
            self.entries[after]  # the place must exist
            for key, entry in self.entries.items():
                rebuilt[key] = entry
                if key == after:
                    rebuilt.update(new)
            self.entries = rebuilt

    def window(self, version: int) -> Window:
        """The window as it stands."""
        return Window(version, tuple(self.entries.values()))


def project(events: Iterable[AnyEvent], base: Iterable[Entry] = (), version: int = 0) -> Window:
    """Fold events into the window after them.

    Args:
        events: consecutive events of one session; those without a delta only count.
        base: the entries before them.
        version: the version of `base`.
    """
    builder = WindowBuilder(base)
    for event in events:
        version += 1
        delta: Delta | None = getattr(event, "delta", None)
        if delta is not None:
            builder.apply(delta)
    return builder.window(version)


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
