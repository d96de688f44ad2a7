"""Between blocks with contents (content.py) and blocks as stored (events.py).

Knows nothing about the database: whoever calls gives the function that stores or reads bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from .content import (
    CALL_TYPES,
    REDACTED_TEXT,
    Block,
    is_result,
    label,
    to_bytes,
    to_json,
    to_text,
)
from .errors import BadInput
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


def blocks_given(
    parts: Iterable[object], make: Callable[[Mapping[str, Any]], Block]
) -> tuple[Block, ...]:
    """Blocks from the objects that a program gives.

    Raises:
        BadInput: one is no object, or holds what JSON cannot (bytes, NaN ...).
    """
    blocks = []
    for part in parts:
        if not isinstance(part, Mapping):
            raise BadInput("A content block is not an object.", "Give Anthropic blocks.")
        try:
            blocks.append(make(part))
        except (TypeError, ValueError) as error:
            raise BadInput(
                f"A content block is not JSON: {error}.", "Give text, numbers, lists, objects."
            ) from error
    return tuple(blocks)


def keys_in(block: StoredBlock) -> list[bytes]:
    """All body keys of a stored block."""
    if block.rest is None and block.meta is None:
        return [block.body]
    return [key for key in (block.body, block.rest, block.meta) if key is not None]


def load_block(block: StoredBlock, bodies: Mapping[bytes, bytes]) -> Block:
    """Give a stored block its contents back; what was redacted says so."""
    text = to_text(bodies[block.body])
    rest = to_text(bodies[block.rest]) if block.rest is not None else ""
    meta = to_text(bodies[block.meta]) if block.meta is not None else ""
    if text == REDACTED_TEXT:
        return without_contents(block, REDACTED_TEXT)
    return Block(
        type=block.type,
        text=text,
        is_json=block.is_json,
        is_absent=block.is_absent,
        origin=block.origin,
        tool_id=block.tool_id,
        tool_name=block.tool_name,
        is_error=block.is_error,
        rest=rest if rest != REDACTED_TEXT else "",
        meta=meta if meta != REDACTED_TEXT else "",
    )


def without_contents(block: StoredBlock, text: str) -> Block:
    """What is shown for a block whose contents are gone, with `text` in their place.

    It keeps its place, its ids, and its type where a window needs that: calls stay answered,
    a tool stays defined.
    """
    shell = Block(
        type=block.type,
        origin=block.origin,
        tool_id=block.tool_id,
        tool_name=block.tool_name,
        is_error=block.is_error,
    )
    if block.type == "tool":
        definition = {
            "name": block.tool_name or "unknown",
            "description": text,
            "input_schema": {"type": "object"},
        }
        return msgspec.structs.replace(shell, text=to_json(definition), is_json=True)
    if not (is_result(block.type) or block.type in CALL_TYPES or block.type == "thinking"):
        shell = Block(type="text", origin=block.origin)
    return in_place_of(shell, Block(type=shell.type, text=text, origin=block.origin))


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
