"""One session as a program uses it: append, look at any version, roll back.

Reads the clock through the ledger and joins store and core. Knows nothing about terminals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .blocks import blocks_given, keys_in, load_block
from .calls import Call
from .content import Block, Origin, block_from, is_result, tool_from
from .deltas import WindowDiff, diff
from .drafts import AnyDraft, AppendMessage, SetSystem, SetTools
from .errors import BadInput, ConflictError, CorruptLedger
from .events import SessionOpened
from .references import resolve_version
from .render.anthropic import Rendering
from .render.base import Placed
from .rolling_back import RollbackPlan, apply_rollback, plan_rollback
from .storage.store import StoredEvent
from .views.calls import Provider, render_call, render_next
from .views.contents import ViewEntry, WindowView, load_items, load_window
from .views.windows import View, view_entries, view_window
from .window import Entry, Window

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
        opened = next(reversed(self.store.marks(session, "session_opened")), None)
        if opened is None or not isinstance(opened.event, SessionOpened):
            raise CorruptLedger(f"Session {session} is damaged.", "Run `ctxledger verify`.")
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
        self, message: Mapping[str, Any], *, origin: Origin | None = None, message_id: str = ""
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
        by_role = _ORIGIN_OF_ROLE.get(role, "human")

        def block(part: Mapping[str, Any]) -> Block:
            is_tools = is_result(str(part.get("type")))
            return block_from(part, origin or ("tool" if is_tools else by_role))

        draft = AppendMessage(
            session=self.name,
            role=role,
            blocks=blocks_given(_parts(content), block),
            message=message_id,
            at_ms=self.ledger.now_ms(),
            actor=role,
        )
        return self._write(draft)

    def set_system(self, content: str | Sequence[Mapping[str, Any]]) -> int:
        """Put the system blocks (a text, or Anthropic blocks) in force; gives the version."""
        blocks = blocks_given(_parts(content), lambda part: block_from(part, "system"))
        return self._write(SetSystem(session=self.name, blocks=blocks, actor="system"))

    def set_tools(self, definitions: Sequence[Mapping[str, Any]]) -> int:
        """Put the tool definitions in force; gives the version."""
        tools = blocks_given(definitions, tool_from)
        return self._write(SetTools(session=self.name, tools=tools, actor="system"))

    def _write(self, draft: AnyDraft) -> int:
        with self.writing():
            self.ledger.writer.write(draft, is_local=True)
        return self.version

    @contextmanager
    def writing(self, planned_at: int | None = None, *, at_head: bool = False) -> Iterator[None]:
        """A transaction of this handle: checks what it has seen, moves on when it is done.

        Args:
            planned_at: the version that what is written was planned for: it fits no other, so
                `concurrent` handles are held to it too.
            at_head: append behind whatever others wrote.

        Raises:
            ConflictError: somebody else wrote since this handle last looked.
        """
        try:
            with self.store.transaction():
                if not at_head:
                    self._check_version(planned_at)
                yield
                head = self.store.head_version(self.id)
        except BaseException:
            self.ledger.writer.forget()
            raise
        self.version = head

    def _check_version(self, planned_at: int | None) -> None:
        head = self.store.head_version(self.id)
        seen = self.version if planned_at is None else planned_at
        if head != seen and (planned_at is not None or not self._concurrent):
            raise ConflictError(
                f"{self.name} is at version {head}, this handle has seen {seen}.",
                "Read it again and decide again; nothing was written.",
                expected=seen,
                actual=head,
            )

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

    def window(self, at: str | int = "head", *, view: View = "sent") -> WindowView:
        """The window at a version with contents and counted tokens.

        Args:
            at: a reference.
            view: `sent`, or `effective`: after provider-side edits of the call at this version.
        """
        return view_window(self, self.resolve(at), view)

    def view_entries(self, entries: Sequence[Entry]) -> tuple[ViewEntry, ...]:
        """Entries with contents and tokens, in the given order; damaged contents say so."""
        return view_entries(self, entries)

    def placed(self, window: Window) -> tuple[Placed, ...]:
        """A window as renderers want it."""
        return load_window(self.store, self.id, window)

    def diff(self, a: str | int, b: str | int) -> WindowDiff:
        """Compare two versions."""
        return diff(self.structure(a), self.structure(b))

    # -- calls --------------------------------------------------------------------------------

    def render_call(self, version: int) -> dict[str, Any]:
        """The request body that the call at `version` sent, equal as parsed JSON.

        Raises:
            BadInput: there is no recorded request at this version.
        """
        return render_call(self, version)

    def render(
        self, at: str | int = "head", *, max_tokens: int = 0, provider: Provider | None = None
    ) -> Rendering:
        """A request body that is valid for sending, from the window at any version.

        Args:
            at: a reference.
            max_tokens: the output limit; 0 = as in the newest recorded call, else 4,096 where
                the provider wants one.
            provider: `anthropic` or `openai`; None = as the newest recorded call.
        """
        return render_next(self, self.resolve(at), max_tokens, provider)

    def call(self, *, max_tokens: int = 0) -> Call:
        """A call to the model with the window as it stands: a context manager.

        with session.call() as call:
            call.complete(client.messages.create(**call.request))
        """
        return Call(self, max_tokens)

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


def _parts(content: str | Sequence[object]) -> Sequence[object]:
    """Content as a list of blocks."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
