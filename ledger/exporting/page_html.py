"""A page as one HTML file: everything escaped, no scripts, no links, nothing loaded.

Its content policy forbids all of them once more. Knows nothing about what a page is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..plaintext import plain
from .page import Block, Bullets, Heading, Line, Paragraph, Part, Quote, Recorded, Strong, Table

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }}
code, pre {{ font: 0.9em/1.4 ui-monospace, monospace; background: #f3f3f3; border-radius: 3px }}
code {{ padding: 0 0.2em; overflow-wrap: anywhere }}
pre {{ padding: 0.6em; white-space: pre-wrap; overflow-wrap: anywhere }}
table {{ border-collapse: collapse }}
th, td {{ padding: 0.1em 0.8em; border-bottom: 1px solid #ddd; text-align: right }}
th:first-child, td:first-child {{ text-align: left; padding-left: 0 }}
</style>
</head>
<body>
"""


def html(blocks: Sequence[Block]) -> str:
    """The page as one file; the first level 1 heading is its title."""
    title = next((b.words for b in blocks if isinstance(b, Heading) and b.level == 1), ("",))
    words = "".join(part if isinstance(part, str) else part.text for part in title)
    body = "\n".join(_block(block) for block in blocks)
    return f"{_HEAD.format(title=_safe(words))}{body}\n</body>\n</html>\n"


def _safe(text: str, *, keep_newlines: bool = False) -> str:
    words = text if keep_newlines else " ".join(text.split())
    return escape(plain(words, keep_newlines=keep_newlines), quote=True)


def _block(block: Block) -> str:
    match block:
        case Heading(level=level, words=words):
            return f"<h{level}>{_line(words)}</h{level}>"
        case Paragraph(words=words):
            return f"<p>{_line(words)}</p>"
        case Bullets(lines=lines):
            return "\n".join(["<ul>", *(f"<li>{_line(line)}</li>" for line in lines), "</ul>"])
        case Table(heads=heads, rows=rows):
            return "\n".join(
                ["<table>", _row("th", heads), *(_row("td", row) for row in rows), "</table>"]
            )
        case Quote(text=text):
            return f"<pre>{_safe(text, keep_newlines=True)}</pre>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_safe(cell)}</{tag}>' for cell in cells)}</tr>"


def _line(words: Line) -> str:
    return "".join(_part(part) for part in words)


def _part(part: Part) -> str:
    if isinstance(part, Recorded):
        return f"<code>{_safe(part.text)}</code>"
    if isinstance(part, Strong):
        return f"<strong>{_safe(part.text)}</strong>"
    return escape(part)
