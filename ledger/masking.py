"""Where texts are found inside JSON and its escapes, and what is written in their place.

A text that was recorded may be JSON, whose strings may be JSON again, each level with its own
escapes. A finder sees every level as plain text; what it finds is a span of the text as stored.
Replacing or masking a span leaves JSON valid. Pure. Knows nothing about storage.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

Find = Callable[[str], Iterable[tuple[int, int, str]]]
"""(start, end, kind) of what is to go from a plain text."""

LEVELS_MAX = 8
"""Strings in strings in strings ...: more levels are not looked into."""
MARKER_KIND_CHARS_MAX = 24
OPAQUE_FIELDS = frozenset({"signature", "thinkingSignature", "encrypted_content"})
"""Only their provider can read them, and a changed one breaks the conversation."""
CONTENT_FIELDS = frozenset(
    {"text", "content", "thinking", "data", "output", "stdout", "stderr", "summary", "arguments"}
)
"""What stands in them are words; short words in others may be roles, types, names."""
WHOLE_CHARS_MIN = 16
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|-?\d[\d.eE+-]*', re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[\"\\/bfnrt])"
)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Span(Struct, frozen=True):
    """A part of a text that is to go."""

    start: int
    end: int
    kind: str
    in_json: bool = False
    """It stands inside a JSON string, with its quotes around it."""
    is_number: bool = False
    """It is a JSON number as a whole."""


class _Level:
    """A text with its escapes taken away once, and the way back."""

    def __init__(self, raw: str) -> None:
        parts: list[str] = []
        self._at, self._raw_at = [0], [0]
        size = end = 0
        for match in _ESCAPE.finditer(raw):
            parts.append(raw[end : match.start()])
            parts.append(_char_of(match[0]))
            size += match.start() - end + 1
            end = match.end()
            self._at.append(size)
            self._raw_at.append(end)
        parts.append(raw[end:])
        self.text = "".join(parts)

    def raw(self, place: int) -> int:
        """Where a character of `text` begins in the raw text."""
        n = bisect_right(self._at, place) - 1
        return self._raw_at[n] + place - self._at[n]


def _char_of(escape: str) -> str:
    if escape[1] != "u":
        return _SHORT.get(escape[1], escape[1])
    if len(escape) == 6:
        return chr(int(escape[2:6], 16))
    high, low = int(escape[2:6], 16), int(escape[8:], 16)
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def spans_in(
    text: str,
    find: Find,
    *,
    are_opaque_kept: bool = False,
    wholes: frozenset[str] = frozenset(),
) -> list[Span]:
    """What `find` finds in a text, on every level of escapes, merged and in order.

    Args:
        are_opaque_kept: signatures and encrypted contents are not looked into.
        wholes: strings that go where they are the whole contents of a block.
    """
    if _is_json(text):
        found = list(_in_json(text, find, wholes, are_opaque_kept=are_opaque_kept))
    else:
        found = [Span(*_widened(text, start, end), kind) for start, end, kind in _deep(text, find)]
    return _merged(found)


def _is_json(text: str) -> bool:
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[", '"')):
        return False
    try:
        json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _in_json(
    text: str, find: Find, wholes: frozenset[str], *, are_opaque_kept: bool
) -> Iterator[Span]:
    field = ""
    for token in _TOKEN.finditer(text):
        inner = token[1]
        if inner is None:
            for _, _, kind in find(token[0]):
                yield Span(token.start(), token.end(), kind, is_number=True)
            continue
        if token[2] is not None:
            field = inner
        elif are_opaque_kept and field in OPAQUE_FIELDS:
            continue
        start = token.start() + 1
        level = _Level(inner) if "\\" in inner else None
        plain = inner if level is None else level.text
        if plain in wholes and (field in CONTENT_FIELDS or len(plain) >= WHOLE_CHARS_MIN):
            yield Span(start, start + len(inner), "item", in_json=True)
        for first, last, kind in _deep(plain, find):
            a, b = (first, last) if level is None else (level.raw(first), level.raw(last))
            yield Span(start + a, start + b, kind, in_json=True)


def _deep(text: str, find: Find) -> Iterator[tuple[int, int, str]]:
    """What is found in a text, and in what it is with its escapes taken away, again and again."""
    levels: list[_Level] = []
    current = text
    while True:
        for start, end, kind in find(current):
            for level in reversed(levels):
                start, end = level.raw(start), level.raw(end)  # noqa: PLW2901
            if end > start:
                yield start, end, kind
        if "\\" not in current or len(levels) == LEVELS_MAX:
            return
        levels.append(_Level(current))
        if levels[-1].text == current:
            return
        current = levels[-1].text


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without half an escape at an end: the text may hold JSON, as server events do."""
    if _backslashes_before(text, start) % 2:
        start -= 1
    if _backslashes_before(text, end) % 2 and end < len(text):
        end += 1
    return start, end


def _backslashes_before(text: str, place: int) -> int:
    return place - len(text[:place].rstrip("\\")) if text[place - 1 : place] == "\\" else 0


def _merged(spans: list[Span]) -> list[Span]:
    """Spans in order; those that overlap are one, of the first one's kind."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        last = merged[-1] if merged else None
        if last is None or span.start >= last.end:
            merged.append(span)
        elif span.end > last.end:
            merged[-1] = Span(last.start, span.end, last.kind, last.in_json, last.is_number)
    return merged


def marker(kind: str) -> str:
    """What a reader sees in the place of what is gone."""
    return f"[redacted:{kind[:MARKER_KIND_CHARS_MAX]}]"


def replaced(text: str, spans: Iterable[Span]) -> str:
    """The text with a marker in the place of each span; JSON stays JSON."""
    parts: list[str] = []
    at = 0
    for span in spans:
        stand_in = marker(span.kind)
        parts += [text[at : span.start], f'"{stand_in}"' if span.is_number else stand_in]
        at = span.end
    return "".join([*parts, text[at:]])


class Mask(Struct, frozen=True):
    """A place in a source whose bytes were overwritten."""

    offset: int
    length: int
    kind: str


class Masked(Struct, frozen=True):
    """Bytes with masks in them: as long as before, and JSON if they were."""

    data: bytes
    spans: tuple[tuple[int, int, str], ...]
    """(first byte, number of bytes, kind) of each mask."""


def masked(
    data: bytes,
    find: Find,
    *,
    encoding: str = "utf-8",
    are_opaque_kept: bool = False,
    wholes: frozenset[str] = frozenset(),
) -> Masked:
    """Bytes of a record with what `find` finds overwritten by masks of the same length.

    A mask begins with the marker where it is long enough and stands in a JSON string; elsewhere
    it is letters alone, which change the structure of no format.

    Args:
        encoding: of the bytes.
    """
    errors = "surrogateescape" if encoding == "utf-8" else "strict"
    try:
        text = data.decode(encoding, errors)
    except UnicodeDecodeError:
        text, encoding, errors = data.decode("latin-1"), "latin-1", "strict"
    parts: list[bytes] = []
    spans: list[tuple[int, int, str]] = []
    at = size = 0
    for span in spans_in(text, find, are_opaque_kept=are_opaque_kept, wholes=wholes):
        before = text[at : span.start].encode(encoding, errors)
        mask = _mask(text[span.start : span.end], span, encoding, errors)
        parts += [before, mask]
        size += len(before)
        spans.append((size, len(mask), span.kind))
        size += len(mask)
        at = span.end
    if not spans:
        return Masked(data, ())
    return Masked(b"".join([*parts, text[at:].encode(encoding, errors)]), tuple(spans))


def _mask(text: str, span: Span, encoding: str, errors: str) -> bytes:
    unit = len("x".encode(encoding))
    chars = len(text.encode(encoding, errors)) // unit
    if span.is_number:
        return ("1" * chars).encode(encoding)
    stand_in = marker(span.kind)
    if span.in_json:
        is_long = chars >= len(stand_in)
        return ((stand_in if is_long else "").ljust(chars, "*")).encode(encoding)
    return b"".join(
        (c if c in " \t\r\n" else "x" * (len(c.encode(encoding, errors)) // unit)).encode(encoding)
        for c in text
    )
