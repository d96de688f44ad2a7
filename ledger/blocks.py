"""Between blocks with contents (content.py) and blocks as stored (events.py).

Knows nothing about the database: whoever calls gives the function that stores or reads bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from .content import CALL_TYPES, Block, is_result, label, to_bytes, to_json, to_text
from .events import StoredBlock, StoredMessage

Put = Callable[[bytes], bytes]
"""Stores contents and gives their key."""


def store_block(block: Block, put: Put) -> StoredBlock:
    """Put a block's texts away and keep ids, enums, numbers and keys."""
    data = to_bytes(block.text)
    return StoredBlock(
        type=block.type,
        body=put(data),
        size=len(data),
        origin=block.origin,
        is_json=block.is_json,
        is_absent=block.is_absent,
        tool_id=block.tool_id,
        tool_name=block.tool_name,
        is_error=block.is_error,
        rest=put(to_bytes(block.rest)) if block.rest else None,
        meta=put(to_bytes(block.meta)) if block.meta else None,
    )


def store_message(message: str, role: str, blocks: Iterable[Block], put: Put) -> StoredMessage:
    """Store the blocks of one message."""
    return StoredMessage(
        label(message), label(role), tuple(store_block(block, put) for block in blocks)
    )


def keys_in(block: StoredBlock) -> list[bytes]:
    """All body keys of a stored block."""
    return [key for key in (block.body, block.rest, block.meta) if key is not None]


def load_block(block: StoredBlock, bodies: Mapping[bytes, bytes]) -> Block:
    """Give a stored block its contents back."""
    return Block(
        type=block.type,
        text=to_text(bodies[block.body]),
        is_json=block.is_json,
        is_absent=block.is_absent,
        origin=block.origin,
        tool_id=block.tool_id,
        tool_name=block.tool_name,
        is_error=block.is_error,
        rest=to_text(bodies[block.rest]) if block.rest is not None else "",
        meta=to_text(bodies[block.meta]) if block.meta is not None else "",
    )


def in_place_of(block: Block, stand_in: Block) -> Block:
    """The block a window shows when `stand_in` stands for `block`.

    A result keeps its shell, so that its call stays answered; a call keeps its name and id.
    """
    if is_result(block.type):
        return msgspec.structs.replace(
            block, text=stand_in.text, is_json=False, is_absent=False, rest=""
        )
    if block.type in CALL_TYPES:
        return msgspec.structs.replace(
            block, text=to_json({"evicted": stand_in.text}), is_json=True, rest=""
        )
    return stand_in
