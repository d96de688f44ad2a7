"""The bytes of sources as they came, and which record became which events.

Bytes are kept in compressed frames of up to 256 records that tile the source; a short last frame
is packed again when more arrives. Knows nothing about formats and events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from ..errors import CorruptLedger, UnknownReference
from .chain import content_digest
from .codec import pack_frame, unpack
from .connection import Connection

FRAME_RECORDS = 256
FRAME_BYTES_MAX = 1024 * 1024
"""A frame of fewer records is closed when its raw bytes reach this."""
MERGED_RECORDS_MAX = 64
"""A last frame of fewer records is packed again when more arrive."""
KINDS = ("window", "outside", "unknown", "held", "quarantined", "duplicate")
"""What became of a record; the place in this list is stored."""


class SourceOptions(Struct, frozen=True, omit_defaults=True):
    """What is needed to read the source again the same way."""

    default_session: str = ""
    given_session: str = ""
    """The user's name for the first session of the source."""


class Source(Struct, frozen=True):
    """A file, pipe or connection that records came from."""

    id: int
    name: str
    kind: str
    """`file` or `pipe`."""
    format: str
    length: int
    """Bytes kept."""
    options: SourceOptions


class RecordRow(Struct, frozen=True):
    """One record of a source and what it became."""

    offset: int
    length: int
    key: bytes
    digest: bytes
    kind: str
    session: int | None = None
    version: int | None = None
    """Version of its first event."""
    events: int = 0


def source_digest(name: str, kind: str, format_name: str, head: bytes, options: str) -> bytes:
    """Digest of what never changes about a source, for `verify`: 16 bytes."""
    return content_digest(repr((name, kind, format_name, bytes(head), options)).encode())


def rows_digest(before: bytes, record: RecordRow) -> bytes:
    """Digest of the record rows of a frame so far, for `verify`: 16 bytes.

    Args:
        before: the digest up to the record before; empty for the first one of a frame.
    """
    numbers = (
        record.offset, record.length, KINDS.index(record.kind),
        record.session, record.version, record.events,
    )  # fmt: skip
    return content_digest(before + repr(numbers).encode() + record.key + b":" + record.digest)


def _damaged(source: int, offset: int) -> CorruptLedger:
    return CorruptLedger(
        f"Source {source} is damaged at byte {offset}.",
        "Run `ctxledger verify` to see what is affected.",
    )


class Sources:
    """The `sources`, `chunks` and `records` tables."""

    def __init__(self, connection: Connection) -> None:
        self.db = self._db = connection

    def create(
        self, name: str, kind: str, format_name: str, head: bytes, options: SourceOptions
    ) -> Source:
        """Register a source inside a transaction.

        Args:
            head: its first line, or the whole document where that is one record.
        """
        facts = (
            name,
            kind,
            format_name,
            content_digest(head.strip()),
            msgspec.json.encode(options).decode(),
        )
        cursor = self._db.execute(
            "INSERT INTO sources(name, kind, format, head, length, options, digest)"
            " VALUES (?, ?, ?, ?, 0, ?, ?)",
            (*facts, source_digest(*facts)),
        )
        assert cursor.lastrowid is not None, "BUG: no row id"
        return Source(cursor.lastrowid, name, kind, format_name, 0, options)

    def get(self, source: int) -> Source:
        """One source by id."""
        for found in self._select("WHERE id = ?", (source,)):
            return found
        raise UnknownReference(f"There is no source {source}.", "See `ctxledger stats`.")

    def all(self) -> list[Source]:
        """All sources, oldest first."""
        return list(self._select("ORDER BY id", ()))

    def with_head(self, head: bytes) -> list[Source]:
        """Sources with this head, whatever its line end, longest first."""
        clause = "WHERE head = ? ORDER BY length DESC"
        return list(self._select(clause, (content_digest(head.strip()),)))

    def of_session(self, session: int) -> list[Source]:
        """Sources that gave events to a session, oldest first."""
        return list(
            self._select(
                "WHERE id IN (SELECT source FROM records WHERE session = ? AND events > 0)"
                " ORDER BY id",
                (session,),
            )
        )

    def _select(self, clause: str, values: Sequence[object]) -> Iterator[Source]:
        for source, name, kind, format_name, length, packed in self._db.rows(
            f"SELECT id, name, kind, format, length, options FROM sources {clause}", values
        ):
            try:
                options = msgspec.json.decode(packed, type=SourceOptions)
            except (msgspec.DecodeError, TypeError) as error:
                raise CorruptLedger(
                    f"Source {source} has unreadable options: {error}.", "Run `ctxledger verify`."
                ) from error
            yield Source(source, name, kind, format_name, length, options)

    def append(self, source: int, at: int, data: bytes, rows: Sequence[RecordRow]) -> None:
        """Keep the bytes of some records behind offset `at` (the source's length so far)."""
        self._db.executemany(
            "INSERT INTO records(source, offset, length, key, digest, kind, session, version,"
            " events) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    source,
                    r.offset,
                    r.length,
                    r.key,
                    r.digest,
                    KINDS.index(r.kind),
                    r.session,
                    r.version,
                    r.events,
                )
                for r in rows
            ),
        )
        self._append_bytes(source, at, data, rows)
        self._db.execute("UPDATE sources SET length = ? WHERE id = ?", (at + len(data), source))
        self._db.note_written(len(data) // 4 + 100 * len(rows))

    def _append_bytes(self, source: int, at: int, data: bytes, rows: Sequence[RecordRow]) -> None:
        row = self._db.row(
            "SELECT offset, records, data, digest, rows FROM chunks WHERE source = ?"
            " AND records < ? AND length < ? AND offset + length = ?"
            " ORDER BY offset DESC LIMIT 1",
            (source, MERGED_RECORDS_MAX, FRAME_BYTES_MAX // 4, at),
        )
        start, count, pending, rows_hash = at, 0, b"", b""
        if row is not None:
            start, count, pending, rows_hash = row[0], row[1], unpack(row[2]), bytes(row[4])
            if content_digest(pending) != row[3]:
                raise _damaged(source, start)  # never packed again under a fresh digest
        parts, size = [pending], len(pending)
        cursor = 0
        for record in rows:
            parts.append(data[cursor : cursor + record.length])
            cursor += record.length
            size += record.length
            count += 1
            rows_hash = rows_digest(rows_hash, record)
            if count == FRAME_RECORDS or size >= FRAME_BYTES_MAX:
                self._put_chunk(source, start, b"".join(parts), count, rows_hash)
                start, count, size, parts, rows_hash = start + size, 0, 0, [], b""
        if count:
            self._put_chunk(source, start, b"".join(parts), count, rows_hash)

    def _put_chunk(
        self, source: int, offset: int, data: bytes, records: int, rows_hash: bytes
    ) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO chunks(source, offset, length, records, digest, rows, data)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (source, offset, len(data), records, content_digest(data), rows_hash, pack_frame(data)),
        )

    def chunks(self, source: int, from_offset: int = 0) -> Iterator[tuple[int, bytes]]:
        """(offset, raw bytes) of the frames from the one that holds `from_offset`, checked.

        Raises:
            CorruptLedger: a frame is damaged or missing.
        """
        at = None
        for offset, length, digest, data in self._db.rows(
            "SELECT offset, length, digest, data FROM chunks WHERE source = ?"
            " AND offset + length > ? ORDER BY offset",
            (source, from_offset),
        ):
            raw = unpack(data)
            if len(raw) != length or content_digest(raw) != digest or at not in (None, offset):
                raise _damaged(source, offset)
            at = offset + length
            yield offset, raw

    def digests(self, source: int) -> list[tuple[int, int, bytes]]:
        """(offset, length, digest of the raw bytes) of each frame."""
        return [
            (row[0], row[1], bytes(row[2]))
            for row in self._db.rows(
                "SELECT offset, length, digest FROM chunks WHERE source = ? ORDER BY offset",
                (source,),
            )
        ]

    def read(self, source: int) -> Iterator[bytes]:
        """The source byte for byte."""
        for _, raw in self.chunks(source):
            yield raw

    def read_range(self, source: int, offset: int, length: int) -> bytes:
        """Some bytes of a source."""
        out = b""
        for start, raw in self.chunks(source, offset):
            out += raw[max(0, offset - start) : offset + length - start]
            if start + len(raw) >= offset + length:
                break
        return out

    def cleared(self, source: int) -> set[int]:
        """Where records begin whose bytes were overwritten: nothing can be compared with them."""
        query = "SELECT offset FROM records WHERE source = ? AND digest = x''"
        return {offset for (offset,) in self._db.rows(query, (source,))}

    def rows(self, source: int) -> Iterator[RecordRow]:
        """All records of a source, in order."""
        for offset, length, key, digest, kind, session, version, events in self._db.rows(
            "SELECT offset, length, key, digest, kind, session, version, events FROM records"
            " WHERE source = ? ORDER BY offset",
            (source,),
        ):
            if kind not in range(len(KINDS)):
                raise _damaged(source, offset)
            yield RecordRow(offset, length, key, digest, KINDS[kind], session, version, events)

    def with_key(self, key: bytes) -> list[tuple[int, int | None, bytes, str]]:
        """(source, session, digest, kind) of records with this key."""
        return [
            (row[0], row[1], bytes(row[2]), KINDS[row[3]])
            for row in self._db.rows(
                "SELECT source, session, digest, kind FROM records WHERE key = ?", (key,)
            )
        ]

    def record_of(self, session: int, version: int) -> tuple[int, int, int] | None:
        """(source, offset, length) of the record that gave this event."""
        row = self._db.row(
            "SELECT source, offset, length FROM records WHERE session = ? AND version <= ?"
            " AND events > 0 AND version + events > ? ORDER BY version DESC LIMIT 1",
            (session, version, version),
        )
        return None if row is None else (row[0], row[1], row[2])

    def count_kinds(self, source: int) -> dict[str, int]:
        """How many records of each kind a source has."""
        counts = dict.fromkeys(KINDS, 0)
        for kind, count in self._db.rows(
            "SELECT kind, count(*) FROM records WHERE source = ? GROUP BY kind", (source,)
        ):
            counts[KINDS[kind]] = count
        return counts
