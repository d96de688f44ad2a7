"""Bytes in any chunking to physical lines, in UTF-8 or UTF-16.

Each byte is copied once however small the chunks are, so a 100 MB line costs linear time.
Knows nothing about JSON or records.
"""

from __future__ import annotations

from collections.abc import Iterator

_SNIFFED_BYTES = 4
_OPENERS = b"{["


def sniff_encoding(head: bytes) -> str:
    """Tell UTF-16 (by its mark, or by NULs around an opening bracket) from UTF-8."""
    if head[:2] == b"\xff\xfe":
        return "utf-16-le"
    if head[:2] == b"\xfe\xff":
        return "utf-16-be"
    if len(head) < _SNIFFED_BYTES:
        return "utf-8"
    if head[0] in _OPENERS and head[1] == 0 and head[2] != 0 and head[3] == 0:
        return "utf-16-le"
    if head[0] == 0 and head[1] in _OPENERS and head[2] == 0 and head[3] != 0:
        return "utf-16-be"
    return "utf-8"


class LineCutter:
    """Cuts at each newline; a line keeps its newline."""

    def __init__(self, head: bytes = b"") -> None:
        """`head` = the first bytes of the source when the cutter starts in its middle."""
        self.encoding = sniff_encoding(head) if head else ""
        self._parts: list[bytes] = []
        """Bytes of the unfinished line, or everything until the encoding is known."""

    @property
    def is_utf16(self) -> bool:
        """True when characters have two bytes."""
        return self.encoding.startswith("utf-16")

    @property
    def pending(self) -> bytes:
        """Bytes of the unfinished last line."""
        return b"".join(self._parts)

    def clear(self) -> None:
        """Forget the unfinished last line: it was taken as it is."""
        self._parts = []

    def push(self, data: bytes) -> Iterator[bytes]:
        """Give the lines that `data` completes."""
        if not self.encoding:
            data = self.pending + data
            self._parts = []
            if len(data) < _SNIFFED_BYTES:
                self._parts = [data] if data else []
                return
            self.encoding = sniff_encoding(data)
        if self.is_utf16:
            yield from self._cut_utf16(data)
        else:
            yield from self._cut(data, b"\n")

    def settle(self) -> Iterator[bytes]:
        """Decide about an input too short to decide; give its lines."""
        if not self.encoding and self._parts:
            data = self.pending
            self._parts = []
            self.encoding = sniff_encoding(data)
            yield from self._cut_utf16(data) if self.is_utf16 else self._cut(data, b"\n")

    def _cut_utf16(self, data: bytes) -> Iterator[bytes]:
        if self._parts and len(self._parts[-1]) % 2:
            data = self._parts.pop() + data
        half = data[len(data) - len(data) % 2 :]
        newline = b"\n\0" if self.encoding == "utf-16-le" else b"\0\n"
        yield from self._cut(data[: len(data) - len(half)], newline)
        if half:
            self._parts.append(half)

    def _cut(self, data: bytes, newline: bytes) -> Iterator[bytes]:
        width = len(newline)
        start = seek = 0
        while (at := data.find(newline, seek)) >= 0:
            seek = at + 1
            if at % width:
                continue
            seek = at + width
            line = data[start:seek]
            start = seek
            if self._parts:
                self._parts.append(line)
                line = b"".join(self._parts)
                self._parts = []
            yield line
        if start < len(data):
            self._parts.append(data[start:])
