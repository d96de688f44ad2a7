"""A piece of raw text around matches, fitted to a line with the matches marked.

Pure. Knows nothing about searching.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxledger.ledger.plaintext import cell_width, cut, plain

from .output import Styled, Text

MATCH_STYLE = "bold yellow"


def snippet_parts(
    text: str, matches: Sequence[tuple[int, int]], width: int | None, ellipsis: str
) -> list[Text]:
    """Parts for `Output.line` that fill at most `width` cells and hold the first match.

    Args:
        matches: (start, end) inside `text`, in order.
        width: None = everything, on one line all the same.
    """
    line = "".join(" " if character.isspace() else character for character in text)
    pieces: list[tuple[str, bool]] = []
    at = 0
    for start, end in matches:
        pieces += [(line[at:start], False), (line[start:end], True)]
        at = end
    pieces.append((line[at:], False))
    shown = [(plain(piece, keep_newlines=False), is_match) for piece, is_match in pieces]
    if width is not None:
        shown = _fit(shown, width, ellipsis)
    return [Styled(piece, MATCH_STYLE) if is_match else piece for piece, is_match in shown if piece]


def _fit(pieces: list[tuple[str, bool]], width: int, ellipsis: str) -> list[tuple[str, bool]]:
    """Cut before the first match so that it is in the first half, and behind the width."""
    total = sum(cell_width(piece) for piece, _ in pieces)
    if total <= width:
        return pieces
    before = pieces[0][0]
    room = max(0, min(width // 3, width - sum(cell_width(p) for p, m in pieces[1:2])))
    if cell_width(before) > room:
        tail = before[-room:] if room else ""
        while cell_width(tail) > max(0, room - cell_width(ellipsis)):
            tail = tail[1:]
        pieces = [(ellipsis + tail, False), *pieces[1:]]
    left = width
    out: list[tuple[str, bool]] = []
    for piece, is_match in pieces:
        size = cell_width(piece)
        if size > left or (size == left and piece is not pieces[-1][0]):
            kept = cut(piece, max(0, left - cell_width(ellipsis)))
            out.append((kept, is_match))
            out.append((ellipsis, False))
            break
        out.append((piece, is_match))
        left -= size
    return out
