"""Roll back: what can be undone, what that would do, and the one event that does it.

Knows nothing about terminals; the pure part is rollback.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from .errors import BadInput
from .events import Delta, RolledBack, WindowCompacted
from .references import find_handle
from .rollback import undo_change, verbatim
from .session_state import OPERATOR
from .store import StoredEvent
from .window import Entry, delta_between

if TYPE_CHECKING:
    from .session import Session


class RollbackPlan(Struct, frozen=True):
    """What a roll-back would do; nothing is written yet."""

    undid: tuple[int, ...]
    to: int
    base_version: int
    delta: Delta
    restored: tuple[str, ...]
    removed: tuple[str, ...]
    tokens_before: int
    tokens_after: int
    limit: int | None
    is_raw: bool


def undone_versions(session: Session) -> set[int]:
    """Versions of events that roll-backs have undone, and not undone again."""
    compacted = [stored.version for stored in session.store.marks(session.id, "window_compacted")]
    undone: set[int] = set()
    flips: dict[int, set[int]] = {}
    for stored in session.store.marks(session.id, "rolled_back"):
        event = stored.event
        assert isinstance(event, RolledBack), "BUG: type and data differ"
        flip = set(event.undid).union(*(flips.get(version, ()) for version in event.undid))
        if event.to:
            flip |= {v for v in compacted if event.to < v < stored.version} - undone
        flips[stored.version] = flip
        undone ^= flip
    return undone


def compactions(session: Session) -> list[tuple[StoredEvent, bool]]:
    """(compaction, is it in force), oldest first."""
    undone = undone_versions(session)
    return [
        (stored, stored.version not in undone)
        for stored in session.store.marks(session.id, "window_compacted")
    ]


def plan_rollback(
    session: Session, handles: Sequence[str] = (), *, to: str = "", is_raw: bool = False
) -> RollbackPlan:
    """What a roll-back would do (default: undo the last compaction in force).

    Raises:
        UnknownReference: there is no such event.
        BadInput: nothing to undo; or a later compaction covers it, which the hint names.
    """
    head = session.store.head_version(session.id)
    now = list(session.store.window(session.id, head).entries)
    versions: list[int] = []
    to_version = 0
    if to:
        to_version = session.resolve(to)
        after = list(session.store.window(session.id, to_version).entries)
    else:
        versions = _versions_to_undo(session, handles)
        after = now
        for version in versions:
            after = _undo_one(session, after, version, versions)
    old_keys, new_keys = {e.key for e in now}, {e.key for e in after}
    restored = {e.key for e in after if e.key not in old_keys or e not in now}
    if is_raw:
        after = verbatim(after, restored)
    limit = session.opened.limit_tokens or None
    return RollbackPlan(
        undid=tuple(sorted(versions)),
        to=to_version,
        base_version=head,
        delta=delta_between(now, after),
        restored=tuple(e.key for e in after if e.key in restored),
        removed=tuple(e.key for e in now if e.key not in new_keys),
        tokens_before=sum(e.tokens for e in session.view_entries(now)),
        tokens_after=sum(e.tokens for e in session.view_entries(after)),
        limit=limit,
        is_raw=is_raw,
    )


def apply_rollback(session: Session, plan: RollbackPlan, *, reason: str = "") -> int:
    """Append the roll-back that was planned and give its number: `r<number>`.

    Raises:
        ConflictError: the session moved on since the plan was made; nothing was written.
    """
    number = len(session.store.marks(session.id, "rolled_back")) + 1
    session.version = plan.base_version
    with session.writing():
        event = RolledBack(
            number=number,
            undid=plan.undid,
            to=plan.to,
            is_raw=plan.is_raw,
            reason=session.store.bodies.put(reason.encode()) if reason else None,
            delta=plan.delta,
            at_ms=session.ledger.now_ms(),
        )
        session.ledger.writer.append(session.id, [event], OPERATOR)
    return number


def _versions_to_undo(session: Session, handles: Sequence[str]) -> list[int]:
    """Versions, newest first."""
    if handles:
        found = {find_handle(session.store, session.id, handle).version for handle in handles}
        already = found & undone_versions(session)
        if already:
            raise BadInput(
                f"Version {min(already)} is undone already.",
                "See `ctxledger log --type rollback`; undo that roll-back to bring it back.",
            )
        return sorted(found, reverse=True)
    in_force = [stored.version for stored, is_in_force in compactions(session) if is_in_force]
    if not in_force:
        raise BadInput(
            "There is no compaction in force to undo.",
            "Name what to undo (c1, e2, r1), or restore a version with --to REF.",
        )
    return in_force[-1:]


def _undo_one(
    session: Session, now: list[Entry], version: int, chosen: Sequence[int]
) -> list[Entry]:
    before = session.store.window(session.id, version - 1).entries
    after = session.store.window(session.id, version).entries
    brought = {e.key for e in after} - {e.key for e in before}
    event = session.store.read_one(session.id, version).event
    if isinstance(event, WindowCompacted) and brought and not brought & {e.key for e in now}:
        cover = _covering(session, version, brought, chosen)
        if cover is not None:
            raise BadInput(
                f"c{event.number} is covered by a later compaction, c{cover}.",
                f"Undo both: `ctxledger rollback {session.name} c{event.number} c{cover}`.",
            )
    return undo_change(now, before, after)


def _covering(session: Session, version: int, keys: set[str], chosen: Sequence[int]) -> int | None:
    for stored, is_in_force in compactions(session):
        if stored.version <= version or not is_in_force or stored.version in chosen:
            continue
        before = {e.key for e in session.store.window(session.id, stored.version - 1).entries}
        after = {e.key for e in session.store.window(session.id, stored.version).entries}
        if keys & before and not keys & after:
            return getattr(stored.event, "number", None)
    return None
