"""One item of a Responses body, to and from blocks.

    piece_of_item   item -> role, blocks, and what the model did not see of it (the wire)
    item_of_piece   the way back

The wire is small and omits what goes without saying:
    item      the item's type, where it is not told from the blocks ("" = none was given)
    list      a lone text stands in a list        content   what stands there without blocks
    blank     the only block stands for nothing   parts     extras by place in the list
    call      extras of a call's arguments        cut       lengths of the parts of a reasoning
    fields    all other fields (id, status ...)
Knows nothing about requests or windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..content import CALL_TYPES
from .openai_chat import Piece
from .openai_parts import (
    WHOLE,
    Json,
    arguments_of_input,
    block_of_part,
    input_of_arguments,
    is_own_block,
    part_of_block,
    whole,
)

ROLES = frozenset({"system", "developer", "user", "assistant"})
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = {"function_call_output": "function_call", "custom_tool_call_output": "custom_tool_call"}
_JOINT = "\n\n"


def piece_of_item(raw: object) -> Piece:
    """Take an item apart.

    Postcondition: `item_of_piece(piece.role, piece.blocks, piece.wire) == raw`.
    """
    if isinstance(raw, dict):
        piece = _split(raw)
        if piece is not None and item_of_piece(piece.role, piece.blocks, piece.wire) == raw:
            return piece
    return Piece("unknown", (whole(raw),), {})


def _split(raw: Json) -> Piece | None:
    kind, role = raw.get("type", "message"), raw.get("role")
    if not isinstance(kind, str):
        return None
    if kind == "message":
        return _message(raw) if isinstance(role, str) and role in ROLES else None
    if kind in _CALLS:
        return _call(raw, kind)
    if kind in _OUTPUTS:
        return _output(raw, kind)
    if kind == "reasoning":
        return _reasoning(raw) or Piece("assistant", (dict(raw),), {})
    if kind == "compaction":
        return _compaction(raw)
    if is_own_block(kind):
        return None
    return Piece("tool" if kind.endswith("_output") else "assistant", (dict(raw),), {})


def item_of_piece(role: str, blocks: Sequence[Mapping[str, Any]], wire: Json) -> Any:
    """Put an item together again."""
    first = blocks[0]
    kind = str(first.get("type"))
    fields = wire.get("fields", {})
    if len(blocks) == 1:
        if kind == WHOLE and not wire:
            return first.get("value")
        if kind in CALL_TYPES:
            return _call_item(first, wire)
        if kind == "tool_result":
            return _output_item(first, wire)
        if kind in ("thinking", "redacted_thinking"):
            return _reasoning_item(first, wire)
        if kind == "compaction":
            return {**first, **fields}
        if role not in ROLES or (not is_own_block(kind) and not wire):
            return dict(first)
    return _message_item(role, blocks, wire)


# -- messages -----------------------------------------------------------------------------------


def _message(raw: Json) -> Piece:
    role, content = str(raw["role"]), raw.get("content")
    wire: Json = {} if "type" not in raw else {"item": "message"}
    blocks: list[Json] = []
    if isinstance(content, str):
        blocks = [{"type": "text", "text": content}]
    elif isinstance(content, list) and content:
        for place, part in enumerate(content):
            block, extras = block_of_part(part, "responses", role)
            blocks.append(block)
            if extras:
                wire.setdefault("parts", {})[str(place)] = extras
        wire["list"] = True
    else:
        blocks = [{"type": "text", "text": ""}]
        wire["blank"] = True
        if "content" in raw:
            wire["content"] = content
    fields = {k: v for k, v in raw.items() if k not in ("type", "role", "content")}
    if fields:
        wire["fields"] = fields
    return Piece(role, tuple(blocks), wire)


def _message_item(role: str, blocks: Sequence[Mapping[str, Any]], wire: Json) -> Json:
    item: Json = {"role": role, **wire.get("fields", {})}
    if wire.get("item"):
        item["type"] = wire["item"]
    if wire.get("blank"):
        if "content" in wire:
            item["content"] = wire["content"]
        return item
    is_lone = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    if is_lone and not wire.get("list"):
        item["content"] = blocks[0]["text"]
        return item
    extras = wire.get("parts", {})
    item["content"] = [
        part_of_block(block, extras.get(str(place), {}), "responses", role)
        for place, block in enumerate(blocks)
    ]
    return item


# -- calls and results --------------------------------------------------------------------------


def _call(raw: Json, kind: str) -> Piece:
    field = _CALLS[kind]
    wire: Json = {}
    if kind == "custom_tool_call":
        wire["item"] = kind
        value: Any = {"input": raw.get(field)}
    else:
        value, extras = input_of_arguments(raw.get(field))
        if extras:
            wire["call"] = extras
    block: Json = {"type": "tool_use"}
    if "call_id" in raw:
        block["id"] = raw["call_id"]
    block |= {"name": raw.get("name"), "input": value}
    fields = {k: v for k, v in raw.items() if k not in ("type", "call_id", "name", field)}
    if fields:
        wire["fields"] = fields
    return Piece("assistant", (block,), wire)


def _call_item(block: Mapping[str, Any], wire: Json) -> Json:
    kind = wire.get("item", "function_call")
    value = block.get("input")
    item: Json = {"type": kind, "name": block.get("name"), **wire.get("fields", {})}
    if "id" in block:
        item["call_id"] = block["id"]
    if kind == "custom_tool_call":
        item["input"] = value.get("input") if isinstance(value, dict) else value
    else:
        item["arguments"] = arguments_of_input(value, wire.get("call", {}))
    return item


def _output(raw: Json, kind: str) -> Piece:
    block: Json = {"type": "tool_result"}
    if "call_id" in raw:
        block["tool_use_id"] = raw["call_id"]
    if "output" in raw:
        block["content"] = raw["output"]
    wire: Json = {} if kind == "function_call_output" else {"item": kind}
    fields = {k: v for k, v in raw.items() if k not in ("type", "call_id", "output")}
    if fields:
        wire["fields"] = fields
    return Piece("tool", (block,), wire)


def _output_item(block: Mapping[str, Any], wire: Json) -> Json:
    kind = wire.get("item", "function_call_output")
    item: Json = {"type": kind, **wire.get("fields", {})}
    if "tool_use_id" in block:
        item["call_id"] = block["tool_use_id"]
    if "content" in block:
        item["output"] = block["content"]
    return item


# -- reasoning and compaction -------------------------------------------------------------------


def _reasoning(raw: Json) -> Piece | None:
    """Its summary and text as thinking; without words, its encrypted form as an opaque block."""
    summary, spoken = _texts(raw.get("summary"), "summary_text"), None
    if "content" in raw and raw["content"] is not None:
        spoken = _texts(raw["content"], "reasoning_text")
        if spoken is None:
            return None
    if summary is None:
        return None
    secret = raw.get("encrypted_content")
    taken = {"type", "summary"} | ({"content"} if spoken is not None else set())
    block: Json = {"type": "thinking", "thinking": _JOINT.join([*summary, *(spoken or ())])}
    if isinstance(secret, str):
        taken.add("encrypted_content")
        block["encrypted_content"] = secret
        if not summary and not spoken:
            block = {"type": "redacted_thinking", "data": secret}
    wire: Json = {}
    cut = [[len(text) for text in summary], None if spoken is None else [len(t) for t in spoken]]
    if len(summary) != 1 or spoken is not None:
        wire["cut"] = cut
    fields = {k: v for k, v in raw.items() if k not in taken}
    if fields:
        wire["fields"] = fields
    return Piece("assistant", (block,), wire)


def _texts(parts: object, kind: str) -> list[str] | None:
    if not isinstance(parts, list):
        return None
    texts = []
    for part in parts:
        is_text = isinstance(part, dict) and part.keys() == {"type", "text"}
        if not is_text or part["type"] != kind or not isinstance(part["text"], str):
            return None
        texts.append(part["text"])
    return texts


def _reasoning_item(block: Mapping[str, Any], wire: Json) -> Json:
    item: Json = {"type": "reasoning", **wire.get("fields", {})}
    if block.get("type") == "redacted_thinking":
        summary_lengths, lengths = wire.get("cut", [[], None])
        item |= {"summary": [], "encrypted_content": block.get("data")}
        if lengths is not None:
            item["content"] = []
        return item
    text = str(block.get("thinking", ""))
    summary_lengths, lengths = wire.get("cut", [[len(text)], None])
    at = 0
    for field, kind, sizes in (
        ("summary", "summary_text", summary_lengths),
        ("content", "reasoning_text", lengths),
    ):
        if sizes is None:
            continue
        item[field] = []
        for size in sizes:
            item[field].append({"type": kind, "text": text[at : at + size]})
            at += size + len(_JOINT)
    if "encrypted_content" in block:
        item["encrypted_content"] = block["encrypted_content"]
    return item


def _compaction(raw: Json) -> Piece:
    """The summary that only the provider can read, as an opaque block."""
    kept = ("type", "encrypted_content", "content")
    block = {key: value for key, value in raw.items() if key in kept}
    fields = {key: value for key, value in raw.items() if key not in kept}
    return Piece("assistant", (block,), {"fields": fields} if fields else {})
