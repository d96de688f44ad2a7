"""One session as a program uses it: append, look at any version, roll back.

Reads the clock through the ledger and joins store and core. Knows nothing about terminals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .blocks import keys_in, load_block
from .content import Block, Origin, block_from, digest_of, from_json, to_text
from .drafts import AppendMessage
from .errors import BadInput, ConflictError
from .events import (
    AnyEvent,
    CallCompleted,
    ModelCalled,
    SessionOpened,
)
from .references import resolve_version
from .render.anthropic import Rendering, render_for_sending
from .render.base import Placed
from .render.recorded import render_recorded
from .rolling_back import RollbackPlan, apply_rollback, plan_rollback
from .session_state import OPERATOR
from .store import StoredEvent
from .views import (
    ViewEntry,
    WindowView,
    behind_compaction,
    category_of,
    load_items,
    load_sound_contents,
    load_window,
    place,
)
from .window import Entry, Window, WindowBuilder, WindowDiff, diff

if TYPE_CHECKING:
    from .ledger import Ledger

_ORIGIN_OF_ROLE: dict[str, Origin] = {
    "user": "human",
    "assistant": "assistant",
    "tool": "tool",
    "system": "system",
}


class Session:
    """A handle on one session. It carries the version it has seen: a stale one cannot write."""

    def __init__(self, ledger: Ledger, session: int, *, concurrent: bool = False) -> None:
        self.ledger = ledger
        self.id = session
        self.store = ledger.store
        self._concurrent = concurrent
        self.version = self.store.head_version(session)
        """The version this handle has seen."""
        opened = next(self.store.read(session, types=("session_opened",), is_reverse=True))
        assert isinstance(opened.event, SessionOpened), "BUG: a session without its first event"
        self.opened: SessionOpened = opened.event

    @property
    def name(self) -> str:
        """The session's name."""
        return self.opened.name

    def refresh(self) -> int:
        """See what others have written; gives the newest version."""
        self.version = self.store.head_version(self.id)
        return self.version

    # -- writing ------------------------------------------------------------------------------

    def append(
        self, message: Mapping[str, Any], *, origin: Origin | None = None, id: str = ""
    ) -> int:
        """Append one message `{"role", "content"}` (a string or Anthropic blocks).

        In a session that was recorded from another agent it is a change of ours, as a roll-back
        is: when more of that agent's records arrive, its own window comes back first.

        Returns:
            The session's version after it.

        Raises:
            BadInput: it has no role or no usable content.
            ConflictError: somebody else wrote to the session since this handle last looked.
        """
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str) or not isinstance(content, str | list):
            raise BadInput(
                "A message needs `role` and `content`.", 'Write {"role": "user", "content": "..."}.'
            )
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = []
        for part in parts:
            if not isinstance(part, Mapping):
                raise BadInput("A content block is not an object.", "Give Anthropic blocks.")
            by_role = _ORIGIN_OF_ROLE.get(role, "human")
            is_tool = str(part.get("type", "")).endswith("tool_result")
            blocks.append(block_from(part, origin or ("tool" if is_tool else by_role)))
        draft = AppendMessage(
            session=self.name,
            role=role,
            blocks=tuple(blocks),
            message=id,
            at_ms=self.ledger.now_ms(),
            actor=role,
        )
        with self.writing():
            self.ledger.writer.write(draft, is_local=True)
        return self.version

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction of this handle: checks what it has seen, moves on when it is done.

        Raises:
            ConflictError: somebody else wrote since this handle last looked.
        """
        try:
            with self.store.transaction():
                head = self.store.head_version(self.id)
                if head != self.version and not self._concurrent:
                    raise ConflictError(
                        f"{self.name} is at version {head}, this handle has seen {self.version}.",
                        "Read it again and decide again; nothing was written.",
                        expected=self.version,
                        actual=head,
                    )
                yield
                head = self.store.head_version(self.id)
        except BaseException:
            self.ledger.writer.forget()
            raise
        self.version = head

    def commit_events(self, events: Sequence[AnyEvent], actor: str = OPERATOR) -> int:
        """Append events that are already decided. Raises ConflictError on a stale handle."""
        with self.writing():
            self.ledger.writer.append(self.id, list(events), actor)
        return self.version

    # -- reading ------------------------------------------------------------------------------

    def resolve(self, reference: str | int) -> int:
        """The version that a reference (`c1^`, `head~3`, 42) means."""
        return resolve_version(self.store, self.id, str(reference))

    def events(
        self,
        after: int = 0,
        to: int | None = None,
        types: Iterable[str] | None = None,
        *,
        is_reverse: bool = False,
    ) -> Iterator[StoredEvent]:
        """Events with `after < version <= to`."""
        return self.store.read(self.id, after, to, types, is_reverse=is_reverse)

    def structure(self, at: str | int = "head") -> Window:
        """The window's structure at a version: which items in which form, no contents."""
        return self.store.window(self.id, self.resolve(at))

    def window(self, at: str | int = "head", *, view: str = "sent") -> WindowView:
        """The window at a version with contents and counted tokens.

        Args:
            at: a reference.
            view: `sent`, or `effective`: after provider-side edits of the call at this version.
        """
        version = self.resolve(at)
        window = self.store.window(self.id, version)
        if view == "effective":
            window = self._effective(window)
        entries = self.view_entries(window.entries)
        if view == "effective":
            entries = behind_compaction(entries)
        reported, unrecorded = self._reported(version, sum(e.tokens for e in entries))
        limit, limit_source = self.opened.limit_tokens or None, self.opened.limit_source
        return WindowView(
            session=self.name,
            version=version,
            view=view,
            coverage=self.opened.coverage,
            entries=entries,
            tokens_method=self.ledger.tokens.name,
            reported=reported,
            unrecorded=unrecorded,
            limit=limit,
            limit_source=limit_source or "unknown",
        )

    def view_entries(self, entries: Sequence[Entry]) -> tuple[ViewEntry, ...]:
        """Entries with contents and tokens, in the given order.

        Contents that are missing or changed on disk are never served: a note stands for them.
        """
        items = load_items(
            self.store, self.id, {e.item_id for e in entries} | {e.text_id for e in entries}
        )
        blocks, damaged = load_sound_contents(self.store, items.values())
        placed = place(entries, items, blocks)
        # A stand-in is counted as what is shown: its own text, not the item's.
        bodies = {
            item: stored.block.body if item not in damaged else b"damaged:" + item.encode()
            for item, stored in items.items()
        }
        counts = self.ledger.tokens.count(
            {
                entry.key: (bodies[entry.text_id], shown.block)
                for entry, shown in zip(entries, placed, strict=True)
            }
        )
        return tuple(
            ViewEntry(
                key=entry.key,
                item=shown.item,
                form=entry.form,
                message=shown.message,
                role=shown.role,
                type=shown.block.type,
                origin=shown.block.origin,
                category=category_of(shown.role, shown.block.type, shown.block.origin, entry.form),
                tokens=counts[entry.key],
                block=shown.block,
            )
            for entry, shown in zip(entries, placed, strict=True)
        )

    def placed(self, window: Window) -> tuple[Placed, ...]:
        """A window as renderers want it."""
        return load_window(self.store, self.id, window)

    def diff(self, a: str | int, b: str | int) -> WindowDiff:
        """Compare two versions."""
        return diff(self.structure(a), self.structure(b))

    # -- calls --------------------------------------------------------------------------------

    def call_at(self, version: int) -> tuple[StoredEvent, CallCompleted | None] | None:
        """The newest call up to a version, and its newest completion."""
        call: StoredEvent | None = None
        completed: CallCompleted | None = None
        types = ("model_called", "call_completed")
        for stored in self.events(to=version, types=types, is_reverse=True):
            if isinstance(stored.event, ModelCalled):
                call = stored
                break
        if call is None:
            return None
        for stored in self.events(after=call.version, types=("call_completed",)):
            event = stored.event
            if isinstance(event, CallCompleted):
                if event.called == call.version:
                    completed = event
                elif event.called > call.version:
                    break
        return call, completed

    def _effective(self, window: Window) -> Window:
        found = self.call_at(window.version)
        if found is None or found[1] is None or found[1].effective is None:
            return window
        call, completed = found
        assert completed is not None and completed.effective is not None
        builder = WindowBuilder(self.store.window(self.id, call.version).entries)
        builder.apply(completed.effective)
        later = self.store.window(self.id, window.version).entries
        sent = {e.key for e in self.store.window(self.id, call.version).entries}
        for entry in later:
            if entry.key not in sent:
                builder.entries[entry.key] = entry
        return builder.window(window.version)

    def _reported(self, version: int, counted: int) -> tuple[int | None, int | None]:
        """(context size the provider reported last, that minus what we count of that window)."""
        found = self.call_at(version)
        if found is None or found[1] is None or found[1].usage is None:
            return None, None
        call, completed = found
        assert completed is not None and completed.usage is not None
        usage = completed.usage
        if completed.iterations and completed.effective is None:
            usage = completed.iterations[0]  # later ones ran on what the provider made of it
        reported = usage.context_tokens
        if not reported:
            return None, None
        sent = self.store.window(self.id, call.version)
        if completed.effective is not None:
            sent = self._effective(sent)
        if call.version != version or completed.effective is not None:
            counted = sum(e.tokens for e in self.view_entries(sent.entries))
        return reported, reported - counted

    def render_call(self, version: int) -> dict[str, Any]:
        """The request body that the call at `version` sent, equal as parsed JSON.

        Raises:
            BadInput: there is no recorded request at this version.
        """
        stored = self.store.read_one(self.id, version)
        event = stored.event
        if not isinstance(event, ModelCalled) or not event.digest:
            raise BadInput(
                f"Version {version} is no call with a recorded request.",
                "Requests are recorded only by formats with exact coverage.",
            )
        bodies = self.store.bodies
        params = to_text(bodies.get(event.params)) if event.params is not None else ""
        marks = to_text(bodies.get(event.marks)) if event.marks is not None else ""
        body = render_recorded(self.placed(self.store.window(self.id, version)), params, marks)
        assert digest_of(body) == event.digest, "BUG: a recorded call renders differently"
        return body

    def render(self, at: str | int = "head", *, max_tokens: int = 0) -> Rendering:
        """A request body that is valid for sending, from the window at any version.

        Args:
            at: a reference.
            max_tokens: the output limit; 0 = as in the newest recorded call, else 4,096.
        """
        version = self.resolve(at)
        params = self._params_at(version)
        recorded = from_json(params).get("max_tokens") if params else None
        return render_for_sending(
            self.placed(self.store.window(self.id, version)),
            model=self.model_at(version),
            max_tokens=max_tokens or (recorded if isinstance(recorded, int) else 4096),
            params=params,
        )

    def _params_at(self, version: int) -> str:
        """Parameters of the newest call up to a version, as JSON; "" when not recorded."""
        found = self.call_at(version)
        if found is None or not isinstance(found[0].event, ModelCalled):
            return ""
        key = found[0].event.params
        return "" if key is None else to_text(self.store.bodies.get(key))

    def model_at(self, version: int) -> str:
        """The model of the newest call up to a version, else the session's."""
        found = self.call_at(version)
        if found is not None and isinstance(found[0].event, ModelCalled) and found[0].event.model:
            return found[0].event.model
        return self.opened.model

    def item_block(self, item: str) -> Block:
        """The raw contents of an item, whatever form it has in the window."""
        items = load_items(self.store, self.id, (item,))
        if item not in items:
            raise BadInput(f"There is no item {item}.", "Items are VERSION.INDEX.")
        stored = items[item].block
        return load_block(stored, self.store.bodies.get_many(keys_in(stored)))

    # -- roll back ----------------------------------------------------------------------------

    def rollback(
        self, *handles: str, to: str = "", is_raw: bool = False, reason: str = ""
    ) -> RollbackPlan:
        """Undo events (`c1`) or restore a version by appending one event; nothing is deleted.

        Raises:
            UnknownReference: there is no such event.
            BadInput: nothing to undo; or a later compaction covers it, which the hint names.
        """
        plan = plan_rollback(self, handles, to=to, is_raw=is_raw)
        apply_rollback(self, plan, reason=reason)
        return plan
