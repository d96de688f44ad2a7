"""Removes contents for good: from bodies, sources, names, caches, the WAL and free pages.

An event says what was removed and how it was found, never the words. Plan and change are one
transaction; what follows, writing the file anew, can be repeated. Backups and other copies of the
file are not touched. Knows nothing about terminals.

One file because a plan and what is done by it must agree to the last place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from .caches.read_models import MAIN, clear, drop_late, drop_search
from .content import label, to_bytes, to_text
from .events import OPERATOR, AnyEvent, BodyKey, ContentRedacted, messages_of
from .formats.physical import sniff_encoding
from .integrity.events import body_keys
from .ledger import Ledger
from .masking import Find, Mask, Masked, masked, replaced, spans_in
from .redaction_orders import Order
from .storage.connection import BUSY_WAIT_S
from .storage.masks import Masks
from .storage.migrations import CACHES, statements
from .storage.scrubbing import scrub
from .storage.sources import RecordRow, Source
from .storage.store import StoredEvent

EVENTS_READ = 500
KEYS_IN_EVENT_MAX = 1000
_PENDING = "scrub"
"""Row of `meta`: contents were removed, and old pages may still be in the files."""


class SourceChange(Struct):
    """What is to be overwritten in one source."""

    source: Source
    name: str
    frames: list[tuple[int, bytes, list[RecordRow], list[Mask]]]
    """(offset, bytes with masks, records, new masks) of the frames that change."""
    sessions: frozenset[int]

    @property
    def masks(self) -> list[Mask]:
        """All new masks."""
        return [mask for *_, masks in self.frames for mask in masks]


class Redaction(Struct):
    """What a redaction does, or would do."""

    contents: dict[BodyKey, bytes | None]
    """Contents that go -> what is read instead, None = a note alone."""
    kinds: dict[BodyKey, Counter[str]]
    """What was found in them."""
    used_by: dict[int, dict[BodyKey, None]]
    """Session -> those that its own events mention, in order."""
    items: dict[int, list[str]]
    """Session -> its items that are touched."""
    sources: list[SourceChange]
    names_left: int = 0
    """Ids and names in events that hold it too: they are part of the chain and cannot go."""

    @property
    def is_empty(self) -> bool:
        """Nothing was found that can go."""
        return not self.contents and not self.sources

    @property
    def counts(self) -> Counter[str]:
        """How often each kind was found in contents; in sources alone where none was."""
        found: Counter[str] = Counter()
        for counts in self.kinds.values():
            found.update(counts)
        return found or Counter(mask.kind for change in self.sources for mask in change.masks)

    @property
    def masked_bytes(self) -> int:
        """Bytes of sources that are overwritten."""
        return sum(mask.length for change in self.sources for mask in change.masks)


def plan_redaction(ledger: Ledger, order: Order) -> Redaction:
    """What would go; reads everything, changes nothing."""
    with ledger.db.reading():
        found = _plan(ledger, order)
        return _plan(ledger, order.with_values()) if order.values else found


def redact(ledger: Ledger, order: Order, *, note: str = "") -> Redaction:
    """Remove everything that an order finds, and append an event to each session concerned.

    Args:
        note: why, in a person's words.

    Raises:
        LedgerBusy: somebody writes (nothing was changed), or reads on old pages (all is done
            but for them: `finish_redaction`).
    """
    drop_late(ledger.db)
    ledger.db.overwrite_deleted()
    try:
        with ledger.store.transaction():
            plan = plan_redaction(ledger, order)
            if not plan.is_empty:
                _apply(ledger, order, plan, note)
    except BaseException:
        ledger.writer.forget()
        raise
    ledger.tokens.forget()
    finish_redaction(ledger)
    return plan


def finish_redaction(ledger: Ledger, wait_s: float = BUSY_WAIT_S) -> bool:
    """Take old pages out of the files where a redaction left some; False when none did.

    Raises:
        LedgerBusy: somebody still reads or writes.
    """
    if ledger.db.row("SELECT 1 FROM meta WHERE key = ?", (_PENDING,)) is None:
        return False
    ledger.db.overwrite_deleted()
    scrub(ledger.db, "INSERT OR REPLACE INTO meta(key, value) VALUES ('scrub', x'02')", wait_s)
    with ledger.db.transaction():
        ledger.db.execute("DELETE FROM meta WHERE key = ?", (_PENDING,))
    return True


# -- planning -------------------------------------------------------------------------------------


def _plan(ledger: Ledger, order: Order) -> Redaction:
    plan = Redaction({}, {}, {}, {}, [])
    parts = _sessions_of(ledger, order)
    scope = None if parts is None else _keys_of(ledger, parts)
    for key, data in ledger.store.bodies.all():
        if scope is not None and key not in scope:
            continue
        if key in order.keys:
            plan.contents[key], plan.kinds[key] = None, Counter({"item": 1})
            continue
        text = to_text(data)
        if order.is_free(text):
            continue
        spans = spans_in(text, order.find, are_opaque_kept=order.are_opaque_kept)
        if spans:
            plan.contents[key] = to_bytes(replaced(text, spans))
            plan.kinds[key] = Counter(span.kind for span in spans)
    own = ledger.sources.record_of(*order.place) if order.own_texts else None
    for source in _sources_of(ledger, parts):
        change = _plan_source(ledger, source, order, own)
        if change is not None:
            plan.sources.append(change)
    _find_users(ledger, order, plan, parts)
    return plan


def _sessions_of(ledger: Ledger, order: Order) -> set[int] | None:
    if order.session is None:
        return None
    return {part.session for part in ledger.store.lineage(order.session.id)}


def _events(ledger: Ledger, parts: set[int] | None) -> Iterator[StoredEvent]:
    """All events, or those of some sessions."""
    at = 0
    while batch := ledger.store.read_after(at, EVENTS_READ):
        for stored in batch:
            if parts is None or stored.session in parts:
                yield stored
        at = batch[-1].position


def _keys_of(ledger: Ledger, parts: set[int]) -> set[BodyKey]:
    return {key for stored in _events(ledger, parts) for key in body_keys(stored.event)}


def _sources_of(ledger: Ledger, parts: set[int] | None) -> list[Source]:
    if parts is None:
        return ledger.sources.all()
    found = {s.id: s for part in sorted(parts) for s in ledger.sources.of_session(part)}
    return [found[source] for source in sorted(found)]


def _plan_source(
    ledger: Ledger, source: Source, order: Order, own: tuple[int, int, int] | None
) -> SourceChange | None:
    name = replaced(source.name, spans_in(source.name, order.find))
    frames = []
    sessions: set[int] = set()
    rows = ledger.sources.rows(source.id)
    encoding = ""
    for offset, raw in ledger.sources.chunks(source.id):
        encoding = encoding or sniff_encoding(raw)
        records = _records_until(rows, offset + len(raw))
        parts: list[bytes] = []
        masks: list[Mask] = []
        for record in records:
            start = record.offset - offset
            is_own = own is not None and own[:2] == (source.id, record.offset)
            found = _masked(raw[start : start + record.length], order, encoding, is_own=is_own)
            parts.append(found.data)
            masks += [Mask(record.offset + at, n, kind) for at, n, kind in found.spans]
            if found.spans and record.session is not None:
                sessions.add(record.session)
        if masks:
            frames.append((offset, b"".join(parts), records, masks))
    if not frames and name == source.name:
        return None
    return SourceChange(source, name, frames, frozenset(sessions))


def _masked(data: bytes, order: Order, encoding: str, *, is_own: bool) -> Masked:
    if encoding == "utf-8" and order.is_free(data.decode("utf-8", "replace")):
        return Masked(data, ())
    return masked(
        data,
        order.find,
        encoding=encoding,
        are_opaque_kept=order.are_opaque_kept,
        wholes=order.own_texts if is_own else frozenset(),
    )


def _records_until(rows: Iterator[RecordRow], end: int) -> list[RecordRow]:
    """The records of a frame, in order."""
    records: list[RecordRow] = []
    while not records or records[-1].offset + records[-1].length < end:
        record = next(rows, None)
        if record is None:
            break
        records.append(record)
    return records


def _find_users(ledger: Ledger, order: Order, plan: Redaction, parts: set[int] | None) -> None:
    """Who mentions what goes; in the whole ledger, for contents may be shared."""
    for stored in _events(ledger, None):
        session, version, event = stored.session, stored.version, stored.event
        if parts is None or session in parts:
            words = [*_names_in(event), stored.actor]
            plan.names_left += sum(
                1 for word in words if word not in _COMMON_WORDS and any(order.find(word))
            )
        keys = [key for key in body_keys(event) if key in plan.contents]
        if not keys or isinstance(event, ContentRedacted):
            continue
        plan.used_by.setdefault(session, {}).update(dict.fromkeys(keys))
        blocks = [block for message in messages_of(event) for block in message.blocks]
        for place, block in enumerate(blocks):
            if block.body in plan.contents or block.rest in plan.contents:
                plan.items.setdefault(session, []).append(f"{version}.{place}")


_OUR_FIELDS = frozenset({"origin", "coverage", "relation", "outcome", "cause", "format"})
"""Fields whose words are ours, whatever a source says."""
_COMMON_WORDS = frozenset({
    "", "agent", "api", "assistant", "developer", "document", "harness", "human", "image",
    "importer", "operator", "system", "text", "thinking", "tool", "tool_result", "tool_use",
    "tools", "user",
})  # fmt: skip
"""Roles, types and actors that every session has: they say nothing about anybody."""


def _names_in(event: AnyEvent) -> Iterator[str]:
    """Ids, names and other words that an event itself holds, whatever its fields are called."""
    yield from _words_of(event)
    for message in messages_of(event):
        yield from _words_of(message)
        for block in message.blocks:
            yield from _words_of(block)


def _words_of(part: Struct) -> Iterator[str]:
    fields = (name for name in part.__struct_fields__ if name not in _OUR_FIELDS)
    values = (getattr(part, name) for name in fields)
    return (value for value in values if isinstance(value, str) and value not in _COMMON_WORDS)


# -- doing ----------------------------------------------------------------------------------------


def _apply(ledger: Ledger, order: Order, plan: Redaction, note: str) -> None:
    """Inside a transaction."""
    store, db = ledger.store, ledger.db
    instead = {key: store.bodies.redact(key, new) for key, new in plan.contents.items()}
    masks = Masks(db)
    for change in plan.sources:
        for offset, data, records, new in change.frames:
            masks.overwrite(change.source.id, offset, data, records, new)
        if change.name != change.source.name:
            masks.describe(
                change.source.id, change.name, _cleaned_options(change.source, order.find)
            )
    why = store.bodies.put(to_bytes(replaced(note, spans_in(note, order.find)))) if note else None
    for session, keys, sources in _shares(ledger, plan):
        for start in range(0, max(len(keys), 1), KEYS_IN_EVENT_MAX):
            batch = keys[start : start + KEYS_IN_EVENT_MAX]
            mine = [change for change in sources if not start]
            event = ContentRedacted(
                bodies=tuple(batch),
                instead=tuple(instead[key] or b"" for key in batch),
                items=tuple(plan.items.get(session, ())) if not start else (),
                reason=order.reason,
                rule=order.rule,
                kinds=_kinds(plan, batch, mine),
                sources=tuple(change.source.id for change in mine),
                masked_bytes=sum(mask.length for change in mine for mask in change.masks),
                note=why,
                at_ms=ledger.now_ms(),
            )
            ledger.writer.append(session, [event], OPERATOR)
    _clear_caches(ledger, plan.contents)
    db.execute("INSERT OR REPLACE INTO meta(key, value) VALUES (?, x'01')", (_PENDING,))
    db.note_written(sum(len(new or b"") for new in plan.contents.values()))


def _kinds(
    plan: Redaction, keys: Sequence[BodyKey], sources: Iterable[SourceChange]
) -> tuple[tuple[str, int], ...]:
    counts: Counter[str] = Counter()
    for key in keys:
        counts.update(plan.kinds[key])
    if not counts:
        counts.update(mask.kind for change in sources for mask in change.masks)
    return tuple(sorted(counts.items()))


def _shares(ledger: Ledger, plan: Redaction) -> list[tuple[int, list[BodyKey], list[SourceChange]]]:
    """(session, contents, sources) of each event; what nobody mentions goes to the first one."""
    keys = {session: list(used) for session, used in plan.used_by.items()}
    sources: dict[int, list[SourceChange]] = {}
    names = [session for session, _ in ledger.store.session_names()]
    for change in plan.sources:
        for session in change.sessions or set(names[:1]):
            sources.setdefault(session, []).append(change)
    mentioned = {key for used in keys.values() for key in used}
    lost = [key for key in plan.contents if key not in mentioned]
    concerned = sorted({*keys, *sources}) or names[:1]
    if lost and concerned:
        keys.setdefault(concerned[0], []).extend(lost)
    return [(s, keys.get(s, []), sources.get(s, [])) for s in concerned]


def _cleaned_options(source: Source, find: Find) -> str:
    """Options without it; the names that sessions were given stay the names of these sessions."""
    options = source.options
    changes = {
        field: label(value)
        for field, value in (
            ("default_session", options.default_session),
            ("given_session", options.given_session),
        )
        if any(find(value))
    }
    return msgspec.json.encode(msgspec.structs.replace(options, **changes)).decode()


def _clear_caches(ledger: Ledger, keys: Iterable[BodyKey]) -> None:
    """Everything that was made from contents; readers make it anew."""
    db = ledger.db
    ids = ledger.store.bodies.ids_of(keys)
    drop_search(db)
    for statement in statements(CACHES):
        db.execute(statement)
    clear(db, MAIN)
    db.execute("UPDATE session_rows SET data = ?", (b"{}",))
    db.executemany("DELETE FROM tokens WHERE body = ?", [(number,) for number in ids.values()])
