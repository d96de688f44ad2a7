"""Answers what the screens ask, from a read-only connection: rows, windows, items, diffs, hits.

One feed belongs to the thread that made it. Knows nothing about Textual; gives structs and
never lines or colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from ctxledger.ledger import Ledger, Session
from ctxledger.ledger.blocks import load_block
from ctxledger.ledger.content import Block, readable
from ctxledger.ledger.errors import CorruptLedger
from ctxledger.ledger.event_codec import type_of
from ctxledger.ledger.events import AnyEvent, StoredBlock, messages_of
from ctxledger.ledger.finding.catalogue import session_rows
from ctxledger.ledger.rolling_back import (
    REARRANGING_TYPES,
    RollbackPlan,
    plan_rollback,
    undone_versions,
)
from ctxledger.ledger.storage.store import StoredEvent
from ctxledger.ledger.views.comparing import Comparison, compare
from ctxledger.ledger.views.contents import ViewEntry, WindowView
from ctxledger.ledger.views.windows import View
from ctxledger.ledger.window import Entry, split_id

from .answers import ItemPicture, Provenance, SessionLine, SessionOverview
from .describe import TimelineRow, damaged_row, first_words, row_of

if TYPE_CHECKING:
    from ctxledger.ledger.finding.recall import Hit

PREVIEW_BYTES_MAX = 256 * 1024
"""Larger contents are not read for a row of the timeline; the row says how large they are."""
SEARCH_HITS_MAX = 200


class Feed:
    """Reads one ledger file."""

    def __init__(self, path: str) -> None:
        """Open it read-only; raises what `Ledger.open` raises."""
        self._ledger = Ledger.open(path, "read")
        self._sessions: dict[int, Session] = {}
        self._undone: tuple[int, int, set[int]] = (0, 0, set())

    def close(self) -> None:
        """Close the file."""
        self._ledger.close()

    @property
    def tokens_method(self) -> str:
        """Who counts."""
        return self._ledger.tokens.name

    def _session(self, session: int) -> Session:
        if session not in self._sessions:
            self._sessions[session] = Session(self._ledger, session)
        return self._sessions[session]

    # -- sessions -----------------------------------------------------------------------------

    def sessions(self) -> list[SessionLine]:
        """All sessions, the newest last; also those that the catalogue has nothing about."""
        known = {
            row.id: SessionLine(
                id=row.id,
                name=row.name,
                title=row.title,
                format=row.format,
                model=row.model,
                relation=row.relation,
                version=row.version,
                calls=row.calls,
                compactions=row.compactions,
                reported_tokens=row.reported or 0,
                limit_tokens=row.limit or 0,
                last_at_ms=row.updated_ms,
            )
            for row in session_rows(self._ledger.store)
        }
        names = self._ledger.store.session_names()
        bare = [SessionLine(id=i, name=name) for i, name in names if i not in known]
        return bare + list(known.values())

    def find(self, reference: str) -> int:
        """The session a person means. Raises UnknownReference."""
        return self._ledger.find(reference).id

    def overview(self, session: int) -> SessionOverview:
        """Its name, head and compactions as they are now."""
        handle = self._session(session)
        return SessionOverview(
            id=session,
            name=handle.name,
            head=handle.refresh(),
            compactions=tuple(self._ledger.store.mark_versions(session, "window_compacted")),
        )

    def resolve(self, session: int, reference: str) -> int:
        """The version that `c1^`, `head~3` or 42 means. Raises UnknownReference."""
        return max(1, self._session(session).resolve(reference))

    # -- timeline -----------------------------------------------------------------------------

    def timeline(self, session: int, first: int, last: int) -> list[TimelineRow]:
        """Rows of the events `first` to `last`; one that cannot be read says so in its row."""
        try:
            return self._rows(session, self._ledger.store.read(session, first - 1, last))
        except CorruptLedger:
            return [self._one_row(session, version) for version in range(first, last + 1)]

    def _one_row(self, session: int, version: int) -> TimelineRow:
        try:
            return self._rows(session, [self._ledger.store.read_one(session, version)])[0]
        except CorruptLedger as error:
            return damaged_row(version, f"{error.message} {error.hint}")

    def _rows(self, session: int, events: Iterable[StoredEvent]) -> list[TimelineRow]:
        stored = list(events)
        previews = self._previews([e.event for e in stored])
        undone = self._undone_in(session)
        return [
            row_of(
                e.version,
                e.event,
                lambda block: previews.get(block.body, ""),
                is_undone=e.version in undone,
            )
            for e in stored
        ]

    def _undone_in(self, session: int) -> set[int]:
        """Versions that roll-backs have undone; read again only when the session has grown."""
        handle = self._session(session)
        if self._undone[:2] != (session, handle.version):
            self._undone = (session, handle.version, undone_versions(handle))
        return self._undone[2]

    def _previews(self, events: Sequence[AnyEvent]) -> dict[bytes, str]:
        blocks = {
            block.body: block
            for event in events
            for message in messages_of(event)
            for block in message.blocks
        }
        small = [key for key, block in blocks.items() if block.size <= PREVIEW_BYTES_MAX]
        bodies = self._ledger.store.bodies.get_many(small)
        return {
            key: first_words(_with_text(block, bodies[key])) if key in bodies else "(large)"
            for key, block in blocks.items()
        }

    # -- windows and items --------------------------------------------------------------------

    def window(self, session: int, version: int, view: View) -> WindowView:
        """The window at a version, counted."""
        return self._session(session).window(version, view=view)

    def item(self, session: int, item: str, at: int) -> ItemPicture:
        """One item in full, as the window at `at` shows it, and where it came from."""
        handle = self._session(session)
        head = handle.refresh()
        window = handle.structure(at)
        entry = next((e for e in window.entries if e.item_id == item), None)
        shown = handle.view_entries((entry,))[0] if entry is not None else None
        raw = handle.view_entries((Entry(item),))[0]
        is_in_head = any(e.item_id == item for e in handle.structure(head).entries)
        return ItemPicture(
            item=item,
            block=handle.item_block(item),
            shown=shown,
            at=at,
            tokens=raw.tokens,
            tokens_method=self._ledger.tokens.name,
            message=raw.message,
            role=raw.role,
            origin=self._provenance(session, split_id(item)[0]),
            is_in_head=is_in_head,
            left_at=(0, "") if is_in_head else self._left_at(session, item),
        )

    def items_at(self, session: int, version: int) -> list[str]:
        """Ids of the items that one event brought."""
        event = self._ledger.store.read_one(session, version).event
        n = sum(len(message.blocks) for message in messages_of(event))
        return [f"{version}.{index}" for index in range(n)]

    def raw_text(self, session: int, items: Sequence[str]) -> str:
        """The words of items exactly as recorded, blank lines between them."""
        handle = self._session(session)
        return "\n\n".join(readable(handle.item_block(item)) for item in items)

    def _provenance(self, session: int, version: int) -> Provenance:
        stored = self._ledger.store.read_one(session, version)
        record = self._ledger.sources.record_of(stored.session, version)
        place = {}
        source = None
        if record is not None:
            source = self._ledger.sources.get(record[0])
            place = {"offset": record[1], "length": record[2]}
        return Provenance(
            version=version,
            event=type_of(stored.event),
            actor=stored.actor,
            at_ms=stored.event.at_ms,
            source=source.name if source is not None else "",
            source_format=source.format if source is not None else "",
            **place,
        )

    def _left_at(self, session: int, item: str) -> tuple[int, str]:
        """The newest event that took an item out of the window."""
        store = self._ledger.store
        versions = (v for name in REARRANGING_TYPES for v in store.mark_versions(session, name))
        for version in sorted(versions, reverse=True):
            # It is not there later on, so the newest change that still found it took it out.
            if any(e.item_id == item for e in store.window(session, version - 1).entries):
                row = row_of(version, store.read_one(session, version).event, lambda _: "")
                return version, row.handle or f"{row.kind} at {version}"
        return 0, ""

    # -- comparing, searching, undoing --------------------------------------------------------

    def diff(self, session: int, version: int) -> Comparison:
        """The window at a version against the one before its last change (`v^` and `v`)."""
        before = self._ledger.store.windows.change_before(session, version, 1)
        return compare(self._session(session), before, version)

    def search(self, query: str, session: int | None) -> list[Hit]:
        """What fits a query in the raw history, best first."""
        from ctxledger.ledger.finding.recall import search

        return search(self._ledger, query, session=session, limit=SEARCH_HITS_MAX, offset=0)

    def plan(self, session: int, handles: Sequence[str], to: str) -> RollbackPlan:
        """What a roll-back would do. Raises BadInput, UnknownReference."""
        plan = plan_rollback(self._session(session), handles, to=to)
        assert plan.tokens_before >= 0  # counts both sides here, in the reader's thread
        return plan

    def handle_at(self, session: int, version: int) -> str:
        """`c1`, `e2`, `r1`, `call7` of an event; "" when it has none."""
        event = self._ledger.store.read_one(session, version).event
        return row_of(version, event, lambda _: "").handle

    def undoable_at(self, session: int, version: int) -> str:
        """The handle of an event that can be undone by name, else ""."""
        handle = self.handle_at(session, version)
        return handle if handle[:1] in ("c", "e", "r") and handle[1:].isdigit() else ""

    def planned_entries(
        self, session: int, plan: RollbackPlan, shown_max: int
    ) -> tuple[tuple[ViewEntry, ...], tuple[ViewEntry, ...]]:
        """The first entries that would come back, as they would stand, and that would leave."""
        handle = self._session(session)
        before = {entry.key: entry for entry in plan.before}
        after = {entry.key: entry for entry in plan.after}
        removed = [before[key] for key in plan.removed[:shown_max]]
        restored = [after[key] for key in plan.restored[:shown_max]]
        return handle.view_entries(restored), handle.view_entries(removed)


def _with_text(block: StoredBlock, body: bytes) -> Block:
    """As much of a block as its first words need."""
    return load_block(msgspec.structs.replace(block, rest=None, meta=None), {block.body: body})
