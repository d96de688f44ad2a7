"""What a session's messages hold beside their contents: minted call ids, and wires.

Some servers give no call ids, or start again at `call_0` in each turn. Such ids pair calls and
results only inside one turn, so pairs are found by position and get an id of their own; what
was sent stays in the block's meta (render/openai_recorded). An id that is no counter is kept.
Knows nothing about joining, requests or drafts of calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ..content import CALL_TYPES, Block, from_json, is_label, is_result, to_json
from ..drafts import Keep, NewBlocks
from ..render.openai_recorded import CALL_ID, raw_of, wire_of, with_call_id
from ..render.recorded import SplitMessage
from .anthropic_align import Change, Held

_COUNTER = re.compile(r"(?:[A-Za-z_.]*[^0-9A-Za-z])?\d{1,5}")
"""Ids that a server counts up in each conversation or turn: `call_0`, `functions.read:3`."""

Place = tuple[str, int]
"""A block: its message and place of introduction in it."""


class _OpenCall(Struct):
    """A call of a request that waits for its result."""

    name: str
    """The id that the session uses."""
    message: int
    """Place of its message in the request."""


def is_pairing(block: Block) -> bool:
    """True for calls and for results of calls."""
    return block.type in CALL_TYPES or is_result(block.type)


def given_id(block: Block) -> Any:
    """The call id that was sent; None = none."""
    return raw_of(block).get("tool_use_id" if is_result(block.type) else "id")


def unnamed(message: SplitMessage) -> SplitMessage:
    """Take ids away that prove nothing about who made a call: empty ones and counters."""
    if not any(is_pairing(block) for block in message.blocks):
        return message
    return SplitMessage(
        message.role, tuple(_unnamed(block) for block in message.blocks), message.digests
    )


def _unnamed(block: Block) -> Block:
    if not is_pairing(block):
        return block
    given = given_id(block)
    is_weak = not isinstance(given, str) or not given or _COUNTER.fullmatch(given) is not None
    return with_call_id(block, "") if is_weak else block


class Naming:
    """Ids and wires of the blocks of one session, by place."""

    def __init__(self) -> None:
        self._names: dict[Place, str] = {}
        self._wires: dict[Place, dict[str, Any]] = {}
        self._used: set[str] = set()

    def settle(self, held: Sequence[Held], sent: Sequence[SplitMessage], change: Change) -> Change:
        """Give the new blocks of a change the ids of their calls.

        Args:
            held: the messages of the window after the change, one to one with `sent`.
        """
        fresh: dict[str, list[Block]] = {}
        opened: dict[str, list[_OpenCall]] = {}
        latest: dict[str, str] = {}
        for index, (one, message) in enumerate(zip(held, sent, strict=True)):
            for known, block in zip(one.present, message.blocks, strict=True):
                place = (one.message, known)
                name = self._name(place, block, index, opened, latest)
                if place not in self._wires:
                    self._wires[place] = wire_of(block)
                    fresh.setdefault(one.message, []).append(_named(block, name))
        return _with_blocks(change, fresh)

    def introduce(self, held: Held, message: SplitMessage) -> tuple[Block, ...]:
        """The blocks of an answer, with ids for its calls."""
        appended = NewBlocks(held.message, held.role, message.blocks)
        change = self.settle([held], [message], Change(appended=(appended,)))
        return change.appended[0].blocks

    def wire(self, held: Held) -> dict[str, Any]:
        """The wire that the window's own blocks carry for a message."""
        return self._wires.get((held.message, held.present[0]), {})

    def _name(
        self,
        place: Place,
        block: Block,
        index: int,
        opened: dict[str, list[_OpenCall]],
        latest: dict[str, str],
    ) -> str:
        if not is_pairing(block):
            return ""
        given = to_json(given_id(block))
        if block.type in CALL_TYPES:
            name = self._names.get(place) or block.tool_id or self._minted(given_id(block))
            self._used.add(name)
            opened.setdefault(given, []).append(_OpenCall(name, index))
            latest[given] = name
        else:
            paired = _taken(opened.get(given, []))
            name = self._names.get(place) or block.tool_id or paired or latest.get(given, "")
        self._names[place] = name
        return name

    def _minted(self, given: object) -> str:
        wanted = given if isinstance(given, str) and is_label(given) else "call"
        number = 1
        name = wanted if given == wanted else f"{wanted}-1"
        while name in self._used:
            number += 1
            name = f"{wanted}-{number}"
        return name


def _taken(opened: list[_OpenCall]) -> str:
    """The oldest open call of the newest message that has one."""
    if not opened:
        return ""
    newest = opened[-1].message
    first = next(call for call in opened if call.message == newest)
    opened.remove(first)
    return first.name


def _named(block: Block, name: str) -> Block:
    if not is_pairing(block) or block.tool_id == name:
        return block
    facts = from_json(block.meta) if block.meta else {}
    if facts.get(CALL_ID) == name:
        del facts[CALL_ID]
    return msgspec.structs.replace(block, tool_id=name, meta=to_json(facts) if facts else "")


def _with_blocks(change: Change, fresh: dict[str, list[Block]]) -> Change:
    """The change with the blocks named; new blocks stand in order of introduction."""

    def named(new: NewBlocks) -> NewBlocks:
        blocks = fresh[new.message]
        taken, fresh[new.message] = blocks[: len(new.blocks)], blocks[len(new.blocks) :]
        return NewBlocks(new.message, new.role, tuple(taken))

    return msgspec.structs.replace(
        change,
        parts=tuple(part if isinstance(part, Keep) else named(part) for part in change.parts),
        extended=named(change.extended) if change.extended is not None else None,
        appended=tuple(named(new) for new in change.appended),
    )
