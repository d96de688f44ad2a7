"""The part of `verify` that goes over sources, their bytes, and what each record became.

Knows nothing about formats.
"""

from __future__ import annotations

from itertools import islice

from ..errors import CorruptLedger
from ..storage.chain import content_digest
from ..storage.codec import unpack
from ..storage.connection import Connection, Row
from ..storage.sources import KINDS, RecordRow, rows_digest, source_digest
from .events import EventLog
from .findings import Findings, rows_left

SOURCE_COLUMNS = "id, name, kind, format, head, options, digest, length"
SOURCE_TYPES = (int, str, str, str, bytes, str, bytes, int)
CHUNK_COLUMNS = "offset, length, records, digest, rows, data"
CHUNK_TYPES = (int, int, int, bytes, bytes, bytes)
RECORD_COLUMNS = "offset, length, key, digest, kind, session, version, events"
RECORD_TYPES = (int, int, bytes, bytes, int, int | None, int | None, int)


def check_sources(db: Connection, log: EventLog, findings: Findings) -> int:
    """Check all sources and give their number."""
    known: set[int] = set()
    for row in rows_left(db, findings, "sources", SOURCE_COLUMNS, SOURCE_TYPES):
        source, length = row[0], row[7]
        known.add(source)
        if source_digest(*row[1:6]) != row[6]:
            findings.add(f"source {source}: its description was changed")
        end = _check_bytes(db, source, log, findings)
        if end != length:
            findings.add(f"source {source}: it has {end} bytes, not {length}")
    for table in ("chunks", "records"):
        try:
            for (source,) in db.rows(f"SELECT DISTINCT source FROM {table}"):
                if source not in known:
                    findings.add(f"{table} of source {source}, which is not there")
        except CorruptLedger as error:
            findings.add(f"{table} cannot be read: {error.message}")
    missing = set(range(1, max(known, default=0) + 1)) - known
    for source in sorted(missing)[:10]:
        findings.add(f"source {source} is missing")
    return len(known)


def check_masks(db: Connection, findings: Findings) -> int:
    """Masks lie inside their sources; gives the bytes behind them."""
    total = 0
    try:
        for source, last, masked in db.rows(
            "SELECT source, max(offset + length), sum(length) FROM masks GROUP BY source"
        ):
            total += masked
            row = db.row("SELECT length FROM sources WHERE id = ?", (source,))
            if row is None or last > row[0]:
                findings.add(f"source {source}: a mask lies behind its end")
    except CorruptLedger as error:
        findings.add(f"masks cannot be read: {error.message}")
    return total


def _check_bytes(db: Connection, source: int, log: EventLog, findings: Findings) -> int:
    """Frames and records tile the source; gives where they end."""
    own = ("source", source)
    records = rows_left(db, findings, "records", RECORD_COLUMNS, RECORD_TYPES, own)
    at = 0
    for row in rows_left(db, findings, "chunks", CHUNK_COLUMNS, CHUNK_TYPES, own):
        offset, length = row[0], row[1]
        if offset != at:
            findings.add(f"source {source}: bytes {at} to {offset} are missing")
        raw = _frame(row)
        if raw is None:
            findings.add(f"source {source}: bytes {offset} to {offset + length} are damaged")
        became = list(islice(records, max(row[2], 0)))
        _check_records(source, offset, raw, became, row[4], findings)
        for record in became:
            _check_events(source, record, log, findings)
        at = offset + length
    if next(records, None) is not None:
        findings.add(f"source {source}: there are records behind its last byte")
    return at


def _frame(row: Row) -> bytes | None:
    """The raw bytes of a frame, None when they are not as they came."""
    try:
        raw = unpack(row[5])
    except CorruptLedger:
        return None
    return raw if len(raw) == row[1] and content_digest(raw) == row[3] else None


def _check_records(
    source: int, start: int, raw: bytes | None, rows: list[Row], expected: bytes, findings: Findings
) -> None:
    """The records of one frame are as they were written and tile it."""
    digest = b""
    at = start
    for row in rows:
        try:
            record = _record(row)
            digest = rows_digest(digest, record)
        except IndexError:
            findings.add(f"source {source}: the record at byte {row[0]} cannot be read")
            return
        if record.offset != at:
            findings.add(f"source {source}: the record at byte {at} is missing")
            return
        at += record.length
    if digest != expected or (raw is not None and at != start + len(raw)):
        findings.add(f"source {source}: what became of the records from byte {start} was changed")


def _record(row: Row) -> RecordRow:
    offset, length, key, digest, kind, session, version, events = row
    return RecordRow(offset, length, key, digest, KINDS[kind], session, version, events)


def _check_events(source: int, row: Row, log: EventLog, findings: Findings) -> None:
    """The events that a record became are there."""
    session, version, events = row[5:8]
    if session is None and not events:
        return
    stream = log.streams.get(session)
    is_there = (
        stream is not None
        and version is not None
        and stream.first <= version
        and version + events - 1 <= stream.last
    )
    if not is_there and not log.is_partial:
        findings.add(f"the events of source {source}, byte {row[0]} are missing", session, version)
