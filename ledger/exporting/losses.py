"""What was lost, by group and with evidence: item ids, quotes, whether the brief says it.

Everything recorded that gets on a page passes the finder of secrets first, whole, before it is
cut: a secret that is cut in half is not recognised any more. Pure; knows nothing about storage.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..views.comparing import Compared
from ..views.grouping import GROUPS, Group, said_by_user
from .hiding import Hider

SHOWN_MAX: dict[Group, int] = {
    "rules": 12, "files": 10, "commands": 6, "errors": 6, "todos": 4, "other": 3,
}  # fmt: skip
"""Pieces of evidence of each group; one page holds them."""
WORDS_CHARS_MAX = {"rules": 400}
WORDS_CHARS_MAX_DEFAULT = 160


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


def losses_of(lost: Sequence[Compared], brief: Sequence[Compared], clean: Hider) -> list[Loss]:
    """Group what was lost; of each group, what the brief does not say comes first, then size.

    Args:
        lost: entries in window order.
        brief: the entries that stand in their place.
    """
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
    unit: Sequence[Compared], group: Group, is_in_brief: bool | None, clean: Hider
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
