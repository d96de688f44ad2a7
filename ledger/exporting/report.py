"""What one change of the window took away, as facts for one page: `report S c2`.

Everything recorded that gets on the page passes `Report.hidden`'s finder first, whole, before it
is cut: a secret that is cut in half is not recognised any more. Knows nothing about Markdown,
HTML and terminals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from ..views.grouping import GROUPS, Group, said_by_user

if TYPE_CHECKING:
    from ..session import Session

SHOWN_MAX: dict[Group, int] = {
    "rules": 12, "files": 10, "commands": 6, "errors": 6, "todos": 4, "other": 3,
}  # fmt: skip
"""Pieces of evidence of each group; one page holds them."""
WORDS_CHARS_MAX = {"rules": 400}
WORDS_CHARS_MAX_DEFAULT = 160
BRIEF_CHARS_MAX = 2000
ITEMS_NAMED_MAX = 4

Hide = Callable[[str], tuple[str, int]]
"""Gives a text without its secrets, and how many were hidden."""


class Evidence(Struct, frozen=True):
    """One thing that was lost: an item, a call with its result, or all about one file."""

    items: tuple[str, ...]
    tokens: int
    words: str
    """Recorded, without secrets, cut."""
    in_brief: bool | None
    """The brief holds these words of the user, or names this file; None = not asked."""


class Loss(Struct, frozen=True):
    """What was lost of one group."""

    group: Group
    items: int
    tokens: int
    units: int
    """Pieces of evidence; those not shown are `units - len(shown)`."""
    shown: tuple[Evidence, ...]


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


class _Hider:
    """Hides secrets and counts them."""

    def __init__(self, hide: Hide | None) -> None:
        self._hide = hide
        self.count: int | None = 0 if hide is not None else None

    def __call__(self, text: str) -> str:
        if self._hide is None:
            return text
        clean, hidden = self._hide(text)
        self.count = (self.count or 0) + hidden
        return clean


def report(
    session: Session, handle: str = "", *, hide: Hide | None = None, file: str = ""
) -> Report:
    """Gather what one change of the window took away, and how to undo it.

    Args:
        handle: `c2`, `e1`, `r1` or a version; "" = the last compaction.
        hide: the finder of secrets; None shows everything as it was recorded.
        file: where the session was read from, when it is in no ledger yet.

    Raises:
        BadInput: it did not change the window, or there is no compaction.
        UnknownReference: there is no such event.
    """
    stored = _change(session, handle)
    found = compare(session, stored.version - 1, stored.version)
    before, after = (session.window(version) for version in (found.before, found.after))
    clean = _Hider(hide)
    brief = _brief_of(stored, found)
    brief_text = clean("\n\n".join(entry.text for entry in brief))
    lost = [*found.dropped, *(change.before for change in found.changed)]
    name = handle_of(stored)
    opened, event = session.opened, stored.event
    title = to_text(session.store.bodies.get(opened.title)) if opened.title is not None else ""
    losses = tuple(_losses(lost, brief, clean))
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
    sizes += [Size(f"tokens: {name}", was.get(name, 0), now.get(name, 0)) for name in {**was, **now}]
    if isinstance(event, WindowCompacted):
        told_before = event.tokens_before.n if event.tokens_before else before.reported
        told_after = event.tokens_after.n if event.tokens_after else None
        told_after = told_after or reported_after(session, after.version)
        sizes.append(Size("context, as reported", told_before, told_after))
    return sizes


def _brief_of(stored: StoredEvent, found: Comparison) -> list[Compared]:
    items = set(getattr(stored.event, "brief", ()))
    return [entry for entry in found.added if entry.item in items or entry.form == "brief"]


def _losses(lost: Sequence[Compared], brief: Sequence[Compared], clean: _Hider) -> list[Loss]:
    said = _flat(" ".join(entry.text for entry in brief))
    losses = []
    for group in GROUPS:
        mine = [entry for entry in lost if entry.group == group]
        units = _units(mine, group)
        if not units:
            continue
        in_brief = [_is_in(said, group, unit[0]) for unit in units]
        worst = sorted(
            range(len(units)),
            key=lambda at: (in_brief[at] is not False, -sum(e.tokens for e in units[at])),
        )
        shown = sorted(worst[: SHOWN_MAX[group]])
        losses.append(
            Loss(
                group=group,
                items=len(mine),
                tokens=sum(entry.tokens for entry in mine),
                units=len(units),
                shown=tuple(_evidence(units[at], group, in_brief[at], clean) for at in shown),
            )
        )
    return losses


def _units(entries: Sequence[Compared], group: Group) -> list[list[Compared]]:
    """All entries about one file, or a call with its result, together; in window order."""
    units: dict[str, list[Compared]] = {}
    for entry in entries:
        about = entry.path if group == "files" else entry.tool_id
        units.setdefault(about or f"item {entry.item}", []).append(entry)
    return list(units.values())


def _evidence(
    unit: Sequence[Compared], group: Group, is_in_brief: bool | None, clean: _Hider
) -> Evidence:
    first = unit[0]
    words = first.text if group == "rules" and not _is_slash_command(first) else first.subject
    if group == "files" and len(unit) > 1:
        words = first.path
    words = _flat(clean(words))
    limit = WORDS_CHARS_MAX.get(group, WORDS_CHARS_MAX_DEFAULT)
    return Evidence(
        items=tuple(entry.item for entry in unit),
        tokens=sum(entry.tokens for entry in unit),
        words=words if len(words) <= limit else f"{words[:limit].rstrip()} ...",
        in_brief=is_in_brief,
    )


def _is_in(said: str, group: Group, entry: Compared) -> bool | None:
    """Whether the brief says it; None where that is not to be expected, or without a brief."""
    if not said:
        return None
    if group == "files":
        return entry.path in said if entry.path else None
    words = said_by_user(entry.text) if group == "errors" else entry.text
    if group not in ("rules", "errors") or not words or _is_slash_command(entry):
        return None
    return _flat(words) in said


def _is_slash_command(entry: Compared) -> bool:
    return entry.group == "rules" and entry.text.lstrip().startswith("<command-")


def _flat(text: str) -> str:
    return " ".join(text.split())


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
