"""What a roll-back does to the window, and which changes are undone after several.

It is the inverse of chosen events, with all later items kept. Pure: windows and events in,
entries and versions out. Knows nothing about storage and sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .events import OPERATOR, AnyEvent, RolledBack, WindowRewritten
from .window import Entry

TRACKED_TYPES = (
    "items_evicted",
    "window_compacted",
    "items_reinjected",
    "window_rewritten",
    "rolled_back",
)
"""Changes that `undone_after` follows; appended messages are not among them."""
Change = tuple[int, str, AnyEvent]
"""(version, actor, event)."""


def undone_after(changes: Iterable[Change]) -> set[int]:
    """Versions of changes whose effect is undone in the window at the end.

    Args:
        changes: those of the `TRACKED_TYPES`, oldest first.
    """
    undone: set[int] = set()
    seen: list[tuple[int, str]] = []
    states: list[tuple[int, set[int]]] = []
    flips: dict[int, set[int]] = {}
    first_local = 0
    for version, actor, event in changes:
        before = undone
        if isinstance(event, RolledBack) and event.to:
            later = {v for v, _ in seen if v > event.to}
            undone = _state_at(states, event.to) | later
        elif isinstance(event, RolledBack):
            for other in sorted(event.undid, reverse=True):
                undone = undone ^ (flips.get(other, set()) | {other})
        elif isinstance(event, WindowRewritten) and event.cause == "restore" and first_local:
            local = {v for v, by in seen if v >= first_local and by == OPERATOR}
            undone = _state_at(states, first_local - 1) | local
            first_local = 0
        if actor == OPERATOR and not first_local:
            first_local = version
        seen.append((version, actor))
        if undone != before:
            flips[version] = undone ^ before
            states.append((version, undone))
    return undone


def _state_at(states: Sequence[tuple[int, set[int]]], version: int) -> set[int]:
    return next((undone for at, undone in reversed(states) if at <= version), set())


def undo_change(
    now: Sequence[Entry],
    before: Sequence[Entry],
    after: Sequence[Entry],
    is_fixed: Callable[[Entry], bool] = lambda _: False,
) -> list[Entry]:
    """The window `now` without the change that turned `before` into `after`.

    What the change took away comes back where it stood, relative to its old neighbours; what it
    brought leaves; what it altered or moved is as it was, unless it was altered or moved again
    since. Everything that came later stays.

    Args:
        is_fixed: tells tool definitions and system blocks, which stay in front of the rest.

    Postcondition: `undo_change(after, before, after) == before`.
    """
    before_by_key = {e.key: e for e in before}
    after_by_key = {e.key: e for e in after}
    kept = [
        _as_before(e, before_by_key, after_by_key)
        for e in now
        if e.key in before_by_key or e.key not in after_by_key
    ]
    kept = _in_old_order(kept, before_by_key, after_by_key)
    present = {e.key for e in kept}
    restored = {e.key for e in before if e.key not in present and e.key not in after_by_key}
    if not restored:
        return kept
    behind, ahead = _places(before, present, restored)
    result = list(behind.get("", ()))
    for entry in kept:
        result.extend(ahead.get(entry.key, ()))
        result.append(entry)
        result.extend(behind.get(entry.key, ()))
    return sorted(result, key=lambda entry: not is_fixed(entry))


def _places(
    before: Sequence[Entry], present: set[str], restored: set[str]
) -> tuple[dict[str, list[Entry]], dict[str, list[Entry]]]:
    """Where restored entries go: (behind an entry, ahead of an entry), by its key.

    Each goes to the neighbour that it touched; to the one before it if there is a choice.
    """
    behind: dict[str, list[Entry]] = {}
    ahead: dict[str, list[Entry]] = {}
    anchor, is_apart = "", False
    loose: list[Entry] = []
    for entry in before:
        if entry.key in present:
            if loose:
                ahead[entry.key], loose = loose, []
            anchor, is_apart = entry.key, False
        elif entry.key not in restored:
            behind.setdefault(anchor, []).extend(loose)
            loose, is_apart = [], True
        elif is_apart:
            loose.append(entry)
        else:
            behind.setdefault(anchor, []).append(entry)
    behind.setdefault(anchor, []).extend(loose)
    return behind, ahead


def _as_before(entry: Entry, before: dict[str, Entry], after: dict[str, Entry]) -> Entry:
    """An entry the change altered goes back, unless something altered it again."""
    old = before.get(entry.key)
    if old is not None and after.get(entry.key) == entry:
        return old
    return entry


def _in_old_order(
    kept: list[Entry], before: dict[str, Entry], after: dict[str, Entry]
) -> list[Entry]:
    """Entries that the change moved go back, unless their order has changed again since."""
    both = {e.key: e for e in kept if e.key in before and e.key in after}
    if list(both) != [key for key in after if key in both]:
        return kept
    old_order = iter([both[key] for key in before if key in both])
    return [next(old_order) if e.key in both else e for e in kept]


def verbatim(entries: Sequence[Entry], restored: set[str]) -> list[Entry]:
    """The same window with the restored entries in full instead of a placeholder."""
    return [
        Entry(e.key, "verbatim", e.item) if e.key in restored and e.form != "brief" else e
        for e in entries
    ]
