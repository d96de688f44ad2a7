"""From bytes to records, whatever the size of the chunks they come in.

The records of a source and the bytes still pending always tile what was pushed: byte for
byte, in order, none twice. Lines end at byte 0x0A and nowhere else. Knows nothing about
files, pipes or what the records mean.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from .base import Record
from .parsing import Parsed, parse_padded
from .physical import LineCutter
from .recovery import OpenRecord, recovered, starts_record

_RETRIED_LINES_MAX = 50
"""A failed attempt to join more lines than this is not retried from each of them, so that the
work stays linear on hostile input."""


class LineSplitter:
    """One record a line, with the repairs that need no guessing.

    - A blank line is a record of its own: no value, no fault, `repaired="blank"`.
    - Glued objects become one record each (`glued`); a torn stub before them is a fault.
    - An object with raw newlines inside becomes one record (`joined`). While it is open its
      lines are pending; a line that starts a record of its own ends the attempt.
    - UTF-16 is read line by line (`utf16`), `data` keeps the bytes as they came.
    """

    def __init__(self, offset: int = 0, head: bytes = b"") -> None:
        """Start at `offset` of a source.

        Args:
            head: when resuming (`offset > 0`), the source's first bytes (4 are enough), from
                which a UTF-16 source is known again.
        """
        self._offset = offset
        self._cutter = LineCutter(head if offset else b"")
        self._open: OpenRecord | None = None

    def push(self, data: bytes) -> Iterator[Record]:
        """Give the records that `data` completes; iterate to the end before the next push."""
        for line in self._cutter.push(data):
            yield from self._take(line)

    def finish(self) -> Iterator[Record]:
        """Give what can still be read at the end of the input.

        A last line without a newline is a record if it is a whole object or array. Otherwise
        it stays pending, with the lines that it would continue.
        """
        for line in self._cutter.settle():
            yield from self._take(line)
        tail = self._cutter.pending
        if tail and self._open is not None and not starts_record(tail):
            yield from self._finish_joined(tail)
            return
        while self._open is not None:
            queue: deque[bytes] = deque()
            yield from self._give_up(queue)
            for line in queue:
                yield from self._take(line)
        if tail:
            yield from self._finish_tail(tail)

    @property
    def pending(self) -> bytes:
        """Bytes that belong to no record yet: an open object and a half last line."""
        return (self._open.joined() if self._open else b"") + self._cutter.pending

    def _take(self, line: bytes) -> Iterator[Record]:
        queue = deque([line])
        while queue:
            line = queue.popleft()
            if self._open is None:
                yield from self._start(line)
            elif starts_record(line):
                queue.appendleft(line)
                yield from self._give_up(queue)
            else:
                yield from self._continue(line, queue)

    def _start(self, line: bytes) -> Iterator[Record]:
        if self._cutter.is_utf16:
            yield self._record(line, _parse_utf16(line, self._cutter.encoding))
            return
        if line.isspace():
            yield self._record(line, Parsed(repaired="blank"))
            return
        parsed = parse_padded(line)
        if not parsed.fault:
            yield self._record(line, parsed)
        elif not (parsed.is_cut and self._try_open(line)):
            yield from self._pieces(line, parsed)

    def _try_open(self, line: bytes) -> bool:
        if not (starts_record(line) or line.strip() == b"{"):
            return False
        attempt = OpenRecord()
        attempt.add(line.removeprefix(b"\xef\xbb\xbf"))
        if attempt.is_broken or attempt.is_closed:
            return False
        attempt.lines[0] = line
        self._open = attempt
        return True

    def _continue(self, line: bytes, queue: deque[bytes]) -> Iterator[Record]:
        attempt = self._open
        assert attempt is not None, "BUG: nothing is open"
        attempt.add(line)
        if attempt.is_closed and not attempt.is_broken:
            parsed = parse_padded(attempt.joined())
            if not parsed.fault:
                self._open = None
                yield self._record(attempt.joined(), Parsed(parsed.value, repaired="joined"))
                return
        if attempt.is_closed or attempt.is_broken:
            yield from self._give_up(queue)

    def _give_up(self, queue: deque[bytes]) -> Iterator[Record]:
        """Read the first open line alone; the others go back to the front of `queue`."""
        attempt = self._open
        assert attempt is not None, "BUG: nothing is open"
        self._open = None
        first, *others = attempt.lines
        yield from self._pieces(first, parse_padded(first))
        if len(others) < _RETRIED_LINES_MAX:
            queue.extendleft(reversed(others))
            return
        for line in others[:-1]:
            blank = Parsed(repaired="blank") if line.isspace() else None
            yield from self._pieces(line, blank or parse_padded(line))
        queue.appendleft(others[-1])

    def _finish_joined(self, tail: bytes) -> Iterator[Record]:
        attempt = self._open
        assert attempt is not None, "BUG: nothing is open"
        parsed = parse_padded(attempt.joined() + tail)
        if not parsed.fault:
            self._open = None
            self._cutter.clear()
            yield self._record(attempt.joined() + tail, Parsed(parsed.value, repaired="joined"))

    def _finish_tail(self, tail: bytes) -> Iterator[Record]:
        if self._cutter.is_utf16:
            parsed = _parse_utf16(tail, self._cutter.encoding)
        else:
            parsed = Parsed(repaired="blank") if tail.isspace() else parse_padded(tail)
        if not parsed.fault:
            is_whole = isinstance(parsed.value, dict | list) or parsed.repaired == "blank"
            if is_whole:
                self._cutter.clear()
                yield self._record(tail, parsed)
        elif not self._cutter.is_utf16:
            pieces = recovered(tail, parsed)
            if not pieces[-1].parsed.fault:
                self._cutter.clear()
                yield from self._pieces(tail, parsed)

    def _pieces(self, line: bytes, parsed: Parsed) -> Iterator[Record]:
        if not parsed.fault:
            yield self._record(line, parsed)
            return
        for piece in recovered(line, parsed):
            yield self._record(piece.data, piece.parsed)

    def _record(self, data: bytes, parsed: Parsed) -> Record:
        offset = self._offset
        self._offset += len(data)
        return Record(
            offset=offset,
            data=data,
            value=parsed.value,
            fault=parsed.fault,
            repaired=parsed.repaired,
        )


class WholeSplitter:
    """The whole input is one record: YAML cassettes, pretty-printed JSON, event streams.

    JSON is parsed; other text has neither value nor fault, its format reads `data` itself.
    """

    def __init__(self, offset: int = 0) -> None:
        self._offset = offset
        self._parts: list[bytes] = []

    def push(self, data: bytes) -> Iterator[Record]:
        """Keep `data`; there are no records before the end."""
        self._parts.append(data)
        return iter(())

    def finish(self) -> Iterator[Record]:
        """Give the one record; none when nothing came."""
        data = self.pending
        self._parts = []
        if data:
            offset, self._offset = self._offset, self._offset + len(data)
            parsed = _parse_whole(data)
            yield Record(
                offset=offset,
                data=data,
                value=parsed.value,
                fault=parsed.fault,
                repaired=parsed.repaired,
            )

    @property
    def pending(self) -> bytes:
        """Everything that came, until `finish`."""
        return b"".join(self._parts)


def _parse_whole(data: bytes) -> Parsed:
    cutter = LineCutter(data[:4])
    parsed = _parse_utf16(data, cutter.encoding) if cutter.is_utf16 else parse_padded(data)
    return Parsed() if parsed.fault in ("not_json", "torn") else parsed


def _parse_utf16(data: bytes, encoding: str) -> Parsed:
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError:
        return Parsed(fault="bad_utf16")
    if not text.strip():
        return Parsed(repaired="blank")
    parsed = parse_padded(text.encode())
    return parsed if parsed.fault else Parsed(parsed.value, repaired="utf16")
