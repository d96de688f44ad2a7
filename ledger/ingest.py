"""From the bytes of a source to events: recognise the source, replay what is known, add the rest.

A fold keeps nothing on disk. When a source goes on, its stored bytes are fed again without
writing, which puts splitter and fold exactly where they were; so cutting a source anywhere and
going on later gives the same events as one import. Knows nothing about terminals.

One file because all of it works on the state of one reading: what waits, what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from .content import label
from .drafts import AnyDraft, OpenSession, QuarantineRecord
from .errors import BadInput, UnknownReference
from .formats.base import Fed, Fold, Record, Splitter
from .import_report import Report, SessionCount
from .masking import Mask
from .storage.chain import content_digest
from .storage.masks import Masks
from .storage.sources import RecordRow, Source, SourceOptions, Sources
from .storage.store import Store
from .write_guard import SecretsMode, WriteGuard
from .writing.writer import Place, Writer

COMMIT_RECORDS = 2000
COMMIT_BYTES = 8 * 1024 * 1024
DIGEST_BYTES = 8


class SourceReader:
    """One source being read into a ledger."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        source: Source | None,
        make: Callable[[], tuple[Splitter, Fold]],
        *,
        name: str,
        kind: str,
        format_name: str,
        options: SourceOptions,
        is_same_text: bool = False,
        is_whole: bool = False,
        secrets: SecretsMode = "keep",
    ) -> None:
        """Place a reader behind what is known.

        Args:
            source: the known source that goes on, None for a new one.
            make: gives a fresh splitter and fold of the format.
            is_same_text: records without ids that another source holds for the same session are
                the same records (a rewritten file); otherwise only ids make records equal.
            is_whole: the whole input is one record, not lines.
            secrets: what becomes of credentials in new records.
        """
        self._store = store
        self._sources = Sources(store.db)
        self._writer = writer
        self._source = source
        self._splitter, self._fold = make()
        self._guard = WriteGuard(secrets, lambda: make()[0])
        self._masks: list[Mask] = []
        self._cleared: set[int] = set()
        """Where records begin that hold masks."""
        self._head = b""
        """What the source is recognised by: its first line (which may hold several records)."""
        self._name, self._kind, self._format_name = name, kind, format_name
        self._options = options
        self._is_same_text = is_same_text
        self._is_whole = is_whole
        self._first_session = ""
        self._occurrences: dict[bytes, int] = {}
        self._own_ids: dict[tuple[str, bytes], bytes] = {}
        """(session, key) -> digest of the first record of this source with that id."""
        self._waiting: list[Record] = []
        self._waiting_bytes = 0
        self._at = 0
        self.report = Report(source=name, format=format_name, is_known=source is not None)
        if source is not None:
            self._replay(source)

    def _replay(self, source: Source) -> None:
        self._cleared = self._sources.cleared(source.id)
        for _, data in self._sources.chunks(source.id):
            self._refeed(self._splitter.push(data))
        self._refeed(self._splitter.finish())
        self._at = source.length
        self.report.records = sum(self._sources.count_kinds(source.id).values())

    def _refeed(self, records: Iterable[Record]) -> None:
        for record in records:
            fed, key, digest = self._feed(record)
            if fed.drafts:
                drafts = [self._renamed(draft) for draft in fed.drafts]
                self._own_twin(record, fed, key, digest, drafts[0].session)

    @property
    def length(self) -> int:
        """Bytes of the source that are in the ledger or waiting to be committed."""
        return self._at + self._waiting_bytes

    @property
    def waiting(self) -> int:
        """Records read but not committed."""
        return len(self._waiting)

    def push(self, data: bytes) -> None:
        """Take more bytes; commits by itself when many records wait."""
        self._take(self._splitter.push(data))

    def finish(self) -> Report:
        """The input has ended: read what can be read, commit, and say what was done."""
        self._take(self._splitter.finish())
        self.commit()
        self.report.pending_bytes = len(self._splitter.pending)
        return self.report

    def _take(self, records: Iterable[Record]) -> None:
        for original in records:
            if self._source is None and not (self._head if self._is_whole else b"\n" in self._head):
                self._head += original.data
            record, masks = self._guard.take(original)
            if masks:
                self._masks += masks
                self._cleared.add(record.offset)
            self._waiting.append(record)
            self._waiting_bytes += len(record.data)
            if len(self._waiting) >= COMMIT_RECORDS or self._waiting_bytes >= COMMIT_BYTES:
                self.commit()

    def commit(self) -> None:
        """Store all waiting records and their events, whole or not at all."""
        if not self._waiting:
            return
        try:
            with self._store.transaction():
                if self._source is None:
                    self._source = self._sources.create(
                        self._name,
                        self._kind,
                        self._format_name,
                        self._head if self._is_whole else self._head.partition(b"\n")[0],
                        self._options,
                    )
                rows = [self._store_record(record, self._source) for record in self._waiting]
                data = b"".join(record.data for record in self._waiting)
                self._sources.append(self._source.id, self._at, data, rows)
                Masks(self._store.db).add(self._source.id, self._masks)
        except BaseException:
            self._writer.forget()
            raise
        self._at += self._waiting_bytes
        self._waiting, self._waiting_bytes, self._masks = [], 0, []
        self.report.secrets = dict(self._guard.counts)
        self.report.are_secrets_redacted = self._guard.mode == "redact"

    def _feed(self, record: Record) -> tuple[Fed, bytes, bytes]:
        """(the fold's answer, the record's key, digest of its bytes)."""
        if record.repaired == "blank":
            fed = Fed("outside", what="blank")
        else:
            fed = self._fold.feed(record)
        digest = content_digest(
            fed.content or record.data.strip()
        )  # a late line end makes no other record
        source_key = self._fold.key(record) if not record.fault else ""
        if source_key:
            key = content_digest(b"id:" + source_key.encode("utf-8", "surrogatepass"))
        else:
            nth = self._occurrences[digest] = self._occurrences.get(digest, 0) + 1
            key = content_digest(b"%b#%d" % (digest, nth))
        is_cleared = record.offset in self._cleared
        return fed, key, b"" if is_cleared else digest[:DIGEST_BYTES]

    def _store_record(self, record: Record, source: Source) -> RecordRow:
        fed, key, digest = self._feed(record)
        self.report.records += 1
        self.report.new_records += 1
        self.report.repaired += record.repaired not in ("", "blank")
        if fed.kind == "unknown":
            what = fed.what or "?"
            self.report.unknown[what] = self.report.unknown.get(what, 0) + 1
        row = RecordRow(record.offset, len(record.data), key, digest, fed.kind)
        if not fed.drafts:
            return row
        drafts = [self._renamed(draft) for draft in fed.drafts]
        twin = self._own_twin(record, fed, key, digest, drafts[0].session)
        twin = twin or self._twin(key, digest, drafts, has_id=bool(self._fold.key(record)))
        if twin == "same":
            self.report.duplicates += 1
            return RecordRow(record.offset, len(record.data), key, digest, "duplicate")
        if twin == "other":
            self.report.conflicts += 1
            first = drafts[0]
            drafts = [QuarantineRecord(session=first.session, reason="same_id_other_bytes")]
        place = Place(source.id, record.offset, len(record.data))
        return self._write(row, drafts, place)

    def _write(self, row: RecordRow, drafts: list[AnyDraft], place: Place) -> RecordRow:
        session = version = None
        events = 0
        kind = row.kind
        for draft in drafts:
            if isinstance(draft, QuarantineRecord):
                kind = "quarantined"
                self._ensure_open(draft)
            try:
                written = self._writer.write(draft, place)
            except (BadInput, UnknownReference) as error:
                kind = "quarantined"
                refused = QuarantineRecord(session=draft.session, reason="refused")
                self._warn(f"byte {row.offset}: {error.message}")
                self._ensure_open(refused)
                written = self._writer.write(refused, place)
            count = self._count(draft.session)
            count.new_events += len(written.events)
            if not written.events:
                continue
            if session is None:
                session, version = written.session, written.first_version
            if written.session == session:
                events += len(written.events)
        count = self._count(drafts[0].session)
        count.records += 1
        count.quarantined += kind == "quarantined"
        return RecordRow(
            row.offset, row.length, row.key, row.digest, kind, session, version, events
        )

    def _ensure_open(self, draft: QuarantineRecord) -> None:
        if self._store.session_id(label(draft.session)) is None:
            self._writer.write(OpenSession(session=draft.session, format=self._fold.name))

    def _count(self, session: str) -> SessionCount:
        session = label(session)
        count = self.report.sessions.get(session)
        if count is None:
            count = self.report.sessions[session] = SessionCount(session, self._fold.name)
        return count

    def _warn(self, text: str) -> None:
        if len(self.report.warnings) < 20:
            self.report.warnings.append(text)

    def _renamed(self, draft: AnyDraft) -> AnyDraft:
        """The first session of the source gets the name that the user gave."""
        given = self._options.given_session
        if not given:
            return draft
        if not self._first_session:
            self._first_session = draft.session
        changes = {
            field: given
            for field in ("session", "parent")
            if getattr(draft, field, "") == self._first_session
        }
        return msgspec.structs.replace(draft, **changes) if changes else draft

    def _twin(self, key: bytes, digest: bytes, drafts: list[AnyDraft], *, has_id: bool) -> str:
        """Whether another record of the session has this key: "", "same" or "other" bytes."""
        if not has_id and not self._is_same_text:
            return ""
        session = self._store.session_id(label(drafts[0].session))
        if session is None:
            return ""
        own = self._source.id if self._source is not None else 0
        twins = [
            (its_digest, kind)
            for source, its_session, its_digest, kind in self._sources.with_key(key)
            if its_session == session and source != own
        ]
        if any(_is_equal(its_digest, digest) for its_digest, _ in twins):
            return "same"
        return "other" if any(kind != "quarantined" for _, kind in twins) else ""

    def _own_twin(self, record: Record, fed: Fed, key: bytes, digest: bytes, session: str) -> str:
        """The same inside this source, by id alone: a retry that was sent twice."""
        if record.fault or fed.kind == "quarantined" or not self._fold.key(record):
            return ""
        first = self._own_ids.get((session, key))
        if first is None:
            self._own_ids[session, key] = digest
            return ""
        return "same" if _is_equal(first, digest) else "other"


def _is_equal(one: bytes, other: bytes) -> bool:
    """True for equal digests; of a redacted record there is none, it counts as equal."""
    return one == other or not one or not other
