"""Two versions of a window side by side, with contents, tokens and what each entry is about.

The structure comes from `deltas.diff`. Knows nothing about terminals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ..content import to_text
from ..deltas import diff
from ..window import Window
from .contents import ViewEntry
from .grouping import About, Group, describe

if TYPE_CHECKING:
    from ..session import Session


class Compared(Struct, frozen=True):
    """One entry of either window."""

    item: str
    form: str
    role: str
    type: str
    tokens: int
    tool_id: str
    """Pairs a call with its result, "" for all else."""
    group: Group
    subject: str
    path: str
    text: str
    """Its readable words in full. Untrusted, as `subject` and `path` are."""


class Changed(Struct, frozen=True):
    """The same entry in another form."""

    before: Compared
    after: Compared


class Comparison(Struct, frozen=True):
    """What differs between the windows at two versions; each list in window order.

    kept + dropped + moved + changed before = `tokens_before`;
    kept + added + moved + changed after = `tokens_after`.
    """

    before: int
    """Version."""
    after: int
    kept: tuple[Compared, ...]
    dropped: tuple[Compared, ...]
    added: tuple[Compared, ...]
    changed: tuple[Changed, ...]
    moved: tuple[Compared, ...]
    tokens_before: int
    tokens_after: int
    tokens_method: str

    @property
    def is_same(self) -> bool:
        """Both windows hold the same entries in the same forms and order."""
        return not (self.dropped or self.added or self.changed or self.moved)


def compare(session: Session, before: int, after: int) -> Comparison:
    """Compare the windows at two versions of one session."""
    old, new = (session.store.window(session.id, version) for version in (before, after))
    return compare_windows(session, old, new)


def compare_windows(session: Session, old: Window, new: Window) -> Comparison:
    """Compare two windows of one session; `new` may be one that does not exist yet."""
    found = diff(old, new)
    old_entries = session.view_entries(old.entries)
    new_entries = session.view_entries(new.entries)
    folder = project_folder(session)
    was = _compared(old_entries, describe(old_entries, folder))
    now = _compared(new_entries, describe(new_entries, folder, others=old_entries))
    return Comparison(
        before=old.version,
        after=new.version,
        kept=tuple(now[e.key] for e in found.kept),
        dropped=tuple(was[e.key] for e in found.dropped),
        added=tuple(now[e.key] for e in found.added),
        changed=tuple(Changed(was[a.key], now[b.key]) for a, b in found.changed),
        moved=tuple(now[e.key] for e in found.moved),
        tokens_before=sum(e.tokens for e in old_entries),
        tokens_after=sum(e.tokens for e in new_entries),
        tokens_method=session.ledger.tokens.name,
    )


def project_folder(session: Session) -> str:
    """The folder the agent worked in, "" when it is not on record."""
    key = session.opened.folder
    return to_text(session.store.bodies.get(key)) if key is not None else ""


def _compared(entries: Sequence[ViewEntry], about: dict[str, About]) -> dict[str, Compared]:
    return {
        e.key: Compared(
            item=e.item,
            form=e.form,
            role=e.role,
            type=e.type,
            tokens=e.tokens,
            tool_id=e.block.tool_id,
            group=about[e.key].group,
            subject=about[e.key].subject,
            path=about[e.key].path,
            text=e.text,
        )
        for e in entries
    }
