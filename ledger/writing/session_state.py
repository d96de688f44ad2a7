"""One session as its writer knows it: the version, the window and the names in it.

A pure projection, kept step by step. Knows nothing about the database, clocks or formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ..deltas import delta_between
from ..drafts import AnyDraft, ChangePhase, CompleteCall, Note, QuarantineRecord
from ..errors import BadInput, UnknownReference
from ..events import OPERATOR, AnyEvent, BodyKey, Delta, WindowRewritten
from ..window import Entry, WindowBuilder, is_item_id
from .call_names import CallNames
from .names import NameIndex

_PLACE = re.compile(r"[0-9]{1,9}")


class SessionState:
    """One session as its writer knows it: version, window, names."""

    def __init__(
        self,
        version: int,
        entries: Iterable[Entry],
        load_names: Callable[[], NameIndex],
        calls: CallNames,
        read_body: Callable[[BodyKey], bytes],
        agent_entries: tuple[Entry, ...] | None = None,
    ) -> None:
        """Take the state at `version`.

        Args:
        load_names: reads the names of all events up to `version`; called when first needed.
        calls: those up to `version`; apart, so that appending calls needs no names.
        agent_entries: the observed agent's own window where a local change made ours differ.
        """
        self.version = version
        self.window = WindowBuilder(entries)
        self.agent_entries = agent_entries
        self.calls = calls
        self.read_body = read_body
        self._load_names = load_names
        self._names: NameIndex | None = None

    @property
    def names(self) -> NameIndex:
        """Names of messages and tool results."""
        if self._names is None:
            self._names = self._load_names()
        return self._names

    def evolve(self, event: AnyEvent, actor: str) -> None:
        """Take in an event that was appended."""
        delta: Delta | None = getattr(event, "delta", None)
        if delta is not None and actor == OPERATOR and self.agent_entries is None:
            self.agent_entries = tuple(self.window.entries.values())
        self.version += 1
        if delta is not None:
            self.window.apply(delta)
            if actor != OPERATOR:
                self.agent_entries = None
        self.calls.feed(self.version, event)
        if self._names is not None:
            self._names.feed(self.version, event)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The window as it stands."""
        return tuple(self.window.entries.values())

    def fixed_count(self) -> int:
        """How many entries at the front are tool definitions and system blocks."""
        count = 0
        for key in self.window.entries:
            if key not in self.names.fixed:
                break
            count += 1
        return count


def restore_agent_window(state: SessionState) -> WindowRewritten | None:
    """What an observed agent sees differs from our repaired window: say so before going on."""
    if state.agent_entries is None or state.agent_entries == state.entries:
        return None
    return WindowRewritten(cause="restore", delta=delta_between(state.entries, state.agent_entries))


def changes_window(draft: AnyDraft) -> bool:
    """True for drafts that touch the window or say what a call saw of it."""
    return not isinstance(draft, CompleteCall | Note | ChangePhase | QuarantineRecord)


def resolve_item(reference: str, state: SessionState) -> str:
    """An item id from `42.1` or `<message id>/<block>`.

    Raises:
        UnknownReference: there is no such item.
    """
    message, slash, index = reference.rpartition("/")
    if slash and _PLACE.fullmatch(index):
        items = state.names.items_of(message)
        if int(index) < len(items):
            return items[int(index)]
    elif is_item_id(reference) and reference in state.names.items:
        return reference
    raise UnknownReference(
        f"There is no item {reference}.", "Items are `VERSION.INDEX`, or `MESSAGE-ID/INDEX`."
    )


def keys_standing_for(items: Sequence[str], state: SessionState) -> list[str]:
    """Keys of the entries for these items that are in the window now.

    Raises:
        BadInput: one of them is not in the window.
    """
    wanted = {resolve_item(item, state) for item in items}
    keys = [e.key for e in state.entries if e.item_id in wanted]
    missing = wanted - {state.window.entries[key].item_id for key in keys}
    if missing:
        raise BadInput(f"Item {min(missing)} is not in the window.", "See `ctxledger window`.")
    return keys
