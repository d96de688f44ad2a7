"""One message of a chat completions body, to and from blocks.

    piece_of_message   message -> role, blocks, and what the model did not see of it (the wire)
    message_of_piece   the way back

The wire is small and omits what goes without saying:
    list      a lone text stands in a list               content   what stands there without blocks
    blank     the only block stands for nothing          parts     extras by place in the list
    calls     extras by place in `tool_calls`            reasoning its field's name
    refusal   the last text is the refusal               fields    all other fields
Knows nothing about requests or windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from ..content import CALL_TYPES
from .openai_parts import (
    WHOLE,
    Json,
    arguments_of_input,
    block_of_part,
    input_of_arguments,
    part_of_block,
    whole,
)

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Names under which servers of this API give a model's thinking as text."""


class Piece(Struct, frozen=True):
    """One message or item in parts."""

    role: str
    blocks: tuple[Json, ...]
    """At least one."""
    wire: Json


def piece_of_message(raw: object) -> Piece:
    """Take a message apart.

    Postcondition: `message_of_piece(piece.role, piece.blocks, piece.wire) == raw`.
    """
    role = raw.get("role") if isinstance(raw, dict) else None
    if isinstance(raw, dict) and isinstance(role, str) and role in ROLES:
        piece = _result(raw, role) if role in ("tool", "function") else _spoken(raw, role)
        if message_of_piece(piece.role, piece.blocks, piece.wire) == raw:
            return piece
    named = role if isinstance(role, str) and role in ROLES else "unknown"
    return Piece(named, (whole(raw),), {})


def message_of_piece(role: str, blocks: Sequence[Mapping[str, Any]], wire: Json) -> Any:
    """Put a message together again."""
    if len(blocks) == 1 and blocks[0].get("type") == WHOLE and not wire:
        return blocks[0].get("value")
    if role in ("tool", "function"):
        return _result_message(role, blocks, wire)
    message: Json = {"role": role, **wire.get("fields", {})}
    calls = [block for block in blocks if block.get("type") in CALL_TYPES]
    thoughts = [block for block in blocks if block.get("type") == "thinking"]
    content = [b for b in blocks if b.get("type") != "thinking" and b.get("type") not in CALL_TYPES]
    if wire.get("blank"):
        content = []
    if wire.get("refusal") and content:
        message["refusal"] = content.pop().get("text")
    if content:
        message["content"] = _content(content, role, wire)
    elif "content" in wire:
        message["content"] = wire["content"]
    if thoughts:
        field = wire.get("reasoning", REASONING_FIELDS[0])
        message[field] = "\n\n".join(str(block.get("thinking", "")) for block in thoughts)
    _put_calls(message, calls, wire.get("calls", {}))
    return message


def _content(blocks: Sequence[Mapping[str, Any]], role: str, wire: Json) -> Any:
    is_lone = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    if is_lone and not wire.get("list"):
        return blocks[0]["text"]
    extras = wire.get("parts", {})
    return [
        part_of_block(block, extras.get(str(place), {}), "chat", role)
        for place, block in enumerate(blocks)
    ]


def _spoken(raw: Json, role: str) -> Piece:
    blocks: list[Json] = []
    wire: Json = {}
    for field in REASONING_FIELDS:
        if isinstance(raw.get(field), str) and raw[field] and "reasoning" not in wire:
            blocks.append({"type": "thinking", "thinking": raw[field]})
            wire["reasoning"] = field
    calls, call_extras = _calls(raw)
    refusal = raw.get("refusal")
    has_refusal = isinstance(refusal, str)
    content = _content_blocks(raw, role, wire, has_others=bool(blocks or calls or has_refusal))
    blocks += content
    if has_refusal:
        blocks.append({"type": "text", "text": refusal})
        wire["refusal"] = True
    blocks += calls
    if call_extras:
        wire["calls"] = call_extras
    if not blocks:
        blocks = [{"type": "text", "text": ""}]
        wire["blank"] = True
    taken = {"role", "content"} | ({wire["reasoning"]} if "reasoning" in wire else set())
    if has_refusal:
        taken.add("refusal")
    if calls:
        taken |= {"tool_calls", "function_call"} if "function_call" in raw else {"tool_calls"}
    fields = {key: value for key, value in raw.items() if key not in taken}
    if fields:
        wire["fields"] = fields
    if wire.get("reasoning") == REASONING_FIELDS[0]:
        del wire["reasoning"]
    return Piece(role, tuple(blocks), wire)


def _content_blocks(raw: Json, role: str, wire: Json, *, has_others: bool) -> list[Json]:
    content = raw.get("content")
    if isinstance(content, str) and (content or not has_others):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list) or not content:
        if "content" in raw:
            wire["content"] = content
        return []
    blocks = []
    for place, part in enumerate(content):
        block, extras = block_of_part(part, "chat", role)
        blocks.append(block)
        if extras:
            wire.setdefault("parts", {})[str(place)] = extras
    if len(blocks) == 1 and blocks[0].keys() == {"type", "text"}:
        wire["list"] = True
    return blocks


# -- calls and results --------------------------------------------------------------------------


def _calls(raw: Json) -> tuple[list[Json], Json]:
    """Blocks of the calls, and extras by place."""
    listed = raw.get("tool_calls")
    entries = listed if isinstance(listed, list) else []
    if not entries and isinstance(raw.get("function_call"), dict):
        block, extras = _call_block({"function": raw["function_call"]})
        return [block], {"0": {**extras, "kind": "function_call"}}
    blocks: list[Json] = []
    by_place: Json = {}
    for place, entry in enumerate(entries):
        block, extras = _call_block(entry if isinstance(entry, dict) else {})
        blocks.append(block)
        if extras:
            by_place[str(place)] = extras
    return blocks, by_place


def _call_block(entry: Json) -> tuple[Json, Json]:
    kind = "custom" if isinstance(entry.get("custom"), dict) else "function"
    called = entry.get(kind)
    fields = dict(called) if isinstance(called, dict) else {}
    extras: Json = {}
    if kind == "custom":
        extras["kind"] = kind
        value: Any = {"input": fields.pop("input", "")}
    else:
        value, extras = input_of_arguments(fields.pop("arguments", ""))
        if isinstance(called, dict) and "arguments" not in called:
            extras["json"] = "absent"
    block: Json = {"type": "tool_use"}
    if "id" in entry:
        block["id"] = entry["id"]
    block |= {"name": fields.pop("name", ""), "input": value}
    if fields:
        extras["called"] = fields
    outer = {k: v for k, v in entry.items() if k not in ("id", "type", kind)}
    if outer:
        extras["outer"] = outer
    if entry.get("type") != kind:
        extras["type"] = entry.get("type")
    return block, extras


def _put_calls(message: Json, calls: Sequence[Mapping[str, Any]], extras: Json) -> None:
    entries = []
    for place, block in enumerate(calls):
        own = extras.get(str(place), {})
        called: Json = {"name": block.get("name", ""), **own.get("called", {})}
        value = block.get("input")
        if own.get("kind") == "custom":
            called["input"] = value.get("input") if isinstance(value, dict) else value
        elif own.get("json") != "absent":
            called["arguments"] = arguments_of_input(value, own)
        if own.get("kind") == "function_call":
            message["function_call"] = called
            continue
        kind = "custom" if own.get("kind") == "custom" else "function"
        entry: Json = {"type": kind, kind: called, **own.get("outer", {})}
        if "type" in own:
            entry["type"] = own["type"]
            if own["type"] is None:
                del entry["type"]
        if "id" in block:
            entry["id"] = block["id"]
        entries.append(entry)
    if entries:
        message["tool_calls"] = entries


def _result(raw: Json, role: str) -> Piece:
    block: Json = {"type": "tool_result"}
    if "tool_call_id" in raw:
        block["tool_use_id"] = raw["tool_call_id"]
    if "content" in raw:
        block["content"] = raw["content"]
    taken = ("role", "tool_call_id", "content")
    fields = {key: value for key, value in raw.items() if key not in taken}
    return Piece(role, (block,), {"fields": fields} if fields else {})


def _result_message(role: str, blocks: Sequence[Mapping[str, Any]], wire: Json) -> Json:
    message: Json = {"role": role, **wire.get("fields", {})}
    first = blocks[0]
    if "tool_use_id" in first:
        message["tool_call_id"] = first["tool_use_id"]
    if "content" in first:
        message["content"] = first["content"]
    return message
