"""Bytes of sources that were overwritten: where, and what a file looks like behind the same masks.

Knows nothing about what is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..masking import Mask
from .chain import content_digest
from .codec import pack_frame
from .connection import Connection
from .sources import RecordRow, Source, Sources, rows_digest, source_digest


class Masks:
    """The `masks` table."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._sources = Sources(connection)

    def of(self, source: int, start: int = 0, end: int = 2**62) -> list[Mask]:
        """Masks that lie in a part of a source, in order."""
        return [
            Mask(offset, length, kind)
            for offset, length, kind in self._db.rows(
                "SELECT offset, length, kind FROM masks WHERE source = ? AND offset < ?"
                " AND offset + length > ? ORDER BY offset",
                (source, end, start),
            )
        ]

    def add(self, source: int, masks: Iterable[Mask]) -> None:
        """Note masks, inside the transaction that stores the masked bytes."""
        self._db.executemany(
            "INSERT OR IGNORE INTO masks(source, offset, length, kind) VALUES (?, ?, ?, ?)",
            [(source, mask.offset, mask.length, mask.kind) for mask in masks],
        )

    def is_beginning(self, source: Source, read: Callable[[int, int], bytes]) -> bool:
        """True if a file begins with all of a source, masked bytes apart.

        Args:
            read: gives (offset, length) of the file.
        """
        return all(
            content_digest(self.behind(source.id, offset, read(offset, length))) == digest
            for offset, length, digest in self._sources.digests(source.id)
        )

    def behind(self, source: int, offset: int, data: bytes) -> bytes:
        """Bytes of a file with those of the source in the places that were masked."""
        places = self.of(source, offset, offset + len(data))
        if not places:
            return data
        stored = self._sources.read_range(source, offset, len(data))
        out = bytearray(data)
        for mask in places:
            start, end = max(0, mask.offset - offset), mask.offset + mask.length - offset
            out[start : min(end, len(data))] = stored[start : min(end, len(data))]
        return bytes(out)

    def overwrite(
        self, source: int, offset: int, data: bytes, records: list[RecordRow], masks: list[Mask]
    ) -> None:
        """Store a frame with masks in it, inside a transaction; records in it lose their digests.

        Args:
            offset: of the frame.
            data: all its bytes, masked.
            records: all its records.
            masks: what is new.
        """
        touched = {
            record.offset
            for record in records
            for mask in masks
            if record.offset <= mask.offset < record.offset + record.length
        }
        digest = b""
        for record in records:
            if record.offset in touched:
                record = RecordRow(  # noqa: PLW2901
                    record.offset, record.length, record.key, b"", record.kind,
                    record.session, record.version, record.events,
                )  # fmt: skip
            digest = rows_digest(digest, record)
        self._db.executemany(
            "UPDATE records SET digest = x'' WHERE source = ? AND offset = ?",
            [(source, place) for place in sorted(touched)],
        )
        self._db.execute(
            "UPDATE chunks SET digest = ?, rows = ?, data = ? WHERE source = ? AND offset = ?",
            (content_digest(data), digest, pack_frame(data), source, offset),
        )
        self.add(source, masks)

    def describe(self, source: int, name: str, options: str) -> None:
        """Give a source another name and options, inside a transaction."""
        for kind, format_name, head in self._db.rows(
            "SELECT kind, format, head FROM sources WHERE id = ?", (source,)
        ):
            digest = source_digest(name, kind, format_name, bytes(head), options)
            self._db.execute(
                "UPDATE sources SET name = ?, options = ?, digest = ? WHERE id = ?",
                (name, options, digest, source),
            )

    def totals(self) -> Mapping[int, int]:
        """Masked bytes by source."""
        query = "SELECT source, sum(length) FROM masks GROUP BY source"
        return dict(self._db.rows(query))
