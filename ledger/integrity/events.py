"""The part of `verify` that goes over the events: chain, order, forms, and what they mention.

Knows nothing about bodies, sources and windows beyond their keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..blocks import keys_in
from ..errors import CorruptLedger
from ..event_codec import decode, encode, type_of
from ..events import AnyEvent, BodyKey, CheckRan, ContentRedacted, SessionOpened, messages_of
from ..storage.chain import link
from ..storage.codec import unpack
from ..storage.connection import Row
from ..storage.store import Store
from .findings import Findings, rows_left

COLUMNS = "position, session, version, recorded_at, type, actor, data, hash"
TYPES = (int, int, int, int, str, str, bytes, bytes)


@dataclass
class Stream:
    """The versions that one session holds itself."""

    first: int
    last: int
    parent: int = 0
    """Forks: the session it goes on from."""


@dataclass
class EventLog:
    """What the events say, as far as they can be read."""

    origin: bytes = b""
    size: int = 0
    """Position of the last event."""
    hash_at_saved: bytes = b""
    """Hash of the event at the saved head's size."""
    streams: dict[int, Stream] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    mentioned: dict[BodyKey, tuple[int, int]] = field(default_factory=dict)
    """Body key -> (session, version) of the first event that mentions it."""
    redacted: dict[BodyKey, BodyKey] = field(default_factory=dict)
    """Contents that were removed -> what is read instead, empty bytes = nothing."""
    damaged: set[int] = field(default_factory=set)
    """Sessions with an event that is not as it was written."""
    is_partial: bool = False
    """Some events are missing or cannot be read."""

    def ancestors(self, session: int) -> Iterator[int]:
        """The sessions a fork goes on from, nearest first."""
        parent = self.streams[session].parent
        while parent and parent in self.streams:
            yield parent
            parent = self.streams[parent].parent


def body_keys(event: AnyEvent) -> Iterator[BodyKey]:
    """All body keys that an event mentions."""
    for message in messages_of(event):
        for block in message.blocks:
            yield from keys_in(block)
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if isinstance(value, bytes) and name != "digest":
            yield value
    if isinstance(event, CheckRan):
        yield from (verdict.text for verdict in event.verdicts if verdict.text is not None)
    elif isinstance(event, ContentRedacted):
        yield from event.bodies
        yield from filter(None, event.instead)


def read_events(store: Store, findings: Findings, saved_size: int) -> EventLog:
    """Go over all events in order.

    Args:
        saved_size: position whose hash is wanted (`hash_at_saved`).
    """
    log = EventLog()
    try:
        log.origin = store.origin()
    except CorruptLedger as error:
        findings.add(error.message)
    previous = log.origin
    for row in rows_left(store.db, findings, "events", COLUMNS, TYPES):
        position, session, version, stored_hash = row[0], row[1], row[2], row[7]
        if position != log.size + 1:
            findings.add(f"events are missing between positions {log.size} and {position}")
            log.is_partial = True
        elif link(previous, *row[:7]) != stored_hash:
            findings.add("the event, its place or the one before it was changed", session, version)
            log.damaged.add(session)
        previous, log.size = stored_hash, position
        if position == saved_size:
            log.hash_at_saved = stored_hash
        _read_event(row, log, findings)
    findings.names.update(log.names)
    return log


def _read_event(row: Row, log: EventLog, findings: Findings) -> None:
    position, session, version, _, type_name = row[:5]
    try:
        data = unpack(row[6])
        event = decode(data)
    except (CorruptLedger, RecursionError) as error:
        findings.add(getattr(error, "message", "it is nested too deeply"), session, version)
        log.damaged.add(session)
        event = None
    if event is not None and (type_of(event) != type_name or encode(event) != data):
        findings.add("the event is not in the form in which it is written", session, version)
        log.damaged.add(session)
    _follow(position, session, version, event, log, findings)
    if event is None:
        return
    if isinstance(event, SessionOpened):
        log.names[position] = event.name
    elif isinstance(event, ContentRedacted):
        instead = event.instead or (b"",) * len(event.bodies)
        log.redacted.update(zip(event.bodies, instead, strict=False))
    for key in body_keys(event):
        log.mentioned.setdefault(key, (session, version))


def _follow(
    position: int,
    session: int,
    version: int,
    event: AnyEvent | None,
    log: EventLog,
    findings: Findings,
) -> None:
    """Versions have no gaps; a session begins with `session_opened`, a fork after its parent."""
    stream = log.streams.get(session)
    if stream is not None:
        if version != stream.last + 1:
            findings.add(f"version {stream.last + 1} is missing", session, version)
            log.damaged.add(session)
        stream.last = version
        return
    stream = log.streams[session] = Stream(version, version)
    if not isinstance(event, SessionOpened) or position != session:
        findings.add("the session does not begin with its first event", session, version)
        log.damaged.add(session)
        return
    expected = 1
    if event.relation == "fork":
        stream.parent, expected = event.parent, event.parent_version + 1
        parent = log.streams.get(event.parent)
        if parent is None or parent.last < event.parent_version:
            findings.add(f"its parent has no version {event.parent_version}", session, version)
            log.damaged.add(session)
    if version != expected:
        findings.add(f"the session begins at version {version}, not {expected}", session, version)
        log.damaged.add(session)
