"""What one change of the window took away, as facts for one page: `report S c2`.

Knows nothing about Markdown, HTML and terminals.
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING

from msgspec import Struct

from ..content import to_text
from ..errors import BadInput
from ..events import ItemsEvicted, RolledBack, WindowCompacted, WindowRewritten
from ..finding.lives import reported_after
from ..references import find_change, handle_of
from ..rolling_back import plan_rollback, undone_versions
from ..storage.store import StoredEvent
from ..views.comparing import Compared, Comparison, compare
from ..views.contents import WindowView
from .hiding import Hider
from .losses import Loss, losses_of

if TYPE_CHECKING:
    from ..session import Session

BRIEF_CHARS_MAX = 2000


class Size(Struct, frozen=True):
    """A number before and after; None = not on record."""

    name: str
    before: int | None
    after: int | None


class Undo(Struct, frozen=True):
    """How to put it back."""

    commands: tuple[str, ...]
    """"" is never among them; empty when nothing is to be undone, then `why` says so."""
    why: str = ""
    tokens_now: int = 0
    tokens_after: int = 0
    unrecorded: int = 0
    """Tokens of the last call that the recording does not hold."""
    limit: int | None = None

    @property
    def is_over(self) -> bool:
        """The result, with what the recording does not hold, is over the model's limit."""
        return self.limit is not None and self.tokens_after + self.unrecorded > self.limit


class Report(Struct, frozen=True):
    """One change of the window. Texts are recorded, and without secrets."""

    session: str
    handle: str
    kind: str
    """`compaction`, `eviction`, `roll-back`, `rewind` ..."""
    version: int
    title: str
    format: str
    model: str
    trigger: str
    at_ms: int | None
    tokens_method: str
    coverage: str
    kept: int
    dropped: int
    added: int
    depth: int
    """2 = a summary of a summary."""
    freed: int | None
    """Tokens that an eviction freed, as its source says."""
    sizes: tuple[Size, ...]
    lost: tuple[Loss, ...]
    brief_item: str
    brief: str
    brief_tokens: int
    brief_chars_more: int
    """Characters of the brief that are not in `brief`."""
    undo: Undo
    look: tuple[str, ...]
    """Commands that show the evidence in full."""
    hidden: int | None
    """Secrets that were hidden; None = nobody looked for any."""


def report(
    session: Session, handle: str = "", *, has_secrets: bool = False, file: str = ""
) -> Report:
    """Gather what one change of the window took away, and how to undo it.

    Args:
        handle: `c2`, `e1`, `r1` or a version; "" = the last compaction.
        has_secrets: show everything as it was recorded.
        file: where the session was read from, when it is in no ledger yet.

    Raises:
        BadInput: it did not change the window, or there is no compaction.
        UnknownReference: there is no such event.
    """
    stored = _change(session, handle)
    found = compare(session, stored.version - 1, stored.version)
    before, after = (session.window(version) for version in (found.before, found.after))
    brief = _brief_of(stored, found)
    lost = [*found.dropped, *(change.before for change in found.changed)]
    opened, event = session.opened, stored.event
    title = to_text(session.store.bodies.get(opened.title)) if opened.title is not None else ""
    texts = (title, *(entry.text for entry in (*lost, *brief)))
    clean = Hider((), None) if has_secrets else Hider(texts)
    brief_text = clean("\n\n".join(entry.text for entry in brief))
    name = handle_of(stored)
    losses = tuple(losses_of(lost, brief, clean))
    take_in = (f"ctxledger ingest {quote(file)}",) if file else ()
    shown = (
        f"ctxledger diff {quote(file or session.name)} {name}",
        f"ctxledger show {quote(file or session.name)} ITEM",
    )
    return Report(
        session=session.name,
        handle=name,
        kind=_kind(event),
        version=stored.version,
        title=clean(title),
        format=opened.format,
        model=opened.model,
        trigger=getattr(event, "trigger", "") or getattr(event, "rule", ""),
        at_ms=event.at_ms,
        tokens_method=found.tokens_method,
        coverage=after.coverage,
        kept=len(found.kept) + len(found.moved),
        dropped=len(lost),
        added=len(found.added),
        depth=getattr(event, "depth", 1),
        freed=event.tokens.n if isinstance(event, ItemsEvicted) and event.tokens else None,
        sizes=tuple(_sizes(session, event, before, after)),
        lost=losses,
        brief_item=brief[0].item if brief else "",
        brief=brief_text[:BRIEF_CHARS_MAX],
        brief_tokens=sum(entry.tokens for entry in brief),
        brief_chars_more=max(0, len(brief_text) - BRIEF_CHARS_MAX),
        undo=_undo(session, stored, take_in),
        look=shown,
        hidden=clean.count,
    )


def _change(session: Session, handle: str) -> StoredEvent:
    if not handle:
        compactions = session.store.marks(session.id, "window_compacted")
        if not compactions:
            raise BadInput(
                f"{session.name} has no compaction to report on.",
                "Name another change of its window: e1, r1, or a version.",
            )
        return compactions[-1]
    stored = find_change(session.store, session.id, handle)
    if getattr(stored.event, "delta", None) is None:
        raise BadInput(
            f"{handle} did not change the window.", "Name a compaction, an eviction, a roll-back."
        )
    return stored


def _kind(event: object) -> str:
    match event:
        case WindowCompacted():
            return "compaction"
        case ItemsEvicted():
            return "eviction"
        case RolledBack():
            return "roll-back"
        case WindowRewritten():
            return event.cause
        case _:
            return "change"


def _sizes(session: Session, event: object, before: WindowView, after: WindowView) -> list[Size]:
    sizes = [
        Size("items", len(before.entries), len(after.entries)),
        Size("tokens, counted", before.tokens, after.tokens),
    ]
    was, now = before.categories, after.categories
    sizes += [
        Size(f"tokens: {name}", was.get(name, 0), now.get(name, 0)) for name in {**was, **now}
    ]
    if isinstance(event, WindowCompacted):
        told_before = event.tokens_before.n if event.tokens_before else before.reported
        told_after = event.tokens_after.n if event.tokens_after else None
        told_after = told_after or reported_after(session, after.version)
        sizes.append(Size("context, as reported", told_before, told_after))
    return sizes


def _brief_of(stored: StoredEvent, found: Comparison) -> list[Compared]:
    items = set(getattr(stored.event, "brief", ()))
    return [entry for entry in found.added if entry.item in items or entry.form == "brief"]


def _undo(session: Session, stored: StoredEvent, take_in: Sequence[str]) -> Undo:
    handle = handle_of(stored)
    if stored.version in undone_versions(session):
        return Undo((), "It is undone already; `ctxledger log` shows by what.")
    try:
        plan = plan_rollback(session, (handle,))
    except BadInput as error:
        return Undo((), f"{error.message} {error.hint}")
    roll_back = f"ctxledger rollback {quote(session.name)} {handle}"
    return Undo(
        commands=(*take_in, f"{roll_back} --dry-run", roll_back),
        tokens_now=plan.tokens_before,
        tokens_after=plan.tokens_after,
        unrecorded=max(0, session.window(plan.base_version).unrecorded or 0),
        limit=plan.limit,
    )
