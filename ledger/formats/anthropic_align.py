"""The fold's own picture of a session's messages, and how the next request differs from it.

A request resends everything, so what is new is found by block digests: an extension appends,
anything else rewrites the window with what stays (by message and place) and what is new there.
Knows nothing about joining, calls or how requests were recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from ..drafts import Cause, Keep, NewBlocks
from ..render.recorded import SplitMessage

Shown = tuple[str, tuple[bytes, ...]]
"""What is seen of a message: role and block digests."""


class Held(Struct):
    """A message of the session as the fold knows it."""

    message: str
    role: str
    known: list[bytes]
    """Digests of all blocks it ever had, in order of introduction."""
    present: list[int]
    """Places in `known` of the blocks in the window, in window order."""
    tool_ids: frozenset[str] = frozenset()
    """Of its calls and results."""
    is_response: bool = False

    @property
    def shown(self) -> Shown:
        """Role and digests as they stand in the window."""
        return self.role, tuple(self.known[place] for place in self.present)


class Change(Struct, frozen=True):
    """How the window becomes what a request holds."""

    parts: tuple[Keep | NewBlocks, ...] = ()
    """The rewritten window, when `is_rewrite`."""
    cause: Cause = "edit"
    is_rewrite: bool = False
    extended: NewBlocks | None = None
    """Late blocks of the last message."""
    appended: tuple[NewBlocks, ...] = ()
    """New messages at the end."""


class MessageWindow:
    """The messages of one session; `move_to` is the only change besides `append`."""

    def __init__(self) -> None:
        self.messages: list[Held] = []
        self._left: dict[Shown, Held] = {}
        self._ids: set[str] = set()

    def append(self, wanted_id: str, sent: SplitMessage, is_response: bool = False) -> str:
        """Add a message; gives its id, which is made unique when `wanted_id` is taken."""
        message, copy = wanted_id, 1
        while message in self._ids:
            copy += 1
            message = f"{wanted_id}.{copy}"
        self._ids.add(message)
        held = Held(
            message=message,
            role=sent.role,
            known=list(sent.digests),
            present=list(range(len(sent.digests))),
            tool_ids=_tool_ids(sent),
            is_response=is_response,
        )
        self.messages.append(held)
        return message

    def keep(self, staying: Sequence[Held]) -> None:
        """Let every other message leave; it may come back with a later request."""
        kept = {id(held) for held in staying}
        for held in self.messages:
            if id(held) not in kept:
                self._left[held.shown] = held
        self.messages = list(staying)

    def shared_start(self, sent: Sequence[SplitMessage]) -> int:
        """How many messages from the start the window and a request have in common."""
        return _common_prefix(self.messages, sent)

    def is_begun_by(self, sent: Sequence[SplitMessage]) -> bool:
        """True when a request holds the whole window first, its last message perhaps longer."""
        same = _common_prefix(self.messages, sent)
        if same == len(self.messages):
            return same > 0
        is_last = same == len(self.messages) - 1 and len(sent) > same
        return is_last and _is_extended(self.messages[-1], sent[same])

    def move_to(self, sent: Sequence[SplitMessage], id_of: Callable[[int], str]) -> Change:
        """Make the window what a request holds, and say what had to change.

        Args:
            sent: the request's messages, each with at least one block.
            id_of: the id for a new message, by its index in `sent`.

        Postcondition: the messages shown equal `sent`, one to one.
        """
        old = self.messages
        same = _common_prefix(old, sent)
        if same == len(old) and not self._brings_back(sent[same:]):
            return Change(appended=self._append_all(sent, same, id_of))
        if same < len(old) and self.is_begun_by(sent):
            extended = self._extend_last(sent[same])
            return Change(extended=extended, appended=self._append_all(sent, same + 1, id_of))
        return self._rewrite(sent, id_of, same)

    def _brings_back(self, sent: Sequence[SplitMessage]) -> bool:
        """True when an answer that had left the window is sent again."""
        back = (self._left.get(_shown_of(message)) for message in sent)
        return any(held is not None and held.is_response for held in back)

    def _append_all(
        self, sent: Sequence[SplitMessage], start: int, id_of: Callable[[int], str]
    ) -> tuple[NewBlocks, ...]:
        return tuple(
            NewBlocks(self.append(id_of(index), sent[index]), sent[index].role, sent[index].blocks)
            for index in range(start, len(sent))
        )

    def _extend_last(self, message: SplitMessage) -> NewBlocks:
        held = self.messages[-1]
        late = len(held.present)
        for digest in message.digests[late:]:
            held.present.append(len(held.known))
            held.known.append(digest)
        return NewBlocks(held.message, held.role, message.blocks[late:])

    def _rewrite(
        self, sent: Sequence[SplitMessage], id_of: Callable[[int], str], same: int
    ) -> Change:
        old = self.messages
        pairs = _paired(old, sent, same)
        cause = _cause_of(old, sent, pairs, same)
        for index, message in enumerate(sent):
            if pairs[index] is None:
                pairs[index] = self._left.pop(_shown_of(message), None)
        last_kept = max((index for index, held in enumerate(pairs) if held is not None), default=-1)
        shown_before = {id(held): held.shown for held in old}
        parts: list[Keep | NewBlocks] = []
        new_messages: list[Held] = []
        self.messages = new_messages
        appended: list[NewBlocks] = []
        for index, message in enumerate(sent):
            held = pairs[index]
            if held is not None:
                parts += _merge(held, message)
                new_messages.append(held)
                continue
            new = NewBlocks(self.append(id_of(index), message), message.role, message.blocks)
            (parts if index < last_kept else appended).append(new)
        staying = {id(held) for held in new_messages}
        for held in old:
            if id(held) not in staying:
                self._left[shown_before[id(held)]] = held
        return Change(parts=tuple(parts), cause=cause, is_rewrite=True, appended=tuple(appended))


def _tool_ids(message: SplitMessage) -> frozenset[str]:
    return frozenset(block.tool_id for block in message.blocks if block.tool_id)


def _shown_of(message: SplitMessage) -> Shown:
    return message.role, message.digests


def _common_prefix(old: Sequence[Held], sent: Sequence[SplitMessage]) -> int:
    same = 0
    for held, message in zip(old, sent, strict=False):
        if held.shown != _shown_of(message):
            break
        same += 1
    return same


def _is_extended(held: Held, message: SplitMessage) -> bool:
    role, digests = held.shown
    return role == message.role and message.digests[: len(digests)] == digests


def _paired(old: Sequence[Held], sent: Sequence[SplitMessage], same: int) -> list[Held | None]:
    """For each sent message the held one it continues, in window order; None = it is new."""
    pairs: list[Held | None] = [*old[:same], *[None] * (len(sent) - same)]
    matcher = SequenceMatcher(
        None, [h.shown for h in old[same:]], [_shown_of(m) for m in sent[same:]], autojunk=False
    )
    old_at, sent_at = same, same
    for match in matcher.get_matching_blocks():
        _pair_gap(old, sent, range(old_at, match.a + same), range(sent_at, match.b + same), pairs)
        for step in range(match.size):
            pairs[same + match.b + step] = old[same + match.a + step]
        old_at, sent_at = match.a + match.size + same, match.b + match.size + same
    return pairs


def _pair_gap(
    old: Sequence[Held],
    sent: Sequence[SplitMessage],
    old_gap: range,
    sent_gap: range,
    pairs: list[Held | None],
) -> None:
    """Pair changed messages between two unchanged ones: those that share a block or a call."""
    at = old_gap.start
    for index in sent_gap:
        message = sent[index]
        digests, tool_ids = frozenset(message.digests), _tool_ids(message)
        for place in range(at, old_gap.stop):
            held = old[place]
            is_same_place = held.is_response and len(old_gap) == len(sent_gap) == 1
            shares = is_same_place or tool_ids & held.tool_ids or digests & frozenset(held.shown[1])
            if held.role == message.role and shares:
                pairs[index] = held
                at = place + 1
                break


def _cause_of(
    old: Sequence[Held],
    sent: Sequence[SplitMessage],
    pairs: Sequence[Held | None],
    same: int,
) -> Cause:
    kept = [held for held in pairs if held is not None]
    if same == len(old):
        return "restore"
    if same and len(kept) == same:
        return "rewind"
    first_new = next((index for index, held in enumerate(pairs) if held is None), len(pairs))
    is_all_kept = len(kept) == len(old) and first_new >= len(kept)
    changed = [
        held
        for held, message in zip(pairs, sent, strict=True)
        if held is not None and held.shown != _shown_of(message)
    ]
    return "echo" if is_all_kept and all(held.is_response for held in changed) else "edit"


def _merge(held: Held, message: SplitMessage) -> list[Keep | NewBlocks]:
    """Make a held message show what was sent; gives its parts of the rewritten window."""
    if held.shown == _shown_of(message) and held.present == list(range(len(held.known))):
        return [Keep(held.message)]
    before, shown = list(held.present), held.shown[1]
    held.present = []
    parts: list[Keep | NewBlocks] = []
    matcher = SequenceMatcher(None, shown, message.digests, autojunk=False)
    at = 0
    for match in matcher.get_matching_blocks():
        if at < match.b:
            parts.append(NewBlocks(held.message, held.role, message.blocks[at : match.b]))
            for digest in message.digests[at : match.b]:
                held.present.append(len(held.known))
                held.known.append(digest)
        kept = before[match.a : match.a + match.size]
        parts += _kept_runs(held.message, kept)
        held.present += kept
        at = match.b + match.size
    return parts


def _kept_runs(message: str, places: Sequence[int]) -> list[Keep | NewBlocks]:
    runs: list[tuple[int, int]] = []
    for place in places:
        if runs and runs[-1][0] + runs[-1][1] == place:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((place, 1))
    return [Keep(message, first, count) for first, count in runs]
