"""The list of sessions, newest activity last, from the read models.

Knows nothing about terminals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import Struct

from ..caches.catchup import catch_up, start_over
from ..caches.read_models import Models
from ..caches.session_stats import SessionStats, decode_stats
from ..cost import limit_of
from ..rolling_back import undone_versions
from ..storage.store import Store

if TYPE_CHECKING:
    from ..session import Session


class SessionRow(Struct, frozen=True):
    """One session in the list."""

    id: int
    name: str
    title: str
    """Its own title, else the first line of the first human text; raw: print it with `plain`."""
    format: str
    coverage: str
    model: str
    folder: str
    branch: str
    relation: str
    """`fork`, `subagent`, `side`, or "" for a session of its own."""
    parent: str
    """Name of the parent session, "" when there is none."""
    version: int
    calls: int
    messages: int
    compactions: int
    """Those in force."""
    compactions_total: int
    evictions: int
    rollbacks: int
    quarantined: int
    first_ms: int | None
    """First and last moment by the source's clock, Unix milliseconds."""
    last_ms: int | None
    updated_ms: int
    """`last_ms`, else when its newest event was stored."""
    limit: int | None
    """Tokens of the model's limit, as the user said or as of its last day; None = unknown."""
    reported: int | None
    """Context size of the newest call that its provider reported; None = none was."""


class _Marks(Struct, frozen=True):
    """As much of a session as `undone_versions` looks at."""

    store: Store
    id: int


def session_rows(store: Store) -> list[SessionRow]:
    """All sessions, the one with the newest activity last."""
    found = _load(store, catch_up(store))
    if any(stats is None for _, _, stats in found):
        found = _load(store, start_over(store))  # rows were lost and only the names are back
    names = {session: name for session, name, _ in found}
    rows = [
        _row(store, session, name, stats or SessionStats(), names) for session, name, stats in found
    ]
    return sorted(rows, key=lambda row: (row.updated_ms, row.id))


def _load(store: Store, models: Models) -> list[tuple[int, str, SessionStats | None]]:
    query = f"SELECT id, name, data FROM {models.rows} ORDER BY id"
    return [(session, name, decode_stats(data)) for session, name, data in store.db.rows(query)]


def _row(
    store: Store, session: int, name: str, stats: SessionStats, names: dict[int, str]
) -> SessionRow:
    in_force = stats.compactions
    if stats.rollbacks and stats.compactions:
        handle = cast("Session", _Marks(store, session))
        undone = undone_versions(handle)
        in_force = len(set(store.mark_versions(session, "window_compacted")) - undone)
    return SessionRow(
        id=session,
        name=name,
        title=stats.title,
        format=stats.format,
        coverage=stats.coverage,
        model=stats.model,
        folder=stats.folder,
        branch=stats.branch,
        relation=stats.relation,
        parent=names.get(stats.parent, ""),
        version=stats.version,
        calls=stats.calls,
        messages=stats.messages,
        compactions=in_force,
        compactions_total=stats.compactions,
        evictions=stats.evictions,
        rollbacks=stats.rollbacks,
        quarantined=stats.quarantined,
        first_ms=stats.first_ms,
        last_ms=stats.last_ms,
        updated_ms=stats.last_ms if stats.last_ms is not None else stats.recorded_ms,
        limit=limit_of(
            stats.model,
            stats.last_ms,
            user_tokens=stats.limit_tokens,
            largest_tokens=stats.reported_tokens,
        ).tokens,
        reported=stats.reported_tokens or None,
    )
