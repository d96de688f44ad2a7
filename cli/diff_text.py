"""A comparison of two windows as a screen, or as the JSON of the contract.

Knows nothing about how windows are compared: see ledger/views/.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ctxledger.ledger.events import ItemsEvicted, RolledBack, WindowCompacted
from ctxledger.ledger.views.comparing import Changed, Compared, Comparison
from ctxledger.ledger.views.grouping import GROUPS

from .bars import bar
from .output import Output, Styled, Text
from .tables import Column, number

if TYPE_CHECKING:
    from ctxledger.ledger import Session

SHOWN_MAX = {"rules": 12, "files": 8, "commands": 6, "errors": 6, "todos": 4, "other": 4}
"""Items of each group on a terminal; piped or with --all there is no limit."""
SHOWN_MAX_SHORT = {"rules": 6, "files": 4, "commands": 3, "errors": 3, "todos": 2, "other": 1}
"""The same where the comparison is one part of a longer text."""
COLUMNS = (
    Column("", width_min=8),
    Column("", is_number=True, width_min=9),
    Column("", is_flexible=True),
)
_GROUP_WORDS = {"rules": "rules (what the user wrote)"}
_SIGNS = {"dropped": ("-", "red"), "added": ("+", "green"), "moved": ("~", "cyan")}


def comparison_json(found: Comparison) -> dict[str, object]:
    """The JSON of `diff`: all entries, texts in full."""
    return {
        "kept": [_entry_json(e) for e in found.kept],
        "dropped": [_entry_json(e) for e in found.dropped],
        "added": [_entry_json(e) for e in found.added],
        "changed": [
            {**_entry_json(e.after), "before": _entry_json(e.before)} for e in found.changed
        ],
        "moved": [_entry_json(e) for e in found.moved],
        "tokens": {"before": found.tokens_before, "after": found.tokens_after},
        "tokens_method": found.tokens_method,
        "versions": {"before": found.before, "after": found.after},
    }


def _entry_json(entry: Compared) -> dict[str, object]:
    return {
        "item": entry.item,
        "tokens": entry.tokens,
        "text": entry.text,
        "form": entry.form,
        "role": entry.role,
        "type": entry.type,
        "group": entry.group,
    }


def show_comparison(
    out: Output, session: Session, found: Comparison, *, is_all: bool, is_short: bool = False
) -> None:
    """Print a comparison: a summary, then what differs by group.

    Args:
        is_all: every item on a line of its own, kept ones too.
        is_short: a few items of each group, as one part of a longer text.
    """
    out.line(Styled(session.name, "bold"), f"  {found.before} to {found.after}")
    for line in cause(session, found):
        out.line(line)
    out.line(
        f"tokens {number(found.tokens_before)} -> {number(found.tokens_after)}",
        Styled(f"  ({found.tokens_method})", "dim"),
    )
    _show_summary(out, found)
    if found.is_same:
        out.line("The windows are the same.")
    limits = None if is_all or not out.is_terminal else SHOWN_MAX_SHORT if is_short else SHOWN_MAX
    show_groups(out, "dropped", found.dropped, limits)
    show_groups(out, "added", found.added, limits)
    show_changes(out, found.changed, limits)
    show_groups(out, "moved", found.moved, limits)
    if is_all:
        show_groups(out, "kept", found.kept, None)
    elif limits is not None and not is_short and not found.is_same:
        out.note("Every item on its own line: --all. One in full: `ctxledger show ITEM`.")


def cause(session: Session, found: Comparison) -> list[str]:
    """The event between neighbouring versions in words; nothing when there are several."""
    if found.after != found.before + 1:
        return []
    event = session.store.read_one(session.id, found.after).event
    if isinstance(event, WindowCompacted):
        trigger = event.trigger or event.method
        reported = event.tokens_before
        before = f": {number(reported.n)} tokens before, as the agent reported" if reported else ""
        return [f"compaction c{event.number} ({trigger}){before}"]
    if isinstance(event, ItemsEvicted):
        return [f"eviction e{event.number} ({event.rule})"]
    if isinstance(event, RolledBack):
        return [f"roll-back r{event.number}"]
    return []


def _show_summary(out: Output, found: Comparison) -> None:
    whole = max(found.tokens_before, found.tokens_after)
    parts: list[tuple[str, int, int]] = [
        ("kept", len(found.kept), sum(e.tokens for e in found.kept)),
        ("dropped", len(found.dropped), sum(e.tokens for e in found.dropped)),
        ("added", len(found.added), sum(e.tokens for e in found.added)),
        ("changed", len(found.changed), sum(e.after.tokens for e in found.changed)),
        ("moved", len(found.moved), sum(e.tokens for e in found.moved)),
    ]
    rows: list[Sequence[Text]] = [
        (
            f"  {name}",
            number(count),
            number(tokens),
            Styled(bar(tokens, whole, is_unicode=out.is_unicode), _SIGNS.get(name, ("", ""))[1]),
        )
        for name, count, tokens in parts
        if count or name in ("kept", "dropped", "added")
    ]
    out.table(
        (Column(""), Column("items", is_number=True), Column("tokens", is_number=True), Column("")),
        rows,
    )


def show_groups(
    out: Output,
    what: str,
    entries: Sequence[Compared],
    limits: Mapping[str, int] | None,
    title: str = "",
) -> None:
    """Print entries under their groups.

    Args:
        what: `dropped`, `added`, `moved` or `kept`; decides the sign.
        limits: lines of each group, 0 = only its heading; None = one line for each entry.
        title: in place of `what`.
    """
    for group in GROUPS:
        mine = [entry for entry in entries if entry.group == group]
        if not mine:
            continue
        tokens = sum(entry.tokens for entry in mine)
        name = f"{title or what}: {_GROUP_WORDS.get(group, group)}"
        out.line()
        out.line(Styled(name, "bold"), f"  {items(len(mine))}, {number(tokens)} tokens")
        if limits is None:
            out.table(COLUMNS, [_row(what, e.item, e.tokens, e.subject) for e in mine])
        else:
            _show_some(out, what, mine, limits[group], is_files=group == "files")


def show_changes(
    out: Output, changes: Sequence[Changed], limits: Mapping[str, int] | None, title: str = ""
) -> None:
    """Print entries that are there in another form than before."""
    if not changes:
        return
    out.line()
    out.line(Styled(title or "changed", "bold"), f"  {items(len(changes))}")
    limit = len(changes) if limits is None else limits["files"]
    out.table(COLUMNS, [_changed_row(change) for change in changes[:limit]])
    if len(changes) > limit:
        out.line(Styled(f"    {items(len(changes) - limit)} more", "dim"))


def _show_some(
    out: Output, what: str, entries: Sequence[Compared], limit: int, *, is_files: bool
) -> None:
    """The largest ones in window order; a file, or a call with its result, is one line."""
    if not limit:
        return
    lines = _together(entries, is_files=is_files)
    largest = sorted(range(len(lines)), key=lambda at: -lines[at][1])[:limit]
    out.table(COLUMNS, [_row(what, *lines[at]) for at in sorted(largest)])
    left = [line for at, line in enumerate(lines) if at not in largest]
    if left:
        noun = "file" if is_files else "item"
        tokens = sum(tokens for _, tokens, _ in left)
        more = f"{number(len(left))} more {noun}{'s' * (len(left) > 1)}"
        out.line(Styled(f"    {more}, {number(tokens)} tokens", "dim"))


def _together(entries: Sequence[Compared], *, is_files: bool) -> list[tuple[str, int, str]]:
    """(first item, tokens of all, subject) for each file, or each call with its result."""
    units: dict[str, list[Compared]] = {}
    for entry in entries:
        about = entry.path if is_files else entry.tool_id
        units.setdefault(about or f"item {entry.item}", []).append(entry)
    lines = []
    for about, mine in units.items():
        tokens = sum(entry.tokens for entry in mine)
        subject = mine[0].subject
        if is_files and len(mine) > 1:
            subject = f"{about}  ({items(len(mine))})"
        lines.append((mine[0].item, tokens, subject))
    return lines


def _row(what: str, item: str, tokens: int, subject: str) -> tuple[Text, Text, Text]:
    sign, style = _SIGNS.get(what, (" ", ""))
    return Styled(f"  {sign} {item}", style), number(tokens), subject


def _changed_row(change: Changed) -> tuple[Text, Text, Text]:
    before, after = change.before, change.after
    what = f"{before.form} ({number(before.tokens)}) -> {after.form}: {before.subject}"
    return Styled(f"  ! {after.item}", "yellow"), number(after.tokens), what


def items(count: int) -> str:
    """`1 item`, `2 items`."""
    return f"{number(count)} item" + "s" * (count != 1)
