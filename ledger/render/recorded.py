"""A recorded request, split so that equal contents are stored once, and put together again.

    params   the body without system, tools and messages: model, max_tokens, thinking ...
    marks    what belongs to this one call: string-or-list shapes, cache marks, null fields

Promise: for every request body, the window at that call + params + marks give exactly the
parsed body back. What cannot be split that way (content 7, a message with extra fields) is
kept whole inside the marks (see marks.py). Knows nothing about sessions, validity or repairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

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
from .marks import Extras, block_at, restore_strings, shape_of, stripped

OriginOf = Callable[[str, Mapping[str, Any]], Origin]

_PARTS = frozenset({"system", "tools", "messages"})


class SplitMessage(Struct, frozen=True):
    """One message of a request; its blocks are without cache marks and null fields."""

    role: str
    blocks: tuple[Block, ...]
    digests: tuple[bytes, ...]
    """One a block: equal for blocks that are equal apart from cache marks."""


class SplitRequest(Struct, frozen=True):
    """A request body in parts."""

    system: tuple[Block, ...]
    tools: tuple[Block, ...]
    messages: tuple[SplitMessage, ...]
    params: str
    marks: str


def origin_by_role(role: str, raw: Mapping[str, Any]) -> Origin:
    """Who wrote a block, told from its role and type alone."""
    if is_result(str(raw.get("type"))):
        return "tool"
    if raw.get("type") == "compaction":
        return "summary"
    if role in ("assistant", "system"):
        return "assistant" if role == "assistant" else "system"
    return "human"


def split_request(body: Mapping[str, Any], origin_of: OriginOf = origin_by_role) -> SplitRequest:
    """Split a request body.

    Postcondition: `render_recorded(entries, split.params, split.marks) == body` where
    `entries` are the tools, the system blocks and the messages of the split.

    Raises:
        ValueError: the body holds a number that JSON cannot write (NaN, infinity).
    """
    extras: Extras = []
    system = _split_system(body.get("system"), extras)
    tools = _split_tools(body.get("tools"), extras)
    messages = _split_messages(body.get("messages"), extras, origin_of)
    params = to_json({key: value for key, value in body.items() if key not in _PARTS})
    marks = to_json(shape_of(body, extras))
    split = SplitRequest(system, tools, messages, params, marks)
    if _is_exact(split, body):
        return split
    return SplitRequest(system, tools, messages, params, to_json({"request": dict(body)}))


def _is_exact(split: SplitRequest, body: Mapping[str, Any]) -> bool:
    if not all(message.blocks for message in split.messages):
        return False
    try:
        return render_recorded(_placed_of(split), split.params, split.marks) == body
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return False  # a shape that the parts cannot carry; the whole body is kept instead


def _placed_of(split: SplitRequest) -> list[Placed]:
    placed = [Placed("", "verbatim", "", "tools", block) for block in split.tools]
    placed += [Placed("", "verbatim", "", "system", block) for block in split.system]
    for index, message in enumerate(split.messages):
        placed += [
            Placed("", "verbatim", str(index), message.role, block) for block in message.blocks
        ]
    return placed


def _split_system(value: object, extras: Extras) -> tuple[Block, ...]:
    if isinstance(value, str):
        return (block_from({"type": "text", "text": value}, "system"),)
    raws = value if isinstance(value, list) else []
    return tuple(
        block_from(stripped(raw, ["system", index], extras), "system")
        for index, raw in enumerate(raws)
        if isinstance(raw, dict)
    )


def _split_tools(value: object, extras: Extras) -> tuple[Block, ...]:
    blocks = []
    for index, raw in enumerate(value if isinstance(value, list) else []):
        if not isinstance(raw, dict):
            continue
        if "cache_control" in raw:
            extras.append((["tools", index], {"cache_control": raw["cache_control"]}))
        blocks.append(tool_from({k: v for k, v in raw.items() if k != "cache_control"}))
    return tuple(blocks)


def _split_messages(value: object, extras: Extras, origin_of: OriginOf) -> tuple[SplitMessage, ...]:
    messages = []
    for index, raw in enumerate(value if isinstance(value, list) else []):
        fields = raw if isinstance(raw, dict) else {}
        role = label(fields.get("role")) or "unknown"
        content = fields.get("content")
        raws = [{"type": "text", "text": content}] if isinstance(content, str) else content
        clean = [
            stripped(block, ["messages", index, place], extras)
            for place, block in enumerate(raws if isinstance(raws, list) else [])
            if isinstance(block, dict)
        ]
        blocks = tuple(block_from(block, origin_of(role, block)) for block in clean)
        messages.append(SplitMessage(role, blocks, tuple(digest_of(block) for block in clean)))
    return tuple(messages)


def render_recorded(placed: Sequence[Placed], params: str, marks: str) -> dict[str, Any]:
    """Give the request body as it was sent.

    Args:
        placed: the window at the call, in its order: tools, system, messages.
        params: as `split_request` gave it; "" for a call that was not recorded.
        marks: the same.
    """
    shape = from_json(marks) if marks else {}
    if "request" in shape:
        return dict(shape["request"])
    body: dict[str, Any] = from_json(params) if params else {}
    tools, system, rest = _divide(placed, shape)
    if tools or "tools" in shape:
        body["tools"] = [tool_value(entry.block) for entry in tools]
    if system or "system" in shape:
        body["system"] = [block_value(entry.block) for entry in system]
    messages = [
        {"role": role, "content": [block_value(entry.block) for entry in entries]}
        for (_, role), entries in groupby(rest, lambda entry: (entry.message, entry.role))
    ]
    if messages or "messages" in shape or not marks:
        body["messages"] = messages
    for path, fields in shape.get("extra", ()):
        block_at(body, path).update(fields)
    restore_strings(body, shape)
    return body


def _divide(
    placed: Sequence[Placed], shape: Mapping[str, Any]
) -> tuple[list[Placed], list[Placed], list[Placed]]:
    """Tools, system and messages; a later message with role `system` stays a message."""
    wanted = {"tools": shape.get("tools"), "system": shape.get("system")}
    if wanted["system"] == "string":
        wanted["system"] = 1
    found: dict[str, list[Placed]] = {"tools": [], "system": []}
    rest: list[Placed] = []
    for entry in placed:
        part = found.get(entry.role)
        count = wanted.get(entry.role)
        if part is not None and not rest and (count is None or len(part) < count):
            part.append(entry)
        else:
            rest.append(entry)
    return found["tools"], found["system"], rest
