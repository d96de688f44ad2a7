"""The window at a version: a pure projection of events, one delta after the other.

A window here is structure only: which items, in which form and order. Contents are joined
later by whoever shows it. Knows nothing about storage, contents, tokens or providers.

    Item ids are `<version>.<index>`: the event that introduced the block, and its place there.
    `entry_text` writes an entry as `KEY`, `KEY-LAST` (a run of one event's blocks), or
    `KEY FORM ITEM TEXT` with `=` for "as before" - short, and readable in the raw database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
"""The words of the design. Windows of a later version may hold others: never checked on reading."""
_ITEM_ID = re.compile(r"[0-9]{1,18}\.[0-9]{1,9}")
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


def split_id(item: str) -> tuple[int, int]:
    """`42.1` -> (42, 1)."""
    version, _, index = item.partition(".")
    return int(version), int(index)


def is_item_id(text: str) -> bool:
    """True for `42.1`."""
    return _ITEM_ID.fullmatch(text) is not None


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
