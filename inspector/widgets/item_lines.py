"""One item in full as lines: its facts, how the window shows it, and its contents."""

from __future__ import annotations

import json

from ctxledger.ledger.content import Block, from_json, is_result, readable
from ctxledger.ledger.plaintext import plain

from ..answers import ItemPicture
from ..lines import Line, Span, Style, count_of, day_and_clock, left, number, size, wrapped
from ..text import TextLines

LABEL_CELLS = 11
VALUE_CELLS_MIN = 8


class ItemLines:
    """Facts above, the text below; both fit whatever width there is."""

    def __init__(self, picture: ItemPicture) -> None:
        self._facts = facts_of(picture)
        self._text = TextLines(shown_text(picture))
        self._above: tuple[int, list[Line]] = (-1, [])

    def count(self, width: int) -> int:
        """Lines at this width."""
        return len(self._facts_at(width)) + self._text.count(width)

    def line(self, index: int, width: int) -> Line:
        """One line."""
        above = self._facts_at(width)
        return above[index] if index < len(above) else self._text.line(index - len(above), width)

    def _facts_at(self, width: int) -> list[Line]:
        if self._above[0] != width:
            lines = [line for fact in self._facts for line in _fact_lines(*fact, width)]
            self._above = (width, [*lines, (Span("─" * width, "muted"),)])
        return self._above[1]


def _fact_lines(label: str, value: str, style: Style, width: int) -> list[Line]:
    # Made safe before it is wrapped: a control character shown visibly is wider.
    lines = wrapped(plain(value), max(VALUE_CELLS_MIN, width - LABEL_CELLS))
    return [
        (Span(left(label if place == 0 else "", LABEL_CELLS), "muted"), Span(line[0].text, style))
        for place, line in enumerate(lines)
    ]


def facts_of(picture: ItemPicture) -> list[tuple[str, str, Style]]:
    """(label, value, style): what it is, where it came from, where it is now."""
    block, origin = picture.block, picture.origin
    what = f"{block.type} by {block.origin}, role {picture.role}"
    facts: list[tuple[str, str, Style]] = [("item", f"{picture.item} · {what}", "title")]
    if block.tool_name or block.tool_id:
        facts.append(("tool", f"{block.tool_name} {block.tool_id}".strip(), "call"))
    if block.is_error:
        facts.append(("outcome", "✗ error", "bad"))
    measured = f"{number(picture.tokens)} tokens ({picture.tokens_method})"
    facts.append(("size", f"{measured} · {size(len(picture.raw.encode(errors='replace')))}", ""))
    facts.append(("message", picture.message, ""))
    when = f", {day_and_clock(origin.at_ms)}" if origin.at_ms is not None else ""
    facts.append(("entered", f"at {origin.version} by {origin.event} ({origin.actor}){when}", ""))
    if origin.source:
        place = f"byte {number(origin.offset)}, {count_of(origin.length, 'byte')}"
        facts.append(("source", f"{origin.source} · {origin.source_format} · {place}", ""))
    else:
        facts.append(("source", "no file: recorded through the API", ""))
    facts.append(_here(picture))
    facts.append(_now(picture))
    return facts


def _here(picture: ItemPicture) -> tuple[str, str, Style]:
    if picture.shown is None:
        return ("shown", f"not in the window at {picture.at}", "warn")
    style: Style = "" if picture.shown.form == "verbatim" else "change"
    return ("shown", f"{picture.shown.form} in the window at {picture.at}", style)


def _now(picture: ItemPicture) -> tuple[str, str, Style]:
    if picture.is_in_head:
        return ("now", "in the window", "good")
    version, words = picture.left_at
    left_at = f": left at {words} (version {version})" if version else ""
    return ("now", f"not in the window{left_at}", "warn")


def shown_text(picture: ItemPicture) -> str:
    """The contents; where the window shows something else in its place, that first."""
    raw = pretty(picture.block)
    parts = []
    if picture.shown is not None and picture.shown.form != "verbatim":
        seen = pretty(picture.shown.block)
        if seen != raw:
            parts.append(f"[what the window at {picture.at} shows]\n{seen}\n\n[as recorded]")
    parts.append(raw)
    if picture.block.meta:
        parts.append(f"\n[facts the model did not see]\n{_indented(picture.block.meta)}")
    return "\n".join(parts)


def pretty(block: Block) -> str:
    """The words of a block; JSON with indents."""
    if not block.is_json:
        return block.text or "(empty)"
    if is_result(block.type):
        return readable(block) or "(empty)"
    return _indented(block.text)


def _indented(text: str) -> str:
    try:
        return json.dumps(from_json(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text
