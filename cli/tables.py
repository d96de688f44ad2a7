"""Tables: columns fitted to the width of a terminal, whole when piped.

Rows are laid out as they come, so that a long log starts at once: widths come from the columns,
and from the rows only when these are a list. Knows nothing about streams and colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ctxledger.ledger.plaintext import cell_width, cut, plain

from .output import Styled, Text

GAP = "  "


class Column(NamedTuple):
    """One column."""

    title: str
    is_number: bool = False
    """Right-aligned."""
    width_min: int = 0
    """Cells kept for it even if its contents are shorter; needed for rows that stream."""
    is_flexible: bool = False
    """Takes what the others leave of the line, and is cut at the end of it."""


def number(value: int | None) -> str:
    """A number with thousands separators; "" for none."""
    return "" if value is None else f"{value:,}"


def counted(count: int, noun: str) -> str:
    """`1 record`, `2,000 records`."""
    return f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"


def one_line_text(text: str) -> str:
    """Runs of white space become one space: a text for a cell. Not cut, not yet `plain`."""
    return " ".join(text.split())


def table_lines(
    columns: Sequence[Column],
    rows: Iterable[Sequence[Text]],
    width: int | None,
    ellipsis: str,
) -> Iterator[list[Text]]:
    """The heading and the rows as parts for `Output.line`.

    Args:
        rows: n rows of len(columns) texts; a list is measured, an iterator is not.
        width: cells of a line; None = nothing is cut.
    """
    widths = [max(c.width_min, cell_width(c.title)) for c in columns]
    if isinstance(rows, list):
        for row in rows:
            for at, cell in enumerate(row):
                widths[at] = max(widths[at], cell_width(_plain(cell)))
    if width is not None:
        _fit(columns, widths, width)
    if any(column.title for column in columns):
        titles = [Styled(column.title, "dim") for column in columns]
        yield _row(columns, titles, widths, width, ellipsis)
    for row in rows:
        yield _row(columns, row, widths, width, ellipsis)


def _fit(columns: Sequence[Column], widths: list[int], width: int) -> None:
    flexible = [at for at, column in enumerate(columns) if column.is_flexible]
    if not flexible:
        return
    fixed = sum(w for at, w in enumerate(widths) if at not in flexible)
    left = width - fixed - len(GAP) * (len(columns) - 1)
    wanted = sum(widths[at] for at in flexible)
    for at in flexible:
        is_last = at == len(columns) - 1
        share = max(8, left * widths[at] // max(1, wanted))
        if len(flexible) == 1:
            share = max(8, left)
        widths[at] = share if is_last else min(widths[at], share)


def _row(
    columns: Sequence[Column],
    row: Sequence[Text],
    widths: Sequence[int],
    width: int | None,
    ellipsis: str,
) -> list[Text]:
    parts: list[Text] = []
    last = len(columns) - 1
    for at, (column, cell) in enumerate(zip(columns, row, strict=True)):
        text, style = _plain(cell), cell.style if isinstance(cell, Styled) else ""
        if width is not None and cell_width(text) > widths[at]:
            text = cut(text, widths[at] - cell_width(ellipsis)).rstrip() + ellipsis
        fill = " " * max(0, widths[at] - cell_width(text))
        if column.is_number:
            parts += [fill, Styled(text, style)]
        else:
            parts += [Styled(text, style), "" if at == last else fill]
        if at != last:
            parts.append(GAP)
    return parts


def _plain(cell: Text) -> str:
    return plain(cell.text if isinstance(cell, Styled) else cell, keep_newlines=False)
