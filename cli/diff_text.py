"""A comparison of two windows as a screen, or as the JSON of the contract.

Knows nothing about how windows are compared: see ledger/comparing.py and ledger/grouping.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxledger.ledger.comparing import Changed, Compared, Comparison
from ctxledger.ledger.events import RolledBack, WindowCompacted
from ctxledger.ledger.grouping import GROUPS

from .bars import bar
from .output import Output, Styled, Text
from .tables import Column, number

if TYPE_CHECKING:
    from ctxledger.ledger import Session

SHOWN_MAX = {"rules": 12, "files": 8, "commands": 6, "errors": 6, "todos": 4, "other": 4}
"""Items of each group on a terminal; piped or with --all there is no limit."""
SHOWN_MAX_SHORT = {"rules": 6, "files": 4, "commands": 3, "errors": 3, "todos": 2, "other": 0}
"""The same where the comparison is one part of a longer text."""
COLUMNS = (
    Column("", width_min=8),
    Column("", is_number=True, width_min=9),
    Column("", is_flexible=True),
)
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
    """Print a comparison: a summary, then what differs by group."""
    out.line(Styled(session.name, "bold"), f"  {found.before} to {found.after}", cause(session, found))
    out.line(
        f"tokens {number(found.tokens_before)} -> {number(found.tokens_after)}",
        Styled(f"  ({found.tokens_method})", "dim"),
    )
    _show_summary(out, found)
    if found.is_same:
        out.line("The windows are the same.")
    limits = None if is_all or not out.is_terminal else SHOWN_MAX_SHORT if is_short else SHOWN_MAX
    _show_groups(out, "dropped", found.dropped, limits)
    _show_groups(out, "added", found.added, limits)
    if found.changed:
        out.line()
        out.line(Styled(f"changed, {_items(len(found.changed))}", "bold"))
        out.table(COLUMNS, [_changed_row(change) for change in found.changed])
    _show_groups(out, "moved", found.moved, limits)
    if is_all:
        _show_groups(out, "kept", found.kept, None)


def cause(session: Session, found: Comparison) -> str:
    """Which event lies between neighbours: `  compaction c1 (auto)`; "" when several do."""
    if found.after != found.before + 1:
        return ""
    event = session.store.read_one(session.id, found.after).event
    if isinstance(event, WindowCompacted):
        reported = event.tokens_before
        before = f", {number(reported.n)} tokens reported before" if reported else ""
        return f"  compaction c{event.number} ({event.trigger or event.method}{before})"
    if isinstance(event, RolledBack):
        return f"  roll-back r{event.number}"
    return ""


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


def _show_groups(
    out: Output, what: str, entries: Sequence[Compared], limits: dict[str, int] | None
) -> None:
    for group in GROUPS:
        mine = [entry for entry in entries if entry.group == group]
        if not mine:
            continue
        tokens = sum(entry.tokens for entry in mine)
        out.line()
        out.line(
            Styled(f"{what}: {group}", "bold"), f"  {_items(len(mine))}, {number(tokens)} tokens"
        )
        if limits is None:
            out.table(COLUMNS, [_row(what, e.item, e.tokens, e.subject) for e in mine])
        else:
            _show_some(out, what, mine, limits[group], is_files=group == "files")


def _show_some(
    out: Output, what: str, entries: Sequence[Compared], limit: int, *, is_files: bool
) -> None:
    """The largest ones in window order; files one line each however often they were touched."""
    lines = _by_path(entries) if is_files else [(e.item, e.tokens, e.subject) for e in entries]
    largest = sorted(range(len(lines)), key=lambda at: -lines[at][1])[:limit]
    out.table(COLUMNS, [_row(what, *lines[at]) for at in sorted(largest)])
    left = [line for at, line in enumerate(lines) if at not in largest]
    if left and limit:
        tokens = sum(tokens for _, tokens, _ in left)
        noun = "file" if is_files else "item"
        out.line(
            Styled(
                f"    {number(len(left))} more {noun}{'s' * (len(left) > 1)},"
                f" {number(tokens)} tokens (--all shows them)",
                "dim",
            )
        )


def _by_path(entries: Sequence[Compared]) -> list[tuple[str, int, str]]:
    paths: dict[str, list[Compared]] = {}
    for entry in entries:
        paths.setdefault(entry.path, []).append(entry)
    lines = []
    for path, mine in paths.items():
        if not path:
            lines.extend((e.item, e.tokens, e.subject) for e in mine)
            continue
        tools = Counter(e.subject.split(" ", 1)[0] for e in mine if e.type.endswith("tool_use"))
        used = ", ".join(f"{name} {count}" for name, count in tools.items())
        lines.append((mine[0].item, sum(e.tokens for e in mine), f"{path}  ({used})" * bool(used) or path))
    return lines


def _row(what: str, item: str, tokens: int, subject: str) -> tuple[Text, Text, Text]:
    sign, style = _SIGNS.get(what, (" ", ""))
    return Styled(f"  {sign} {item}", style), number(tokens), subject


def _changed_row(change: Changed) -> tuple[Text, Text, Text]:
    before, after = change.before, change.after
    what = f"{before.form} ({number(before.tokens)}) -> {after.form}: {before.subject}"
    return Styled(f"  ! {after.item}", "yellow"), number(after.tokens), what


def _items(count: int) -> str:
    return f"{number(count)} item" + "s" * (count != 1)
