"""What can be read of a damaged line without guessing.

Two kinds of damage have only one reading: objects glued on one line (perhaps behind a torn
stub), and an object spread over several lines because a newline was written raw. Everything
else stays a fault. Knows nothing about files, chunks or formats.
"""

from __future__ import annotations

import json
import re

from msgspec import Struct

from .parsing import DEPTH_MAX, Parsed, is_cut_short, lenient_decoder, parse_padded

JOINED_LINES_MAX = 1_000
JOINED_BYTES_MAX = 64 * 1024 * 1024

_RECORD_START = re.compile(rb'(?:\xef\xbb\xbf|\0)*\{\s*"')
_OBJECT_START = re.compile(r'\{\s*"')
_PADDING = re.compile(r"[\s\0\ufeff]*")
_STRING_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_BETWEEN_STRINGS = re.compile(rb"(?:[\s{}\[\]:,]|-?\d[\d.eE+-]*+|true|false|null)*+")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_BACKWARD_TRIES_MAX = 8
_FAILED_STARTS_MAX = 100
"""A line with more places that look like a record and are none is damaged beyond recovery."""


class Piece(Struct, frozen=True):
    """A part of a damaged line; the pieces of a line tile it."""

    data: bytes
    parsed: Parsed


def starts_record(line: bytes) -> bool:
    """True when `line` opens an object with a key in its first column, as records do."""
    return _RECORD_START.match(line) is not None


def named_fault(data: bytes, parsed: Parsed) -> Parsed:
    """Tell a torn object (`torn`) from text that is no JSON at all (`not_json`)."""
    is_object = data.lstrip(b"\0 \t\r\n\xef\xbb\xbf")[:1] in (b"{", b"[")
    is_torn = parsed.fault == "not_json" and parsed.is_cut and is_object
    return Parsed(fault="torn") if is_torn else parsed


def recovered(line: bytes, parsed: Parsed) -> list[Piece]:
    """Cut a line that does not parse into the objects and stubs it is made of.

    An object counts only where no reading of the text before it could contain it, and only if
    it is followed by the end of the line or the start of another object.

    Args:
        parsed: what `parse_padded(line)` said; its `fault` is set.

    Returns:
        At least one piece; `b"".join(piece.data for piece in pieces) == line`.
    """
    if parsed.fault in ("not_json", "nul_bytes", "bad_utf8") and not parsed.is_cut:
        pieces = _cut_glued(line.decode("utf-8", "surrogateescape"))
        if len(pieces) > 1:
            return pieces
    return [Piece(line, named_fault(line, parsed))]


def _cut_glued(text: str) -> list[Piece]:
    pieces: list[Piece] = []
    done = at = failed_starts = 0  # text[:done] is in pieces; the search goes on at `at`
    while at < len(text) and failed_starts < _FAILED_STARTS_MAX:
        end, failed_at = _object_end(text, at)
        if end:
            if at > done:
                pieces.append(_piece(text[done:at]))
            pieces.append(_piece(text[at:end], "glued"))
            done = at = end
        elif failed_at < 0:
            break
        else:
            at = _next_start(text, at, failed_at)
            failed_starts += 1
    if done < len(text):
        pieces.append(_piece(text[done:]))
    return pieces


def _object_end(text: str, at: int) -> tuple[int, int]:
    """Give (end, 0) of a whole object at `at`, else (0, where it fails; -1 = nothing follows)."""
    start = _skip_padding(text, at)
    try:
        value, end = lenient_decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return 0, -1 if is_cut_short(error) else error.pos
    except (ValueError, RecursionError):
        return 0, -1
    follows = _skip_padding(text, end)
    is_followed_well = follows == len(text) or _OBJECT_START.match(text, follows) is not None
    if isinstance(value, dict) and is_followed_well:
        return follows, 0
    return 0, end


def _skip_padding(text: str, at: int) -> int:
    found = _PADDING.match(text, at)
    return found.end() if found else at


def _next_start(text: str, at: int, failed_at: int) -> int:
    """Give the place where the next object may start: the brace whose key broke the last one.

    In `{"a":"to{"b":1}` the string ends at the quote of the second object's key, so the failure
    is seen behind its brace; in `{"a":1,{"b":1}` it is seen at the brace.
    """
    before = failed_at + 1
    for _ in range(_BACKWARD_TRIES_MAX):
        before = text.rfind("{", at + 1, before)
        if before < 0:
            break
        if _OBJECT_START.match(text, before):
            return before
    found = _OBJECT_START.search(text, max(failed_at, at + 1))
    return found.start() if found else len(text)


def _piece(text: str, repaired: str = "") -> Piece:
    data = text.encode("utf-8", "surrogateescape")
    parsed = parse_padded(data)
    if parsed.fault:
        return Piece(data, named_fault(data, parsed))
    if not repaired:  # a stub that happens to be a value of its own (`12`, `"x"`) is no record
        return Piece(data, Parsed(fault="not_json"))
    return Piece(data, Parsed(parsed.value, repaired=repaired))


class OpenRecord:
    """Lines that begin an object which has not ended yet, while the next lines are awaited."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.is_broken = False
        self.is_closed = False
        self._is_in_string = False
        self._depth = 0
        self._size_bytes = 0

    def add(self, line: bytes) -> None:
        """Take one more line; the work is linear in it."""
        self.lines.append(line)
        self._size_bytes += len(line)
        is_over = len(self.lines) > JOINED_LINES_MAX or self._size_bytes > JOINED_BYTES_MAX
        if is_over:
            self.is_broken = True
        else:
            self._scan(line)

    def joined(self) -> bytes:
        """The bytes so far."""
        return b"".join(self.lines)

    def _scan(self, line: bytes) -> None:
        at = 0
        while at < len(line) and not self.is_broken:
            pattern = _STRING_REST if self._is_in_string else _BETWEEN_STRINGS
            found = pattern.match(line, at)
            assert found is not None, "BUG: both patterns match the empty text"
            if not self._is_in_string:
                self._count(found.group())
            at = found.end()
            if at < len(line):
                self.is_broken |= line[at : at + 1] != b'"' or self.is_closed
                self._is_in_string = not self._is_in_string
                at += 1

    def _count(self, text: bytes) -> None:
        for bracket in text.translate(None, _NOT_BRACKETS):
            self.is_broken |= self.is_closed
            self._depth += 1 if bracket in b"{[" else -1
            self.is_closed = self._depth <= 0
            self.is_broken |= self._depth > DEPTH_MAX
