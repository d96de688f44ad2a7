"""A recorded OpenAI request, chat or Responses, split and put together again.

    params   the body without tools and messages (chat) or tools, instructions and input (Responses)
    marks    what belongs to this one call only:
             {"api": "chat" | "responses",
              "tools": true, "instructions": true,      the body has them
              "system": [[role, blocks, wire]],         chat messages at the front
              "input": "string" | "list",               the input was one text, or items
              "from": messages that came before by `previous_response_id` and were not sent again,
              "refs": {place: id}                       items sent as references to earlier ones,
              "wires": [[place, wire]]}                 wires other than the window's blocks carry
    marks = {"api": ..., "request": the whole body}

The wire of a message (openai_chat, openai_items) is kept in the `meta` of its first block: ids
of items, string or list, how arguments were spaced. The model did not see it, so messages that
differ only there are the same message of the window.
Promise: window + params + marks give exactly the parsed body back.
Knows nothing about sessions, validity or repairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct

from ..content import (
    Block,
    Origin,
    block_from,
    block_value,
    digest_of,
    from_json,
    is_result,
    label,
    to_json,
    tool_from,
    tool_value,
)
from .base import Placed
from .openai_chat import Piece, message_of_piece, piece_of_message
from .openai_items import item_of_piece, piece_of_item
from .openai_parts import Api, Json, definition_of_tool, tool_of_definition
from .recorded import OriginOf, SplitMessage, SplitRequest, origin_by_role

META = "openai"
"""Field of a block's `meta` that holds the wire."""
CALL_ID = "call_id"
"""Field of a block's `meta` that holds the id a call really had (None: it had none)."""
SYSTEM_ROLES = frozenset({"system", "developer"})

_LISTED = {"chat": "messages", "responses": "input"}


class SplitCall(Struct, frozen=True):
    """A request body in parts, before it is joined to a session."""

    parts: SplitRequest
    """Without marks."""
    shape: Json
    """The marks, except those that depend on the window."""
    wires: tuple[Json, ...]
    """One a message."""
    is_exact: bool
    """False: the parts cannot carry it, so the whole body stays in the marks."""


def api_of(body: Mapping[str, Any]) -> Api:
    """Which API a body is for."""
    return "chat" if "messages" in body else "responses"


def split_openai(body: Json, origin_of: OriginOf = origin_by_role) -> SplitCall:
    """Split a request body.

    Raises:
        ValueError: the body holds a number that JSON cannot write (NaN, infinity).
    """
    api = api_of(body)
    shape: Json = {"api": api}
    tools = _split_tools(body, api, shape)
    listed = body.get(_LISTED[api])
    if api == "responses" and isinstance(listed, str):
        shape["input"] = "string"
        listed = [{"role": "user", "content": listed}]
    elif api == "responses" and isinstance(listed, list):
        shape["input"] = "list"
    raws = listed if isinstance(listed, list) else []
    to_piece = piece_of_message if api == "chat" else piece_of_item
    pieces = [to_piece(raw) for raw in raws]
    system: tuple[Block, ...] = ()
    if api == "chat":
        front = _front_length(pieces)
        system = _system_blocks(pieces[:front], shape)
        pieces = pieces[front:]
    elif isinstance(body.get("instructions"), str):
        shape["instructions"] = True
        system = (block_from({"type": "text", "text": body["instructions"]}, "system"),)
    taken = {"tools", _LISTED[api]} | ({"instructions"} if "instructions" in shape else set())
    messages = tuple(message_of(piece, origin_of) for piece in pieces)
    params = to_json({key: value for key, value in body.items() if key not in taken})
    parts = SplitRequest(system, tools, messages, params, "")
    is_exact = _is_exact(parts, shape, body)
    return SplitCall(parts, shape, tuple(piece.wire for piece in pieces), is_exact)


def message_of(piece: Piece, origin_of: OriginOf, facts: Json | None = None) -> SplitMessage:
    """A piece as a message of a window; `facts` go into the meta of all its blocks."""
    blocks = []
    for place, raw in enumerate(piece.blocks):
        meta = {**(facts or {}), **({META: piece.wire} if piece.wire and place == 0 else {})}
        block = block_from(raw, origin_of(piece.role, raw), meta=to_json(meta) if meta else "")
        blocks.append(block)
    digests = tuple(digest_of(raw) for raw in piece.blocks)
    return SplitMessage(label(piece.role), tuple(blocks), digests)


def _split_tools(body: Json, api: Api, shape: Json) -> tuple[Block, ...]:
    if "tools" not in body:
        return ()
    shape["tools"] = True
    raws = body["tools"] if isinstance(body["tools"], list) else []
    return tuple(tool_from(definition_of_tool(raw, api)) for raw in raws if isinstance(raw, dict))


def _front_length(pieces: Sequence[Piece]) -> int:
    """System and developer messages at the front: the system prompt of a chat."""
    for place, piece in enumerate(pieces):
        is_text = all(block.get("type") == "text" for block in piece.blocks)
        if piece.role not in SYSTEM_ROLES or not is_text:
            return place
    return len(pieces)


def _system_blocks(pieces: Sequence[Piece], shape: Json) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for piece in pieces:
        meta = "" if piece.role == "system" else to_json({"role": piece.role})
        blocks += [block_from(raw, "system", meta=meta) for raw in piece.blocks]
        shape.setdefault("system", []).append([piece.role, len(piece.blocks), piece.wire])
    return tuple(blocks)


def _is_exact(parts: SplitRequest, shape: Json, body: Json) -> bool:
    placed = [Placed("", "verbatim", "", "tools", block) for block in parts.tools]
    placed += [Placed("", "verbatim", "", "system", block) for block in parts.system]
    for index, message in enumerate(parts.messages):
        placed += [
            Placed("", "verbatim", f"m{index}", message.role, block) for block in message.blocks
        ]
    try:
        return render_openai(placed, parts.params, to_json(shape)) == body
    except (KeyError, IndexError, TypeError, AttributeError):
        return False  # a shape that the parts cannot carry; the whole body is kept instead


# -- back again ---------------------------------------------------------------------------------


def render_openai(placed: Sequence[Placed], params: str, marks: str) -> Json:
    """Give the request body as it was sent.

    Args:
        placed: the window at the call, in its order: tools, system, messages.
        params: as `split_openai` gave it.
        marks: the shape of the call, and what depends on its window.
    """
    shape = from_json(marks)
    if "request" in shape:
        return dict(shape["request"])
    api: Api = shape["api"]
    body: Json = from_json(params)
    tools, system, groups = divided(placed)
    if shape.get("tools"):
        body["tools"] = [tool_of_definition(tool_value(entry.block), api) for entry in tools]
    wires = {int(place): wire for place, wire in shape.get("wires", ())}
    write = message_of_piece if api == "chat" else item_of_piece
    items = []
    for place, entries in enumerate(groups[shape.get("from", 0) :]):
        wire = wires[place] if place in wires else wire_of(entries[0].block)
        items.append(write(entries[0].role, [raw_of(e.block) for e in entries], wire))
    for place, name in shape.get("refs", {}).items():
        items[int(place)] = {"type": "item_reference", "id": name}
    if api == "chat":
        body["messages"] = [*_front(system, shape), *items]
        return body
    if shape.get("instructions"):
        body["instructions"] = block_value(system[0].block)["text"]
    if shape.get("input") == "string":
        body["input"] = items[0]["content"]
    elif "input" in shape:
        body["input"] = items
    return body


def _front(system: Sequence[Placed], shape: Json) -> list[Any]:
    messages, at = [], 0
    for role, count, wire in shape.get("system", ()):
        blocks = [block_value(entry.block) for entry in system[at : at + count]]
        messages.append(message_of_piece(role, blocks, wire))
        at += count
    return messages


def divided(
    placed: Sequence[Placed],
) -> tuple[list[Placed], list[Placed], list[list[Placed]]]:
    """(tools, system, messages): what has no message id is in force, not said."""
    tools = [entry for entry in placed if entry.role == "tools" and not entry.message]
    system = [entry for entry in placed if entry.role == "system" and not entry.message]
    said = [entry for entry in placed if entry.message]
    groups = [list(group) for _, group in groupby(said, lambda entry: (entry.message, entry.role))]
    return tools, system, groups


def wire_of(block: Block) -> Json:
    """The wire in a block's meta."""
    wire = from_json(block.meta).get(META) if block.meta else None
    return wire if isinstance(wire, dict) else {}


def raw_of(block: Block) -> Json:
    """A block's value with the call id that it really had."""
    value = block_value(block)
    meta = from_json(block.meta) if block.meta else {}
    if CALL_ID in meta:
        field = "tool_use_id" if is_result(block.type) else "id"
        value[field] = meta[CALL_ID]
        if meta[CALL_ID] is None:
            del value[field]
    return value


def with_call_id(block: Block, name: str) -> Block:
    """The block under a minted call id; its own stays in the meta."""
    field = "tool_use_id" if is_result(block.type) else "id"
    given = block_value(block).get(field)
    rest = from_json(block.rest) if block.rest else {}
    rest.pop(field, None)
    meta = {**(from_json(block.meta) if block.meta else {}), CALL_ID: given}
    return msgspec.structs.replace(
        block, tool_id=name, rest=to_json(rest) if rest else "", meta=to_json(meta)
    )


def origin_in_openai(role: str, raw: Mapping[str, Any]) -> Origin:
    """Who wrote a block, told from its role and type alone."""
    if role in ("tool", "function"):
        return "tool"
    if role == "developer":
        return "system"
    return origin_by_role(role, raw)
