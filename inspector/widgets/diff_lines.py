"""The difference of two windows as lines, grouped; the numbers add up."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ctxledger.ledger.views.comparing import Compared, Comparison
from ctxledger.ledger.views.grouping import GROUPS

from ..lines import Line, Span, Style, count_of, left, number, right

SIGNS: dict[str, tuple[str, str, Style]] = {
    "dropped": ("-", "Dropped", "bad"),
    "added": ("+", "Added", "good"),
    "changed": ("~", "Changed", "change"),
    "moved": ("↕", "Moved", "warn"),
    "kept": ("=", "Kept", "muted"),
}


class DiffRow(Struct, frozen=True):
    """A line of the difference: a heading, a group, or an item."""

    part: str
    words: str
    tokens: int
    item: str = ""
    depth: int = 0


class DiffLines:
    """Dropped, added, changed, moved item by item; kept as a total."""

    def __init__(self, comparison: Comparison) -> None:
        self.rows = diff_rows(comparison)

    def count(self, width: int) -> int:
        """One line a row."""
        del width
        return len(self.rows)

    def line(self, index: int, width: int) -> Line:
        """One line."""
        return _line(self.rows[index], width)


def totals(comparison: Comparison) -> str:
    """`174,000 t - 112,000 dropped + 2,800 added = 64,800 t`."""
    before, after = comparison.tokens_before, comparison.tokens_after
    dropped = sum(entry.tokens for entry in comparison.dropped)
    added = sum(entry.tokens for entry in comparison.added)
    changed = sum(pair.after.tokens - pair.before.tokens for pair in comparison.changed)
    words = f"{number(before)} t - {number(dropped)} dropped + {number(added)} added"
    if comparison.changed:
        words += f" {'+' if changed >= 0 else '-'} {number(abs(changed))} changed"
    return f"{words} = {number(after)} t, counted by {comparison.tokens_method}"


def diff_rows(comparison: Comparison) -> list[DiffRow]:
    """Rows of all parts that are not empty."""
    rows: list[DiffRow] = []
    for part in ("dropped", "added", "moved"):
        rows.extend(_part(part, getattr(comparison, part)))
    if comparison.changed:
        total = sum(pair.after.tokens - pair.before.tokens for pair in comparison.changed)
        rows.append(DiffRow("changed", count_of(len(comparison.changed), "item"), total))
        rows.extend(
            DiffRow(
                "changed",
                f"{pair.before.form} → {pair.after.form} · {_words(pair.after)}",
                pair.after.tokens - pair.before.tokens,
                pair.after.item,
                2,
            )
            for pair in comparison.changed
        )
    kept = sum(entry.tokens for entry in comparison.kept)
    rows.append(DiffRow("kept", count_of(len(comparison.kept), "item"), kept))
    return rows


def _part(part: str, entries: Sequence[Compared]) -> list[DiffRow]:
    if not entries:
        return []
    total = sum(entry.tokens for entry in entries)
    rows = [DiffRow(part, count_of(len(entries), "item"), total)]
    for group in GROUPS:
        members = [entry for entry in entries if entry.group == group]
        if members:
            tokens = sum(entry.tokens for entry in members)
            rows.append(DiffRow(part, f"{group} · {len(members):,}", tokens, depth=1))
            rows.extend(DiffRow(part, _words(e), e.tokens, e.item, 2) for e in members)
    return rows


def _words(entry: Compared) -> str:
    form = "" if entry.form == "verbatim" else f"[{entry.form}] "
    return form + (entry.subject or entry.text[:400])


def _line(row: DiffRow, width: int) -> Line:
    sign, title, style = SIGNS[row.part]
    amount = right(f"{number(row.tokens)} t", 12)
    room = max(0, width - len(amount))
    if row.depth == 0:
        return (Span(left(f"{sign} {title} · {row.words}", room), style), Span(amount, "title"))
    if row.depth == 1:
        words = left(row.words, max(0, room - 4))
        return (Span(f"{sign}   ", style), Span(words, "title"), Span(amount, "muted"))
    return (
        Span(f"{sign}     ", style),
        Span(left(row.item, 9), "muted"),
        Span(left(row.words, max(0, room - 15))),
        Span(amount),
    )
