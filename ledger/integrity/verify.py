"""Proof that nothing was changed, removed or damaged; and what is affected if it was.

Goes over the stored bytes themselves, in one read transaction, and never stops at the first
fault: each problem is noted and the rest is read on. A chain does not notice a cut tail or a
ledger rewritten as a whole; a head saved elsewhere does. Knows nothing about formats.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ..errors import CorruptLedger, LedgerError
from ..events import WINDOW_TYPES
from ..storage.bodies import SHARED_BYTES_MIN
from ..storage.chain import Head, commit_to, content_digest
from ..storage.codec import unpack
from ..storage.connection import MEMORY, SCHEMA_VERSION, Connection
from ..storage.migrations import CACHE_TABLES, migrate
from ..storage.store import Store
from ..storage.windows import snapshot_texts
from ..window import PROJECTOR_VERSION, WindowBuilder, texts_of
from .events import EventLog, read_events
from .findings import Findings, Problem, rows_left
from .sources import check_masks, check_sources

DAMAGE = (LedgerError, KeyError, ValueError, TypeError, IndexError)
"""What reading damaged rows can raise; anything else is a defect of ours."""
SQLITE_PROBLEMS_MAX = 100


class Verification(Struct, frozen=True):
    """The outcome of `verify`."""

    ok: bool
    events: int
    bodies: int
    redacted: int
    """Contents that were removed, each by an event that says so."""
    masked_bytes: int
    """Bytes of sources that were overwritten."""
    sources: int
    problems: tuple[Problem, ...]


def verify(store: Store, *, saved_head: Head | None = None) -> Verification:
    """Check everything that the file holds.

    Args:
        saved_head: what `ctxledger head` said earlier; only with it a cut tail and a ledger
            that was rewritten as a whole are found.
    """
    findings = Findings()
    with store.db.reading():
        _check_file(store.db, findings)
        log = read_events(store, findings, saved_head.size if saved_head is not None else 0)
        if saved_head is not None:
            _check_head(saved_head, log, findings)
        bodies, redacted = _check_bodies(store.db, log, findings)
        sources = check_sources(store.db, log, findings)
        masked_bytes = check_masks(store.db, findings)
        _check_windows(store, log, findings)
        _check_names(store.db, log, findings)
    problems = findings.problems()
    return Verification(not problems, log.size, bodies, redacted, masked_bytes, sources, problems)


def _check_file(db: Connection, findings: Findings) -> None:
    """SQLite's own checks, and the schema: a missing trigger means that somebody was here."""
    for pragma in (f"integrity_check({SQLITE_PROBLEMS_MAX})", "foreign_key_check"):
        try:
            for row in db.rows(f"PRAGMA {pragma}"):
                if row != ("ok",):
                    findings.add(f"SQLite: {' '.join(str(field) for field in row)}")
        except CorruptLedger as error:
            findings.add(f"SQLite: {error.message}")
    if db.schema_version != SCHEMA_VERSION:
        findings.add(f"the schema is {db.schema_version}, not {SCHEMA_VERSION}")
        return
    expected = _new_schema()
    try:
        found: dict[str, str] = dict(
            db.rows("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        )
    except CorruptLedger as error:
        findings.add(f"the schema cannot be read: {error.message}")
        return
    for name, sql in expected.items():
        if name not in found:
            findings.add(f"the schema has lost {name}")
        elif found[name] != sql:
            findings.add(f"the schema has another {name}")


def _new_schema() -> dict[str, str]:
    """What a new ledger's tables, indexes and triggers look like, caches left out."""
    fresh = Connection(MEMORY)
    try:
        migrate(fresh, bytes)
        rows = fresh.rows("SELECT name, sql, tbl_name FROM sqlite_master WHERE sql IS NOT NULL")
        return {n: sql for n, sql, table in rows if not table.startswith(CACHE_TABLES)}
    finally:
        fresh.close()


def _check_head(saved: Head, log: EventLog, findings: Findings) -> None:
    if saved.origin != log.origin.hex():
        findings.add(f"the saved head is of another ledger ({saved.origin})")
    elif saved.size > log.size:
        findings.add(f"the log ends at {log.size}, the saved head says {saved.size}")
    elif saved.size and saved.hash != log.hash_at_saved.hex():
        findings.add(f"event {saved.size} is not the one of the saved head: history was rewritten")


def _check_bodies(db: Connection, log: EventLog, findings: Findings) -> tuple[int, int]:
    """(bodies, how many of them were redacted). Contents that nobody mentions are fine."""
    count = redacted = 0
    missing = dict(log.mentioned)
    columns = "id, key, salt, size, data, lookup, instead"
    types = (int, bytes, bytes | None, int, bytes | None, bytes | None, bytes | None)
    for row in rows_left(db, findings, "bodies", columns, types):
        count += 1
        key = row[1]
        place = missing.pop(key, None) or log.mentioned.get(key, (0, 0))
        if row[2] is None and row[4] is None and row[5] is None:
            redacted += 1
            if key not in log.redacted:
                findings.add(f"contents {_hex(key)} were removed, and no event says so", *place)
            elif (row[6] or b"") != log.redacted[key]:
                findings.add(f"contents {_hex(key)} were replaced by others than were said", *place)
            continue
        fault = _body_fault(*row[1:6]) if row[6] is None else "are there, and others beside them"
        if fault:
            findings.add(f"contents {_hex(key)} {fault}", *place)
    for key, place in missing.items():
        findings.add(f"contents {_hex(key)} are missing", *place)
    return count, redacted


def _body_fault(
    key: bytes, salt: bytes | None, size: int, data: bytes | None, lookup: bytes | None
) -> str:
    """What is wrong with one row of `bodies`, "" if nothing is."""
    if salt is None or data is None:
        return "were removed in part"
    try:
        raw = unpack(data)
        if commit_to(salt, raw) != key or len(raw) != size:
            return "were changed"
    except CorruptLedger:
        return "cannot be read"
    expected = content_digest(raw) if size >= SHARED_BYTES_MIN else None
    return "" if lookup == expected else "are filed wrongly"


def _check_windows(store: Store, log: EventLog, findings: Findings) -> None:
    """Each session replays from zero, and agrees with its snapshots and with `store.window`."""
    for session, stream in log.streams.items():
        if session in log.damaged or any(p in log.damaged for p in log.ancestors(session)):
            continue  # said already; its windows prove nothing
        try:
            for version, problem in _replay(store, session, stream.last):
                findings.add(problem, session, version)
        except DAMAGE as error:
            findings.add(f"its windows cannot be built: {_words(error)}", session)


def _replay(store: Store, session: int, head: int) -> Iterator[tuple[int, str]]:
    """(version, problem) of one session."""
    snapshots = store.db.rows(
        "SELECT version, projector, data FROM snapshots WHERE session = ? ORDER BY version",
        (session,),
    )
    pending = next(snapshots, None)
    builder = WindowBuilder()
    at = 0
    for stored in store.read(session, types=WINDOW_TYPES):
        while pending is not None and pending[0] < stored.version:
            yield from _compare(builder, *pending)
            pending = next(snapshots, None)
        at = stored.version
        builder.apply(stored.event.delta)  # type: ignore[union-attr]
    while pending is not None:
        if pending[0] > head:
            yield pending[0], "a snapshot lies behind the last event (run `ctxledger rebuild`)"
        else:
            yield from _compare(builder, *pending)
        pending = next(snapshots, None)
    if store.window(session, max(at, head)).entries != tuple(builder.entries.values()):
        yield head, "the window differs from the one replayed from the start"


def _compare(
    builder: WindowBuilder, version: int, projector: int, data: bytes
) -> Iterator[tuple[int, str]]:
    if projector != PROJECTOR_VERSION:
        return  # of another program version: ignored, not damaged
    if snapshot_texts(data) != list(texts_of(builder.entries.values())):
        yield version, "the snapshot differs from the replay (run `ctxledger rebuild`)"


def _check_names(db: Connection, log: EventLog, findings: Findings) -> None:
    try:
        found = {row[0]: row[1] for row in db.rows("SELECT id, name FROM session_rows")}
    except CorruptLedger as error:
        findings.add(f"the table of sessions cannot be read: {error.message}")
        return
    if found != log.names and not log.is_partial:
        findings.add("the table of sessions differs from the events (run `ctxledger rebuild`)")


def _hex(key: object) -> str:
    return key.hex() if isinstance(key, bytes) else repr(key)


def _words(error: BaseException) -> str:
    return error.message if isinstance(error, LedgerError) else f"{type(error).__name__} {error}"
