"""Where an event came from: source, bytes, line.

Knows nothing about layout.
"""

from __future__ import annotations

from msgspec import Struct

from ctxledger.ledger import Ledger
from ctxledger.ledger.events import RecordQuarantined
from ctxledger.ledger.storage.store import StoredEvent


class Provenance(Struct, frozen=True):
    """The record that an event came from."""

    source: int
    name: str
    format: str
    offset: int
    """Bytes from the start of the source."""
    length: int
    line: int
    """1, 2, 3 ...: the line its first byte is on."""


def provenance_of(ledger: Ledger, stored: StoredEvent) -> Provenance | None:
    """The record of an event, None when it came from no source."""
    event = stored.event
    if isinstance(event, RecordQuarantined):
        found: tuple[int, int, int] | None = (event.source, event.offset, event.length)
    else:
        found = ledger.sources.record_of(stored.session, stored.version)
    if found is None:
        return None
    source = ledger.sources.get(found[0])
    line = 1 + newlines_before(ledger, source.id, found[1])
    return Provenance(source.id, source.name, source.format, found[1], found[2], line)


def newlines_before(ledger: Ledger, source: int, offset: int) -> int:
    """How many lines of a source end before a byte."""
    count = 0
    for start, raw in ledger.sources.chunks(source):
        if start >= offset:
            break
        count += raw[: offset - start].count(b"\n")
    return count


def record_bytes(ledger: Ledger, provenance: Provenance) -> bytes:
    """The record as it came."""
    return ledger.sources.read_range(provenance.source, provenance.offset, provenance.length)
