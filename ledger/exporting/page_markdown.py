"""A page as Markdown. Recorded text stands in code spans and fences longer than any inside it.

So nothing in it becomes a heading, a link, an image or HTML. Knows nothing about what a page is
about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..plaintext import plain
from .page import Block, Bullets, Heading, Line, Paragraph, Part, Quote, Recorded, Strong, Table

_TICKS = re.compile(r"`+")
FENCE_MIN = 3


def markdown(blocks: Sequence[Block]) -> str:
    """The page as text that ends with a newline."""
    return "\n\n".join(_block(block) for block in blocks) + "\n"


def code_span(text: str) -> str:
    """Text as one inline code span, delimited by more backticks than it holds in a row."""
    line = plain(" ".join(text.split()), keep_newlines=False)
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if not line or line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fenced(text: str, language: str = "") -> str:
    """Text as a fenced block, lines kept."""
    inside = plain(text).rstrip("\n")
    fence = "`" * max(FENCE_MIN, _longest_run(inside) + 1)
    return f"{fence}{language}\n{inside}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)


def _block(block: Block) -> str:
    match block:
        case Heading(level=level, words=words):
            return f"{'#' * level} {_line(words)}"
        case Paragraph(words=words):
            return _line(words)
        case Bullets(lines=lines):
            return "\n".join(f"- {_line(line)}" for line in lines)
        case Table(heads=heads, rows=rows):
            marks = ["---", *("---:" for _ in heads[1:])]
            return "\n".join(f"| {' | '.join(row)} |" for row in (heads, marks, *rows))
        case Quote(text=text, language=language):
            return fenced(text, language)


def _line(words: Line) -> str:
    return "".join(_part(part) for part in words)


def _part(part: Part) -> str:
    if isinstance(part, Recorded):
        return code_span(part.text)
    return f"**{part.text}**" if isinstance(part, Strong) else part
