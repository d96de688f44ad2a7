"""What a roll-back would do, as a screen or as the JSON of the contract.

Knows nothing about how it is done: see ledger/rolling_back.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ctxledger.ledger.rolling_back import RollbackPlan
from ctxledger.ledger.views.comparing import Comparison, compare_windows
from ctxledger.ledger.window import Window

from .bars import bar
from .diff_text import SHOWN_MAX_SHORT, items, show_changes, show_groups
from .output import Output, Styled
from .tables import Column, number

if TYPE_CHECKING:
    from ctxledger.ledger import Session


class Preview(Struct, frozen=True):
    """A plan with everything that is shown of it."""

    session: str
    plan: RollbackPlan
    undid: tuple[str, ...]
    """Handles: `c1`."""
    found: Comparison
    """The window now against the window it would give."""
    unrecorded: int
    """Tokens of the last call that are not in the recording; 0 when none were reported."""

    @classmethod
    def of(cls, session: Session, plan: RollbackPlan) -> Preview:
        """Look at the window a plan would give."""
        now = Window(plan.base_version, plan.before)
        after = Window(plan.base_version + 1, plan.after)
        return cls(
            session=session.name,
            plan=plan,
            undid=tuple(_handle(session, version) for version in plan.undid),
            found=compare_windows(session, now, after),
            unrecorded=max(0, session.window(plan.base_version).unrecorded or 0),
        )

    @property
    def is_over(self) -> bool:
        """The result, with what the recording does not hold, is over the model's limit."""
        limit = self.plan.limit
        return limit is not None and self.plan.tokens_after + self.unrecorded > limit


def _handle(session: Session, version: int) -> str:
    event = session.store.read_one(session.id, version).event
    letters = {"WindowCompacted": "c", "ItemsEvicted": "e", "RolledBack": "r"}
    letter = letters.get(type(event).__name__, "")
    return f"{letter}{getattr(event, 'number', version)}" if letter else str(version)


def rollback_json(
    preview: Preview, *, version: int | None = None, number: int | None = None, undo: str = ""
) -> dict[str, object]:
    """The JSON of `rollback`; without `number` nothing was written."""
    plan, found = preview.plan, preview.found
    return {
        "version": version,
        "undid": list(preview.undid),
        "to": plan.to or None,
        "restored": [e.item for e in found.added] + [c.after.item for c in found.changed],
        "removed": [e.item for e in found.dropped],
        "tokens_before": plan.tokens_before,
        "tokens_after": plan.tokens_after,
        "unrecorded": preview.unrecorded,
        "limit": plan.limit,
        "is_over": preview.is_over,
        "handle": f"r{number}" if number else None,
        "undo": undo,
    }


def show_preview(out: Output, preview: Preview, *, is_short: bool = False) -> None:
    """Print sizes first, then what comes back and what leaves (not when `is_short`)."""
    plan, found = preview.plan, preview.found
    what = f"restore version {plan.to:,}" if plan.to else f"undo {', '.join(preview.undid)}"
    out.line(Styled(preview.session, "bold"), f"  {what} (now at version {plan.base_version:,})")
    whole = max(plan.tokens_before, plan.tokens_after, 1)
    rows = [
        (name, number(n), Styled(bar(n, whole, is_unicode=out.is_unicode), style))
        for name, n, style in (
            ("  now", plan.tokens_before, "yellow"),
            ("  after", plan.tokens_after, "green"),
        )
    ]
    out.table((Column(""), Column("tokens", is_number=True), Column("")), rows)
    out.line(Styled(f"  counted by {found.tokens_method}; {_limit_words(preview)}", "dim"))
    if preview.unrecorded:
        total = plan.tokens_after + preview.unrecorded
        out.line(
            f"  The last call reported {number(preview.unrecorded)} tokens more than the recording"
        )
        out.line(f"  holds (system prompt, tools ...): expect about {number(total)}.")
    if preview.is_over:
        out.line(
            Styled("  The result is over the limit: compact or evict before the next call.", "red")
        )
    back = items(len(found.added) + len(found.changed))
    stay = number(len(found.kept) + len(found.moved))
    out.line(f"  comes back: {back}; leaves: {items(len(found.dropped))}; stays: {stay}.")
    if is_short:
        return
    show_groups(out, "added", found.added, SHOWN_MAX_SHORT, "comes back")
    show_changes(out, found.changed, SHOWN_MAX_SHORT, "comes back in another form")
    show_groups(out, "dropped", found.dropped, {**SHOWN_MAX_SHORT, "other": 4}, "leaves")


def _limit_words(preview: Preview) -> str:
    limit = preview.plan.limit
    if limit is None:
        return "the model's limit is not on record"
    return f"the limit is {number(limit)}"
