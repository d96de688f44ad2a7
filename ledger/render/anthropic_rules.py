"""A judge of request bodies: what the Messages API would refuse, by the table of rules.

`check_request` shares nothing but the table with the renderer, so that it can judge what the
renderer made. Knows nothing about windows, items or repairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from ..images import pixel_size
from .anthropic_table import (
    RULES,
    MessagesRules,
    can_prefill,
    is_long_mark,
    is_server_result,
    is_thinking_on,
)

Json = Mapping[str, Any]


class Violation(Struct, frozen=True, kw_only=True):
    """One rule that a request breaks."""

    code: str
    message: int = -1
    """Index in `messages` as sent; -1 = the whole request."""
    id: str = ""
    """The tool id or name concerned."""
    count: int = 0
    limit: int = 0
    image: int = 0
    """Number of the image, from 1 in request order."""


def check_request(body: Json, rules: MessagesRules = RULES) -> tuple[Violation, ...]:
    """List everything that the API would refuse in a request body, in order of appearance."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return (Violation(code="no_messages"),)
    found = [
        *_shapes(messages, rules),
        *_tool_pairs(messages, rules),
        *_server_pairs(messages),
        *_thinking(body, messages, rules),
        *_compactions(body, messages),
        *_images(messages, rules),
        *_definitions(body, rules),
        *_ends(body, messages, rules),
    ]
    marks = [mark for part in ("tools", "system", "messages") for mark in _marked(body.get(part))]
    if len(marks) > rules.cache_marks_max:
        limit = rules.cache_marks_max
        found.append(Violation(code="cache_control_over_limit", count=len(marks), limit=limit))
    if sorted(map(is_long_mark, marks), reverse=True) != list(map(is_long_mark, marks)):
        found.append(Violation(code="cache_ttl_order"))
    return tuple(found)


def blocks_of(message: object) -> list[dict[str, Any]]:
    """The blocks of a message; a string is one text block."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _shapes(messages: list[Any], rules: MessagesRules) -> Iterator[Violation]:
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in rules.roles:
            yield Violation(code="bad_role", message=index, id=str(role))
        blocks = blocks_of(message)
        if not blocks:
            yield Violation(code="empty_message", message=index)
        allowed = rules.assistant_types if role == "assistant" else rules.user_types
        for block in blocks:
            kind = str(block.get("type"))
            if kind == "text" and not str(block.get("text", "")).strip():
                yield Violation(code="empty_text", message=index)
            is_result = role == "assistant" and is_server_result(kind)
            if kind not in allowed and not is_result:
                yield Violation(code="block_not_allowed", message=index, id=kind)


def _tool_pairs(messages: list[Any], rules: MessagesRules) -> Iterator[Violation]:
    """Every call answered once, first thing in the next user message; ids unique."""
    open_ids: list[str] = []
    seen: set[str] = set()
    previous_role = ""
    is_behind_text = False
    for index, message in enumerate(messages):
        role = str(message.get("role")) if isinstance(message, dict) else ""
        if role == "assistant" and previous_role != "assistant":
            yield from _unanswered(open_ids, index)
            open_ids = []
        if role != previous_role:
            is_behind_text = False
        previous_role = role
        for block in blocks_of(message):
            if block.get("type") == "tool_use":
                name = str(block.get("id"))
                yield from _call_faults(block, index, name, seen, rules)
                seen.add(name)
                open_ids.append(name)
            elif block.get("type") == "tool_result":
                name = str(block.get("tool_use_id"))
                if name not in open_ids:
                    yield Violation(code="orphan_tool_result", message=index, id=name)
                    continue
                open_ids.remove(name)
                if is_behind_text:
                    yield Violation(code="tool_result_not_first", message=index, id=name)
            elif role == "user":
                is_behind_text = True
    yield from _unanswered(open_ids, len(messages))


def _unanswered(open_ids: list[str], index: int) -> Iterator[Violation]:
    for name in open_ids:
        yield Violation(code="missing_tool_result", message=index, id=name)


def _call_faults(
    block: Json, index: int, name: str, seen: set[str], rules: MessagesRules
) -> Iterator[Violation]:
    if name in seen:
        yield Violation(code="reused_tool_id", message=index, id=name)
    if not isinstance(block.get("id"), str) or not re.fullmatch(rules.tool_id, name):
        yield Violation(code="bad_tool_id", message=index, id=name)
    if not re.fullmatch(rules.tool_name, str(block.get("name"))):
        yield Violation(code="bad_tool_name", message=index, id=name)
    if not isinstance(block.get("input"), dict):
        yield Violation(code="tool_input_not_object", message=index, id=name)


def _server_pairs(messages: list[Any]) -> Iterator[Violation]:
    """Results of provider-run tools follow their call; a waiting call has client calls."""
    waiting: dict[str, tuple[int, bool]] = {}
    seen: set[str] = set()
    for index, message in enumerate(messages):
        blocks = blocks_of(message)
        has_client_call = any(block.get("type") == "tool_use" for block in blocks)
        for block in blocks:
            kind = str(block.get("type"))
            if kind in ("server_tool_use", "mcp_tool_use"):
                name = str(block.get("id"))
                if name in seen:
                    yield Violation(code="reused_tool_id", message=index, id=name)
                seen.add(name)
                waiting[name] = (index, has_client_call)
            elif is_server_result(kind):
                name = str(block.get("tool_use_id"))
                if waiting.pop(name, None) is None:
                    yield Violation(code="orphan_server_result", message=index, id=name)
    newest = max((i for i, m in enumerate(messages) if _is_assistant(m)), default=-1)
    for name, (index, may_wait) in waiting.items():
        if not may_wait or index != newest:
            yield Violation(code="unanswered_server_call", message=index, id=name)


def _is_assistant(message: object) -> bool:
    return isinstance(message, dict) and message.get("role") == "assistant"


def _thinking(body: Json, messages: list[Any], rules: MessagesRules) -> Iterator[Violation]:
    for index, message in enumerate(messages):
        blocks = blocks_of(message)
        for block in blocks:
            if block.get("type") == "thinking":
                signature = block.get("signature")
                if not isinstance(signature, str) or signature in rules.not_signatures:
                    yield Violation(code="thinking_without_signature", message=index)
        if _is_assistant(message) and blocks and str(blocks[-1].get("type")).endswith("thinking"):
            yield Violation(code="thinking_last", message=index)
    thinking = body.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    max_tokens = body.get("max_tokens")
    if isinstance(budget, int) and isinstance(max_tokens, int):
        is_fitting = rules.thinking_budget_min <= budget < max_tokens
        if not is_fitting:
            yield Violation(code="thinking_budget", count=budget, limit=max_tokens)
    if isinstance(thinking, dict) and thinking.get("type") == "enabled":
        yield from _open_loop(messages)


def _open_loop(messages: list[Any]) -> Iterator[Violation]:
    """With thinking enabled, the assistant message whose results are sent begins with it."""
    last = messages[-1]
    if not any(block.get("type") == "tool_result" for block in blocks_of(last)):
        return
    at = len(messages) - 1
    while at >= 0 and messages[at].get("role") != "assistant":
        at -= 1
    while at > 0 and messages[at - 1].get("role") == "assistant":
        at -= 1
    first = blocks_of(messages[at])[:1] if at >= 0 else []
    if first and not str(first[0].get("type")).endswith("thinking"):
        yield Violation(code="thinking_missing_in_open_turn", message=at)


def _compactions(body: Json, messages: list[Any]) -> Iterator[Violation]:
    """Compaction blocks are accepted only with the edit that makes them."""
    if "compact_" in str(body.get("context_management")):
        return
    for index, message in enumerate(messages):
        if any(block.get("type") == "compaction" for block in blocks_of(message)):
            yield Violation(code="compaction_not_asked_for", message=index)


def _images(messages: list[Any], rules: MessagesRules) -> Iterator[Violation]:
    found = [
        (index, image)
        for index, message in enumerate(messages)
        for block in blocks_of(message)
        for image in _images_in(block)
    ]
    if len(found) > rules.images_max:
        yield Violation(code="too_many_images", count=len(found), limit=rules.images_max)
    is_many = len(found) >= rules.many_images_from
    for number, (index, image) in enumerate(found, 1):
        for code, count, limit in _image_faults(image, is_many, rules):
            yield Violation(code=code, message=index, image=number, count=count, limit=limit)


def _image_faults(
    image: Json, is_many: bool, rules: MessagesRules
) -> Iterator[tuple[str, int, int]]:
    source = image.get("source")
    data = source.get("data") if isinstance(source, dict) else None
    if not isinstance(data, str):
        return
    size = max(pixel_size(data) or (0, 0))
    if len(data) > rules.image_base64_chars_max:
        yield "image_too_heavy", len(data), rules.image_base64_chars_max
    if size > rules.image_px_max:
        yield "image_too_large", size, rules.image_px_max
    elif is_many and size > rules.many_image_px:
        yield "image_too_large_in_many_image_request", size, rules.many_image_px


def _images_in(block: Json) -> Iterator[Json]:
    if block.get("type") == "image":
        yield block
    content = block.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "image":
            yield part


def _definitions(body: Json, rules: MessagesRules) -> Iterator[Violation]:
    seen: set[str] = set()
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        name = str(tool.get("name", "")) if isinstance(tool, dict) else ""
        if name and name in seen:
            yield Violation(code="duplicate_tool_definition", id=name)
        if name and not re.fullmatch(rules.tool_name, name):
            yield Violation(code="bad_tool_name", id=name)
        if isinstance(tool, dict) and tool.get("description", "") is None:
            yield Violation(code="null_tool_field", id=name)
        seen.add(name)
    choice = body.get("tool_choice")
    chosen = choice.get("name") if isinstance(choice, dict) else None
    if choice is not None and (not seen or (chosen is not None and chosen not in seen)):
        yield Violation(code="tool_choice_without_tool", id=str(chosen or ""))


def _ends(body: Json, messages: list[Any], rules: MessagesRules) -> Iterator[Violation]:
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield Violation(code="no_model")
    if not isinstance(body.get("max_tokens"), int):
        yield Violation(code="no_max_tokens")
    first, last = messages[0], messages[-1]
    if isinstance(first, dict) and first.get("role") == "assistant":
        yield Violation(code="first_message_not_user", message=0)
    if isinstance(last, dict) and last.get("role") == "assistant":
        at = len(messages) - 1
        text = str((blocks_of(last) or [{}])[-1].get("text", ""))
        if is_thinking_on(body) or not can_prefill(str(body.get("model")), rules):
            yield Violation(code="ends_with_assistant", message=at)
        elif text != text.rstrip():
            yield Violation(code="trailing_whitespace", message=at)


def _marked(part: object) -> Iterator[Json]:
    """Blocks with a cache mark, in order; tool inputs and schemas are data, not marks."""
    if isinstance(part, list):
        for entry in part:
            yield from _marked(entry)
    elif isinstance(part, dict):
        yield from _marked(part.get("content"))
        if part.get("cache_control") is not None:
            yield part
