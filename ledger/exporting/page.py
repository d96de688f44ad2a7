"""A page as blocks: headings, facts, tables, lists, quotes. What was recorded stays apart.

`str` parts are our own words; `Recorded` parts are untrusted text, which each form (Markdown,
HTML) shows so that it cannot act. Knows nothing about what a page is about.
"""

from __future__ import annotations

from msgspec import Struct


class Recorded(Struct, frozen=True):
    """Untrusted text for one line; white space in it becomes single spaces."""

    text: str


class Strong(Struct, frozen=True):
    """Words of ours that stand out."""

    text: str


Part = str | Recorded | Strong
Line = tuple[Part, ...]


class Heading(Struct, frozen=True):
    """A heading; level 1 is the page's title."""

    level: int
    words: Line


class Paragraph(Struct, frozen=True):
    """One paragraph."""

    words: Line


class Bullets(Struct, frozen=True):
    """A list, one line for each entry."""

    lines: tuple[Line, ...]


class Table(Struct, frozen=True):
    """Our own words and numbers; the first column is text, the others are numbers."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Quote(Struct, frozen=True):
    """Recorded text or commands, lines kept."""

    text: str
    language: str = ""
    """`sh` for commands that may be pasted, "" for what was recorded."""


Block = Heading | Paragraph | Bullets | Table | Quote
