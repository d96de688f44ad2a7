"""What a roll-back does to the window: the inverse of chosen events, with all later items kept.

Pure: windows in, entries out. Knows nothing about storage and sessions.
"""

from __future__ import annotations

from collections.abc import Sequence

from .window import Entry


def undo_change(
    now: Sequence[Entry], before: Sequence[Entry], after: Sequence[Entry]
) -> list[Entry]:
    """The window `now` without the change that turned `before` into `after`.

    What the change took away comes back where it stood, relative to its old neighbours; what it
    brought leaves; what it altered is as it was, unless it was altered again since. Everything
    that came later stays.
    """
    before_by_key = {e.key: e for e in before}
    after_by_key = {e.key: e for e in after}
    kept = [
        _as_before(e, before_by_key, after_by_key)
        for e in now
        if e.key in before_by_key or e.key not in after_by_key
    ]
    present = {e.key for e in kept}
    missing = [e for e in before if e.key not in present and e.key not in after_by_key]
    if not missing:
        return kept
    restored = {e.key for e in missing}
    behind: dict[str, list[Entry]] = {}
    anchor = ""
    for entry in before:
        if entry.key in present:
            anchor = entry.key
        elif entry.key in restored:
            behind.setdefault(anchor, []).append(entry)
    result = list(behind.get("", ()))
    for entry in kept:
        result.append(entry)
        result.extend(behind.get(entry.key, ()))
    return result


def _as_before(entry: Entry, before: dict[str, Entry], after: dict[str, Entry]) -> Entry:
    """An entry the change altered goes back, unless something altered it again."""
    old = before.get(entry.key)
    if old is not None and after.get(entry.key) == entry:
        return old
    return entry


def verbatim(entries: Sequence[Entry], restored: set[str]) -> list[Entry]:
    """The same window with the restored entries in full instead of a placeholder."""
    return [
        Entry(e.key, "verbatim", e.item) if e.key in restored and e.form != "brief" else e
        for e in entries
    ]
