"""Appends what drafts amount to, for any number of sessions, inside the store's transactions.

Holds the state of each session it writes to; throws it away when somebody else wrote in
between. Knows nothing about formats and files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from msgspec import Struct

from ..content import label, to_bytes
from ..drafts import AnyDraft, OpenSession, QuarantineRecord
from ..errors import BadInput, UnknownReference
from ..events import OPERATOR, AnyEvent, ModelCalled, RecordQuarantined, RolledBack, SessionOpened
from ..storage.store import Store
from ..storage.windows import snapshot_interval
from ..window import Entry
from .call_names import Call, CallNames
from .decisions import decide
from .names import NameIndex
from .session_state import SessionState, changes_window, restore_agent_window

MANAGED_FORMATS = frozenset({"api"})
"""Sessions whose window the ledger owns: there is no other agent's window to come back to."""

CALLS_READ = 256
"""Calls read at a time, from the newest back."""


class Place(Struct, frozen=True):
    """Where the record at hand is kept."""

    source: int
    offset: int
    length: int


class Written(Struct, frozen=True):
    """What a draft became."""

    session: int
    first_version: int
    events: tuple[AnyEvent, ...]


@dataclass
class _Open:
    """A session being written: its state, and window changes since the last snapshot."""

    state: SessionState
    is_observed: bool
    unsaved_changes: int


class Writer:
    """The write side of one store handle. Every method runs inside a transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: dict[int, _Open] = {}

    def forget(self) -> None:
        """Throw away what is known, after a transaction that was rolled back."""
        self._open.clear()

    def state(self, session: int) -> SessionState:
        """The state at the head, read again if another writer was faster."""
        return self._opened(session).state

    def write(
        self, draft: AnyDraft, place: Place | None = None, *, is_local: bool = False
    ) -> Written:
        """Append what a draft amounts to.

        Args:
            place: where its record is kept; quarantine drafts need it.
            is_local: done through us: it goes on from our window, not from an observed agent's.

        Raises:
            UnknownReference: it names a session, message or item that does not exist.
            BadInput: it asks for something impossible.
        """
        if isinstance(draft, OpenSession):
            return self._open_session(draft)
        session = self._store.session_id(label(draft.session))
        if session is None:
            raise UnknownReference(f"There is no session {draft.session}.", "Open it first.")
        actor = "agent" if draft.actor == OPERATOR else label(draft.actor)
        if isinstance(draft, QuarantineRecord):
            assert place is not None, "BUG: a quarantined record without a place"
            quarantined = RecordQuarantined(
                source=place.source,
                offset=place.offset,
                length=place.length,
                reason=label(draft.reason),
                at_ms=draft.at_ms,
            )
            return self.append(session, [quarantined], "importer")
        opened = self._opened(session)
        first = opened.state.version + 1
        events: list[AnyEvent] = []
        if is_local and opened.is_observed:
            actor = OPERATOR
        elif opened.is_observed and changes_window(draft):
            restored = restore_agent_window(opened.state)
            if restored is not None:
                events.extend(self.append(session, [restored], actor).events)
        decided = decide(draft, opened.state, self._store.bodies.put)
        for event in decided:
            events.extend(self.append(session, [event], actor).events)
        return Written(session, first, tuple(events))

    def append(self, session: int, events: list[AnyEvent], actor: str) -> Written:
        """Append events that are already decided, and take snapshots when due."""
        opened = self._opened(session)
        first = opened.state.version + 1
        self._store.append(session, opened.state.version, [(event, actor) for event in events])
        for event in events:
            opened.state.evolve(event, actor)
            if getattr(event, "delta", None) is not None:
                opened.unsaved_changes += 1
            interval = snapshot_interval(len(opened.state.window.entries))
            if opened.unsaved_changes >= interval or isinstance(event, RolledBack):
                self._store.windows.keep(session, opened.state.window.window(opened.state.version))
                opened.unsaved_changes = 0
        return Written(session, first, tuple(events))

    def _open_session(self, draft: OpenSession) -> Written:
        name = label(draft.session)
        if not name:
            raise BadInput("A session needs a name.", "Give it one, such as refactor-auth.")
        known = self._store.session_id(name)
        if known is not None:
            return Written(known, 0, ())
        put = self._store.bodies.put

        def body(text: str) -> bytes | None:
            return put(to_bytes(text)) if text else None

        parent = self._store.session_id(label(draft.parent)) if draft.parent else None
        parent_version = 0
        if parent is not None:
            parent_version = self._agent_version(parent)
            if draft.parent_message:
                items = self.state(parent).names.items_of(draft.parent_message)
                parent_version = max((int(i.split(".")[0]) for i in items), default=parent_version)
        event = SessionOpened(
            name=name,
            format=label(draft.format),
            coverage=draft.coverage,
            title=body(draft.title or (draft.session if name != draft.session else "")),
            model=label(draft.model),
            limit_tokens=draft.limit_tokens,
            limit_source="user" if draft.limit_tokens else "",
            folder=body(draft.folder),
            branch=body(draft.branch),
            relation="" if draft.relation == "fork" and parent is None else draft.relation,
            parent=parent or 0,
            parent_version=parent_version,
            at_ms=draft.at_ms,
        )
        session = self._store.open_session(event, label(draft.actor))
        version = parent_version + 1 if event.relation == "fork" else 1
        return Written(session, version, (event,))

    def _opened(self, session: int) -> _Open:
        head = self._store.head_version(session)
        opened = self._open.get(session)
        if opened is None or opened.state.version != head:
            opened = self._open[session] = self._load(session, head)
        return opened

    def _load(self, session: int, head: int) -> _Open:
        store = self._store
        window = store.window(session, head)
        opened_event = next(store.read(session, types=("session_opened",), is_reverse=True), None)
        is_observed = not (
            opened_event is not None
            and isinstance(opened_event.event, SessionOpened)
            and opened_event.event.format in MANAGED_FORMATS
        )
        state = SessionState(
            head,
            window.entries,
            lambda: self._load_names(session, lambda: state.version),
            CallNames(lambda before: self._calls_before(session, before)),
            store.bodies.get,
            self._agent_entries(session) if is_observed else None,
        )
        return _Open(state, is_observed, store.windows.changes_since_snapshot(session))

    def _load_names(self, session: int, version: Callable[[], int]) -> NameIndex:
        names = NameIndex()
        for stored in self._store.read(session, to=version()):
            names.feed(stored.version, stored.event)
        return names

    def _calls_before(self, session: int, version: int) -> list[Call]:
        calls = self._store.read(session, to=version - 1, types=("model_called",), is_reverse=True)
        newest = islice(calls, CALLS_READ)
        return [(s.version, s.event) for s in newest if isinstance(s.event, ModelCalled)]

    def _agent_version(self, session: int) -> int:
        """The newest version whose window the session's own agent saw: the head, if not ours."""
        opened = self._opened(session)
        first_local = self._store.windows.first_of_last_changes_by(session, OPERATOR)
        if not opened.is_observed or first_local is None:
            return opened.state.version
        return first_local - 1

    def _agent_entries(self, session: int) -> tuple[Entry, ...] | None:
        """The agent's own window where the newest window changes are the operator's."""
        first_local = self._store.windows.first_of_last_changes_by(session, OPERATOR)
        if first_local is None:
            return None
        return self._store.window(session, first_local - 1).entries
