"""Roll back: what can be undone, what that would do, and the one event that does it.

Knows nothing about terminals; the pure part is rollback.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from shlex import quote
from typing import TYPE_CHECKING

from .deltas import delta_between
from .errors import BadInput
from .events import OPERATOR, WINDOW_TYPES, Delta, RolledBack, WindowCompacted
from .references import find_change, handle_of
from .rollback import TRACKED_TYPES, Change, undo_change, undone_after, verbatim
from .storage.store import StoredEvent
from .views.calls import call_at
from .views.limits import limit_at
from .views.windows import count_tokens
from .window import Entry, split_id

if TYPE_CHECKING:
    from .session import Session

REARRANGING_TYPES = tuple(
    name for name in WINDOW_TYPES if name not in ("message_appended", "message_extended")
)
"""Window changes that may take away or bring back what was there before; all have an index."""


@dataclass(frozen=True)
class RollbackPlan:
    """What a roll-back would do; nothing is written yet."""

    undid: tuple[int, ...]
    """Versions of the events it undoes."""
    to: int
    """The version it restores, 0 when it undoes single events."""
    base_version: int
    """The head it was made for."""
    before: tuple[Entry, ...]
    after: tuple[Entry, ...]
    restored: tuple[str, ...]
    """Keys of entries that come back, or back into another form."""
    removed: tuple[str, ...]
    limit: int | None
    is_raw: bool
    count: Callable[[Sequence[Entry]], dict[Entry, int]]

    @cached_property
    def _tokens(self) -> dict[Entry, int]:
        return self.count([*self.before, *self.after])

    @property
    def tokens_before(self) -> int:
        """Counted tokens of the window now; counted when first asked for."""
        return sum(self._tokens[entry] for entry in self.before)

    @property
    def tokens_after(self) -> int:
        """Counted tokens of the window it gives."""
        return sum(self._tokens[entry] for entry in self.after)


def undone_versions(session: Session) -> set[int]:
    """Versions of changes that are undone at the head.

    By roll-backs that stand, or because an observed agent went on with its own window.
    """
    if not session.store.mark_versions(session.id, "rolled_back"):
        return set()
    return undone_after(_changes(session))


def _changes(session: Session) -> list[Change]:
    store = session.store
    changes = [stored for name in TRACKED_TYPES for stored in store.marks(session.id, name)]
    changes.sort(key=lambda stored: stored.version)
    return [(stored.version, stored.actor, stored.event) for stored in changes]


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
        BadInput: nothing to undo; or a later change covers it, which the hint names.
    """
    head = session.store.head_version(session.id)
    now = list(session.store.window(session.id, head).entries)
    versions: list[int] = []
    to_version = 0
    if to:
        to_version = max(1, session.resolve(to))  # 0 and 1 are both the empty window
        after = list(session.store.window(session.id, to_version).entries)
    else:
        versions = _versions_to_undo(session, handles)
        after = now
        is_fixed = _fixed_test(session)
        for version in versions:
            after = _undo_one(session, after, version, is_fixed)
    old, new_keys = {e.key: e for e in now}, {e.key for e in after}
    restored = {e.key for e in after if old.get(e.key) != e}
    if is_raw:
        after = verbatim(after, restored)
    if after == now:
        raise BadInput(
            "That would change nothing: what it took away is not missing now.",
            "If a later change took it, undo that one too; see `ctxledger log`.",
        )
    limit = limit_at(session, call_at(session, head)).tokens
    return RollbackPlan(
        undid=tuple(sorted(versions)),
        to=to_version,
        base_version=head,
        before=tuple(now),
        after=tuple(after),
        restored=tuple(e.key for e in after if e.key in restored),
        removed=tuple(e.key for e in now if e.key not in new_keys),
        limit=limit,
        is_raw=is_raw,
        count=partial(count_tokens, session),
    )


def apply_rollback(session: Session, plan: RollbackPlan, *, reason: str = "") -> int:
    """Append the roll-back that was planned and give its number: `r<number>`.

    Raises:
        ConflictError: the session moved on since the plan was made; nothing was written.
    """
    with session.writing(plan.base_version):
        number = len(session.store.mark_versions(session.id, "rolled_back")) + 1
        event = RolledBack(
            number=number,
            undid=plan.undid,
            to=plan.to,
            is_raw=plan.is_raw,
            reason=session.store.bodies.put(reason.encode()) if reason else None,
            delta=delta_between(plan.before, plan.after),
            at_ms=session.ledger.now_ms(),
        )
        session.ledger.writer.append(session.id, [event], OPERATOR)
    return number


def _versions_to_undo(session: Session, handles: Sequence[str]) -> list[int]:
    """Versions, newest first."""
    if handles:
        return _not_undone(session, {_version_of(session, handle) for handle in handles})
    in_force = [stored.version for stored, is_in_force in compactions(session) if is_in_force]
    if not in_force:
        raise BadInput(
            "There is no compaction in force to undo.",
            "Name what to undo (c1, e2, r1), or restore a version with --to REF.",
        )
    return in_force[-1:]


def _not_undone(session: Session, versions: set[int]) -> list[int]:
    """The versions, newest first. Raises BadInput if one is undone, or would be by a newer one."""
    newest_first = sorted(versions, reverse=True)
    changes = _changes(session)
    for count, version in enumerate(newest_first):
        undoing = RolledBack(number=0, undid=tuple(newest_first[:count]), delta=Delta())
        if version in undone_after([*changes, (2**62, OPERATOR, undoing)]):
            raise _undone_already(session, version)
    return newest_first


def _undone_already(session: Session, version: int) -> BadInput:
    """Say it by the handle that people type, and which roll-back did it."""
    handle = handle_of(session.store.read_one(session.id, version))
    undone = undone_versions(session)
    by = [
        handle_of(stored)
        for stored in session.store.marks(session.id, "rolled_back")
        if stored.version not in undone
        and isinstance(stored.event, RolledBack)
        and version in stored.event.undid
    ]
    if by:
        return BadInput(
            f"{handle} is undone already, by {by[-1]}.",
            f"`ctxledger rollback {quote(session.name)} {by[-1]}` brings it back.",
        )
    return BadInput(f"{handle} is undone already.", "See `ctxledger log --type rollback,rewrite`.")


def _version_of(session: Session, handle: str) -> int:
    """The version of the change that `c1`, `e2`, `r1` or a plain version names."""
    stored = find_change(session.store, session.id, handle)
    if getattr(stored.event, "delta", None) is None:
        raise BadInput(
            f"{handle} did not change the window.", "Name a compaction, an eviction, a roll-back."
        )
    return stored.version


def _fixed_test(session: Session) -> Callable[[Entry], bool]:
    """Tells entries that are tool definitions or system blocks."""
    versions = {
        version
        for name in ("system_set", "tools_set")
        for version in session.store.mark_versions(session.id, name)
    }
    return lambda entry: split_id(entry.item_id)[0] in versions


def _undo_one(
    session: Session, now: list[Entry], version: int, is_fixed: Callable[[Entry], bool]
) -> list[Entry]:
    before = session.store.window(session.id, version - 1).entries
    after = session.store.window(session.id, version).entries
    brought = {e.key for e in after} - {e.key for e in before}
    if brought and not brought & {e.key for e in now}:
        cover = _covering(session, version, brought)
        if cover is not None:
            raise _covered(session, session.store.read_one(session.id, version), cover)
    return undo_change(now, before, after, is_fixed)


def _covering(session: Session, version: int, keys: set[str]) -> StoredEvent | None:
    """The change that took the last of `keys`, brought by `version`, out of the window."""
    store = session.store
    cover, was_there = 0, True
    rearranged = (v for name in REARRANGING_TYPES for v in store.mark_versions(session.id, name))
    for later in sorted(v for v in rearranged if v > version):
        is_there = any(e.key in keys for e in store.window(session.id, later).entries)
        if was_there and not is_there:
            cover = later
        was_there = is_there
    return store.read_one(session.id, cover) if cover else None


def _covered(session: Session, change: StoredEvent, cover: StoredEvent) -> BadInput:
    mine, other = handle_of(change), handle_of(cover)
    if isinstance(cover.event, WindowCompacted):
        message = f"{mine} is covered by a later compaction, {other}."
    else:
        message = f"What {mine} brought has left the window again, by {other}."
    return BadInput(
        message, f"Undo both: `ctxledger rollback {quote(session.name)} {mine} {other}`."
    )
