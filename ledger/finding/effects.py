"""What touched an item, when, and by which name people call that event.

Reads the `touches` read model. Knows nothing about terminals.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..caches.read_models import Models
from ..caches.touching import LEFT, MOVED, STOOD_IN
from ..events import (
    AnyEvent,
    CompactionProposed,
    ItemsEvicted,
    ItemsReinjected,
    MessageAppended,
    MessageExtended,
    RolledBack,
    SystemSet,
    ToolsSet,
    WindowCompacted,
    WindowRewritten,
)
from ..storage.store import Store
from ..window import split_id


def touches_of(store: Store, models: Models, session: int, item: str) -> list[tuple[int, int]]:
    """(version, what) of all that happened to an item, oldest first; a fork's parents too."""
    place = split_id(item)
    found: set[tuple[int, int]] = set()
    for part in store.lineage(session):
        found.update(
            store.db.rows(
                f"SELECT version, what FROM {models.touches} WHERE session = ? AND item_version = ?"
                " AND item_place = ? AND version > ? AND version <= ?",
                (part.session, *place, part.after, part.to),
            )
        )
    return sorted(found)


def is_visible(touches: Iterable[tuple[int, int]]) -> bool:
    """True if the item's own words are in the window after these touches."""
    visible = False
    for _, what in touches:
        if what != MOVED:
            visible = what not in (LEFT, STOOD_IN)
    return visible


def gone_by(touches: Iterable[tuple[int, int]]) -> list[int]:
    """Versions that took the item's words away, one after the other; empty if they are visible."""
    versions: list[int] = []
    for version, what in touches:
        if what == MOVED:
            continue
        if what in (LEFT, STOOD_IN):
            versions.append(version)
        else:
            versions = []
    return versions


def cause_of(version: int, event: AnyEvent) -> str:
    """What a change is called as a cause: `c1`, `e2`, `r1`, `message`, `rewind at 167`."""
    match event:
        case WindowCompacted():
            return f"c{event.number}"
        case ItemsEvicted():
            return f"e{event.number}"
        case RolledBack():
            return f"r{event.number}"
        case CompactionProposed():
            return f"p{event.number}"
        case WindowRewritten():
            return f"{event.cause} at {version}"
        case ItemsReinjected():
            return f"re-injection at {version}"
        case MessageAppended() | MessageExtended():
            return "message"
        case SystemSet():
            return f"system at {version}"
        case ToolsSet():
            return f"tools at {version}"
        case _:
            return f"version {version}"
