"""The only write of the inspector: append the roll-back that was shown and confirmed.

The ledger is opened for writing for that moment alone. Knows nothing about Textual.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxledger.ledger import Ledger, Session
from ctxledger.ledger.rolling_back import RollbackPlan, apply_rollback

from .feed import Feed
from .widgets.rollback_lines import SHOWN_MAX, RollbackPreview


def preview_rollback(feed: Feed, session: int, handles: Sequence[str], to: str) -> RollbackPreview:
    """Plan it; nothing is written. Raises BadInput, UnknownReference."""
    plan = feed.plan(session, handles, to)
    restored, removed = feed.planned_entries(session, plan, SHOWN_MAX)
    named = tuple(feed.handle_at(session, version) for version in plan.undid)
    return RollbackPreview(
        name=feed.overview(session).name,
        handles=named,
        to=to,
        plan=plan,
        restored=restored,
        removed=removed,
        tokens_method=feed.tokens_method,
        unrecorded=max(0, feed.window(session, plan.base_version, "sent").unrecorded or 0),
    )


def apply_plan(path: str, session: int, plan: RollbackPlan) -> tuple[int, int]:
    """Append the roll-back exactly as planned and give (its number, its version).

    Raises:
        ConflictError: the session moved on since the plan was shown; nothing was written.
        StorageFailed: the ledger cannot be written.
    """
    with Ledger.open(path, "write") as ledger:
        handle = Session(ledger, session)
        number = apply_rollback(handle, plan)
        return number, handle.version
