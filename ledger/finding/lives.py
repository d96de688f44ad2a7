"""The life of an item: entered by what, taken away by what, what stands for it, how to undo.

From the read models and the one event at each place; nothing is replayed. Knows nothing about
terminals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from msgspec import Struct

from ..caches.read_models import Models
from ..caches.touching import LEFT, MOVED, STOOD_IN
from ..content import to_text
from ..events import (
    AnyEvent,
    CallCompleted,
    ItemsEvicted,
    RolledBack,
    Tokens,
    WindowCompacted,
    WindowRewritten,
)
from ..references import handle_of
from ..rolling_back import undone_versions
from ..storage.store import StoredEvent
from ..views.contents import StoredItem, load_contents
from ..window import split_id
from .effects import cause_of, gone_by, touches_of

if TYPE_CHECKING:
    from ..session import Session

BRIEFS_MAX = 1000
"""Compactions followed from an item to the brief that stands for it now."""
NEXT_CALL_EVENTS = 200
"""How far behind a compaction its next call is looked for."""


class Life(Struct, frozen=True):
    """One stay of an item's own words in the window, from entering to leaving."""

    item: str
    entered: int
    """Version; 0 = it never was in the window (a placeholder's text, a discarded draft)."""
    by: str
    """What brought it: `message`, `c1`, `r1`, `rewind at 167` ..."""
    left: int | None
    """Version; None = it is there at the head."""
    left_by: str
    """What took it away: `c1`, `e2`, `rewind at 167`; "" when it is there."""
    brief: str
    """The brief that stands for it at the head, as an item id; "" = none."""
    in_window: bool
    """These words are in the window at the head."""
    form: str
    """How the item is in the window at the head: `verbatim`, `placeholder` ...; "" = not at all."""
    tokens: int
    """Of the item's own words, by the ledger's counter."""
    put_back: str
    """The command that brings it back; "" when it is there."""
    why: str
    """What is on record about its leaving: trigger, numbers, reason."""
    in_short: str = ""
    """The same in a few words: `automatic, 167k -> 52k`; "" when there is nothing to say."""


class _Blame:
    """One answer: what was read for it once."""

    def __init__(self, session: Session, models: Models) -> None:
        self.session = session
        self.models = models
        self.forms = {entry.item_id: entry.form for entry in session.structure().entries}
        self._undone: set[int] | None = None
        self._events: dict[int, StoredEvent] = {}
        self._gone: dict[str, list[int]] = {}
        self._whys: dict[int, str] = {}
        self._in_short: dict[int, str] = {}

    def stored(self, version: int) -> StoredEvent:
        if version not in self._events:
            self._events[version] = self.session.store.read_one(self.session.id, version)
        return self._events[version]

    def event(self, version: int) -> AnyEvent:
        return self.stored(version).event

    def why(self, version: int) -> str:
        if version not in self._whys:
            self._whys[version] = _why(self.session, version, self.event(version))
        return self._whys[version]

    def in_short(self, version: int) -> str:
        if version not in self._in_short:
            self._in_short[version] = _in_short(self.session, version, self.event(version))
        return self._in_short[version]

    def touches(self, item: str) -> list[tuple[int, int]]:
        return touches_of(self.session.store, self.models, self.session.id, item)

    def gone(self, item: str) -> list[int]:
        if item not in self._gone:
            self._gone[item] = gone_by(self.touches(item))
        return self._gone[item]

    def undone(self) -> set[int]:
        if self._undone is None:
            self._undone = undone_versions(self.session)
        return self._undone

    def cover(self, item: str) -> tuple[list[int], str]:
        """(versions of all that stands between the item and the window, the brief there now)."""
        versions = list(self.gone(item))
        brief = ""
        for _ in range(BRIEFS_MAX):
            last = self.event(versions[-1])
            if not isinstance(last, WindowCompacted) or not last.brief:
                break
            brief = next((b for b in last.brief if b in self.forms), "")
            later = self.gone(last.brief[0])
            if brief or not later:
                break
            versions.extend(later)
        return versions, brief


def lives_of_items(session: Session, models: Models, found: Mapping[str, StoredItem]) -> list[Life]:
    """The lives of items, in order of the items, each item's stays oldest first.

    Args:
        found: items as stored, by id.
    """
    blocks = load_contents(session.store, found.values())
    tokens = session.ledger.tokens.count(
        {item: (stored.block.body, blocks[item]) for item, stored in found.items()}
    )
    blame = _Blame(session, models)
    return [
        life
        for item in sorted(found, key=split_id)
        for life in _stays_of(blame, item, tokens[item])
    ]


def _stays_of(blame: _Blame, item: str, tokens: int) -> list[Life]:
    stays: list[tuple[int, int | None]] = []
    touches = [touch for touch in blame.touches(item) if touch[1] != MOVED]
    for version, what in touches:
        is_open = bool(stays) and stays[-1][1] is None
        if what in (LEFT, STOOD_IN):
            if is_open:
                stays[-1] = (stays[-1][0], version)
        elif not is_open:
            stays.append((version, None))
    form = blame.forms.get(item, "")
    if not stays:
        why = "it stands in for something else, or was never used"
        return [Life(item, 0, "", None, "", "", False, form, tokens, "", why)]
    versions, brief = blame.cover(item) if stays[-1][1] is not None else ([], "")
    lives = []
    for entered, left in stays:
        lives.append(
            Life(
                item=item,
                entered=entered,
                by=cause_of(entered, blame.event(entered)),
                left=left,
                left_by=cause_of(left, blame.event(left)) if left is not None else "",
                brief=brief,
                in_window=left is None,
                form=form,
                tokens=tokens,
                put_back=_put_back(blame, versions) if left is not None and versions else "",
                why=blame.why(left) if left is not None else "",
                in_short=blame.in_short(left) if left is not None else "",
            )
        )
    return lives


def _put_back(blame: _Blame, versions: Sequence[int]) -> str:
    """Undo all that stands between, or restore the version before the first of it."""
    name = quote(blame.session.name)
    if blame.undone().intersection(versions):
        return f"ctxledger rollback {name} --to {versions[0] - 1}"
    handles = dict.fromkeys(handle_of(blame.stored(version)) for version in versions)
    return f"ctxledger rollback {name} {' '.join(handles)}"


def _why(session: Session, version: int, event: AnyEvent) -> str:
    """What is on record, in a few words; free text of the record in full."""
    parts: list[str] = []
    reason = getattr(event, "reason", None)
    match event:
        case WindowCompacted():
            parts.append(f"compaction by {event.method}")
            parts += [f"trigger {event.trigger}"] if event.trigger else []
            parts.append(_from_to(event, reported_after(session, version)))
            parts += [f"summary of a summary, depth {event.depth}"] if event.depth > 1 else []
        case ItemsEvicted():
            parts.append(f"eviction by {event.rule}")
            if event.tokens is not None:
                parts.append(f"freed {event.tokens.n:,} tokens ({event.tokens.counter})")
        case RolledBack():
            parts.append(f"restored version {event.to}" if event.to else "roll-back")
        case WindowRewritten():
            parts.append(f"window rewritten: {event.cause}")
        case _:
            parts.append("replaced")
    if getattr(event, "is_inferred", False):
        parts.append("inferred")
    if isinstance(reason, bytes):
        parts.append(to_text(session.store.bodies.get(reason)))
    return ", ".join(part for part in parts if part)


def _in_short(session: Session, version: int, event: AnyEvent) -> str:
    if isinstance(event, ItemsEvicted):
        freed = f"{_thousands(event.tokens.n)} freed" if event.tokens is not None else ""
        return ", ".join(filter(None, (event.rule, freed)))
    if not isinstance(event, WindowCompacted):
        return ""
    before, after = event.tokens_before, event.tokens_after
    n = after.n if after is not None else reported_after(session, version)
    sizes = "" if before is None else _thousands(before.n)
    sizes += f" -> {_thousands(n)}" if before is not None and n is not None else ""
    trigger = {"auto": "automatic"}.get(event.trigger, event.trigger)
    return ", ".join(filter(None, (trigger, sizes)))


def _thousands(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 10_000 else f"{tokens:,}"


def _from_to(event: WindowCompacted, reported: int | None) -> str:
    """The sizes that the source gave; for the one after, else what the next call reported."""
    before, after = event.tokens_before, event.tokens_after
    if after is None and reported is not None:
        after = Tokens(reported, "provider")
    if before is None:
        return f"{after.n:,} tokens after ({after.counter})" if after is not None else ""
    if after is None:
        return f"{before.n:,} tokens before ({before.counter})"
    counters = " and ".join(dict.fromkeys((before.counter, after.counter)))
    return f"{before.n:,} -> {after.n:,} tokens ({counters})"


def reported_after(session: Session, version: int) -> int | None:
    """Context size of the first call soon after a version that reported one."""
    to = version + NEXT_CALL_EVENTS
    for stored in session.events(after=version, to=to, types=("call_completed",)):
        event = stored.event
        if isinstance(event, CallCompleted) and event.called > version:
            reported = event.usage.context_tokens if event.usage is not None else 0
            if reported:
                return reported
    return None
