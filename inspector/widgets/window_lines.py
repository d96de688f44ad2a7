"""A window as lines: a heading with its numbers, and its entries by layer, in prompt order."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ctxledger.ledger.views.contents import ViewEntry, WindowView

from ..describe import first_words
from ..lines import Line, Span, Style, count_of, fill_bar, left, number, right

LAYERS = {"system": "System", "tools": "Tools", "brief": "Brief"}
OTHER_LAYER = "Conversation"
HEADING_LINES = 5
FILLING = "█"
CATEGORY_LOOKS: dict[str, tuple[str, str, Style]] = {
    "system": ("S", "system", "tool"),
    "tools": ("T", "tools", "tool"),
    "brief": ("B", "brief", "change"),
    "human": ("H", "human", "human"),
    "assistant": ("A", "assistant", "assistant"),
    "thinking": ("K", "thinking", "muted"),
    "calls": ("C", "call", "call"),
    "results": ("R", "result", "tool"),
    "harness": ("N", "harness", "muted"),
    "images": ("I", "image", "warn"),
    "other": ("O", "other", "muted"),
}
"""Category of tokens -> the letter that its part of the bar begins with, its word, its style."""


class WindowRow(Struct, frozen=True):
    """A line of the window: the head of a layer, or one entry."""

    layer: str
    entry: ViewEntry | None = None
    count: int = 0
    tokens: int = 0
    is_folded: bool = False


class WindowLines:
    """The entries of a window by layer; folded layers show only their head."""

    def __init__(self, entries: Sequence[ViewEntry], folded: frozenset[str] = frozenset()) -> None:
        self.entries = entries
        self.rows = _rows(entries, folded)

    def count(self, width: int) -> int:
        """One line a row."""
        del width
        return len(self.rows)

    def line(self, index: int, width: int) -> Line:
        """One line."""
        return window_line(self.rows[index], width)


class HeadingLines:
    """What stands above the entries."""

    def __init__(self, view: WindowView, handle: str) -> None:
        """Numbers of a window.

        Args:
        handle: `c1` ... of the event at this version, "" when it has none.
        """
        self._view = view
        self._handle = handle

    def count(self, width: int) -> int:
        """Always the same, so that what is below stays in its place."""
        del width
        return HEADING_LINES

    def line(self, index: int, width: int) -> Line:
        """One line."""
        return heading(self._view, self._handle, width)[index]


def layer_of(entry: ViewEntry) -> str:
    """The layer that an entry stands in."""
    return LAYERS.get(entry.category, OTHER_LAYER)


def _rows(entries: Sequence[ViewEntry], folded: frozenset[str]) -> list[WindowRow]:
    """Neighbours of one layer come under one head; the order of the prompt is kept."""
    runs: list[tuple[str, list[ViewEntry]]] = []
    for entry in entries:
        layer = layer_of(entry)
        if not runs or runs[-1][0] != layer:
            runs.append((layer, []))
        runs[-1][1].append(entry)
    rows = []
    for layer, run in runs:
        is_folded = layer in folded
        total = sum(entry.tokens for entry in run)
        rows.append(WindowRow(layer, None, len(run), total, is_folded))
        if not is_folded:
            rows.extend(WindowRow(layer, entry) for entry in run)
    return rows


def window_line(row: WindowRow, width: int) -> Line:
    """Item, what it is, tokens, first words; a form other than verbatim stands first."""
    if row.entry is None:
        arrow = "▸" if row.is_folded else "▾"
        head = f"{arrow} {row.layer} · {count_of(row.count, 'item')}"
        amount = f"{number(row.tokens)} t"
        return (
            Span(left(head, max(0, width - len(amount) - 1)), "title"),
            Span(f" {amount}", "title"),
        )
    entry = row.entry
    _, word, style = CATEGORY_LOOKS[entry.category]
    what = f"{word} {entry.block.tool_name}" if entry.block.tool_name else word
    if entry.block.is_error:
        what, style = f"✗ {word}", "bad"
    what_cells = 16 if width >= 64 else 10
    spans = [
        Span("  " + left(entry.item, 8), "muted"),
        Span(left(what, what_cells), style),
        Span(right(number(entry.tokens), 8) + "  "),
    ]
    used = 10 + what_cells + 10
    if entry.form != "verbatim":
        form = f"[{entry.form}] "
        spans.append(Span(form, "change"))
        used += len(form)
    spans.append(Span(left(first_words(entry.block), max(0, width - used))))
    return tuple(spans)


def heading(view: WindowView, handle: str, width: int) -> list[Line]:
    """What the window is and how full it is: `HEADING_LINES` lines."""
    name = f"Window at {view.version:,}" + (f" ({handle})" if handle else "")
    coverage = (
        "exact: requests recorded"
        if view.coverage == "exact"
        else "conversation: no system prompt, no tools"
    )
    sent = "as sent" if view.view == "sent" else "effective: after provider-side edits"
    first: Line = (Span(name, "title"), Span(f" · {sent} · {coverage}", "muted"))
    return [first, _numbers(view), _reported(view), *category_bar(view, width)]


def _numbers(view: WindowView) -> Line:
    size = view.context.tokens if view.context is not None else view.tokens
    about = "" if view.context is None or view.context.method == "provider" else "about "
    parts = [Span(f"{about}{number(size)} t", "title")]
    if view.limit:
        share = size / view.limit
        style: Style = "bad" if share > 1 else ""
        parts.append(Span(f" of {number(view.limit)} ({share:.0%})", style))
    counted = "" if view.context is None else f" · {number(view.tokens)} t"
    parts.append(Span(f"{counted} counted by {view.tokens_method}"))
    parts.append(Span(f" · {count_of(len(view.entries), 'item')}"))
    if not view.limit:
        parts.append(Span(" · limit unknown", "muted"))
    return tuple(parts)


def _reported(view: WindowView) -> Line:
    if view.reported is None:
        return (Span("the provider reported no size up to here", "muted"),)
    words = f"provider: {number(view.reported)} t at the last call"
    if view.unrecorded:
        words += f" · unrecorded {number(view.unrecorded)} t"
    return (Span(words, "muted"),)


def category_bar(view: WindowView, width: int) -> list[Line]:
    """A bar whose parts begin with the letters of the categories, and what the letters mean."""
    totals = sorted(view.categories.items(), key=lambda pair: -pair[1])
    whole = max(view.tokens, view.limit or 0)
    order = [name for name in CATEGORY_LOOKS if name in view.categories]
    bar = [
        Span((CATEGORY_LOOKS[name][0] + FILLING * cells)[:cells], CATEGORY_LOOKS[name][2])
        for name, cells in fill_bar([(view.categories[n], n) for n in order], whole, width)
    ]
    filled = sum(len(span.text) for span in bar)
    bar.append(Span("·" * max(0, width - filled), "muted"))
    legend: list[Span] = []
    for name, tokens in totals:
        letter, _, style = CATEGORY_LOOKS[name]
        legend.extend((Span(letter, style), Span(f" {name} {number(tokens)}  ")))
    return [tuple(bar), tuple(legend) or (Span("nothing in it", "muted"),)]
