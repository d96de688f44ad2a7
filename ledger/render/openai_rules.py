"""A judge of request bodies: what OpenAI's APIs would refuse, by the table of rules.

`check_openai` shares nothing but the table with the renderer, so that it can judge what the
renderer made. Knows nothing about windows, items or repairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .anthropic_rules import Violation
from .openai_table import RULES, OpenAIRules

Json = Mapping[str, Any]

_CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
_SAID = ("reasoning", "message", *_CALLS)
_TEXTS = {"assistant": ("output_text", "refusal")}


def check_openai(body: Json, rules: OpenAIRules = RULES) -> tuple[Violation, ...]:
    """List everything that the API would refuse in a request body, in order of appearance."""
    is_chat = "messages" in body
    listed = body.get("messages" if is_chat else "input")
    found: list[Violation] = []
    if not isinstance(body.get("model"), str) or not body["model"]:
        found.append(Violation(code="no_model"))
    if isinstance(listed, str) and listed and not is_chat:
        listed = [{"role": "user", "content": listed}]
    if not isinstance(listed, list) or not listed:
        return (*found, Violation(code="no_messages"))
    if is_chat:
        found += [*_chat_shapes(listed, rules), *_chat_pairs(listed)]
    else:
        found += [*_item_shapes(listed, rules), *_item_pairs(listed, rules), *_reasoning(listed)]
    found += _definitions(body, is_chat, rules)
    return tuple(found)


# -- chat completions ---------------------------------------------------------------------------


def _chat_shapes(messages: list[Any], rules: OpenAIRules) -> Iterator[Violation]:
    for index, message in enumerate(messages):
        role = str(message.get("role")) if isinstance(message, dict) else None
        if role not in rules.roles:
            yield Violation(code="bad_role", message=index, id=str(role))
            continue
        content = message.get("content")
        allowed = rules.chat_part_types if role == "user" else frozenset({"text"})
        if isinstance(content, list):
            yield from _parts(content, index, allowed)
        elif not isinstance(content, str) and not (role == "assistant" and "tool_calls" in message):
            yield Violation(code="empty_message", message=index)
        if role not in ("assistant", "tool") and content in ("", []):
            yield Violation(code="empty_message", message=index)
        if message.get("tool_calls") == []:
            yield Violation(code="empty_tool_calls", message=index)
        yield from _chat_calls(message, index, rules)


def _parts(content: list[Any], index: int, allowed: frozenset[str]) -> Iterator[Violation]:
    for part in content:
        kind = str(part.get("type")) if isinstance(part, dict) else None
        if kind not in allowed:
            yield Violation(code="block_not_allowed", message=index, id=str(kind))
        elif "text" in part and not str(part["text"]).strip():
            yield Violation(code="empty_text", message=index)


def _chat_calls(message: Json, index: int, rules: OpenAIRules) -> Iterator[Violation]:
    for call in message.get("tool_calls") or ():
        called = call.get("function", call.get("custom"))
        fields = called if isinstance(called, dict) else {}
        if not isinstance(fields.get("arguments", fields.get("input")), str):
            yield Violation(code="bad_arguments", message=index, id=str(call.get("id")))
        yield from _named(fields.get("name"), call.get("id"), index, rules.chat_call_id, rules)


def _named(
    name: object, call: object, index: int, pattern: str, rules: OpenAIRules
) -> Iterator[Violation]:
    if not isinstance(name, str) or not re.fullmatch(rules.tool_name, name):
        yield Violation(code="bad_tool_name", message=index, id=str(name))
    if not isinstance(call, str) or not re.fullmatch(pattern, call):
        yield Violation(code="bad_tool_id", message=index, id=str(call))


def _chat_pairs(messages: list[Any]) -> Iterator[Violation]:
    """Each call is answered once, by the tool messages right behind it."""
    waiting: list[Any] = []
    at = 0
    for index, message in enumerate([*messages, {}]):
        fields = message if isinstance(message, dict) else {}
        if fields.get("role") == "tool":
            name = fields.get("tool_call_id")
            if name in waiting:
                waiting.remove(name)
            else:
                yield Violation(code="orphan_tool_result", message=index, id=str(name))
            continue
        for name in waiting:
            yield Violation(code="missing_tool_result", message=at, id=str(name))
        waiting = [call.get("id") for call in fields.get("tool_calls") or ()]
        at = index
        if len(set(map(str, waiting))) < len(waiting):
            yield Violation(code="duplicate_tool_id", message=index)


# -- Responses ----------------------------------------------------------------------------------


def _item_shapes(items: list[Any], rules: OpenAIRules) -> Iterator[Violation]:
    for index, item in enumerate(items):
        kind = str(item.get("type", "message")) if isinstance(item, dict) else None
        if kind == "message":
            yield from _item_message(item, index, rules)
        elif kind in _CALLS:
            field = "arguments" if kind == "function_call" else "input"
            name = item.get("call_id")
            if not isinstance(item.get(field), str):
                yield Violation(code="bad_arguments", message=index, id=str(name))
            yield from _named(item.get("name"), name, index, rules.response_call_id, rules)
        elif kind in _CALLS.values():
            output = item.get("output")
            if isinstance(output, list):
                yield from _parts(output, index, rules.response_part_types)
            elif not isinstance(output, str):
                yield Violation(code="bad_output", message=index, id=str(item.get("call_id")))
        elif kind == "reasoning":
            if not isinstance(item.get("id"), str) or not isinstance(item.get("summary"), list):
                yield Violation(code="bad_reasoning", message=index)
        elif kind == "compaction":
            if not isinstance(item.get("encrypted_content"), str):
                yield Violation(code="bad_compaction", message=index)
        elif kind not in rules.own_items and kind != "item_reference":
            yield Violation(code="block_not_allowed", message=index, id=str(kind))


def _item_message(item: Json, index: int, rules: OpenAIRules) -> Iterator[Violation]:
    role, content = str(item.get("role")), item.get("content")
    if role not in rules.roles - {"tool"}:
        yield Violation(code="bad_role", message=index, id=str(role))
    elif isinstance(content, list) and content:
        allowed = frozenset(_TEXTS.get(str(role), rules.response_part_types))
        yield from _parts(content, index, allowed)
    elif not isinstance(content, str) or not content:
        yield Violation(code="empty_message", message=index)


def _item_pairs(items: list[Any], rules: OpenAIRules) -> Iterator[Violation]:
    """Each call has one output of its kind behind it."""
    waiting: dict[str, tuple[int, str]] = {}
    for index, item in enumerate(items):
        fields = item if isinstance(item, dict) else {}
        kind, name = str(fields.get("type")), str(fields.get("call_id"))
        is_own = kind in rules.own_items and f"{kind}_output" in rules.own_items
        if kind in _CALLS or is_own:
            if name in waiting:
                yield Violation(code="duplicate_tool_id", message=index, id=name)
            waiting[name] = (index, _CALLS.get(str(kind), f"{kind}_output"))
        elif kind in _CALLS.values() or (kind in rules.own_items and str(kind).endswith("_output")):
            found = waiting.pop(name, None)
            if found is None or found[1] != kind:
                yield Violation(code="orphan_tool_result", message=index, id=name)
    for name, (index, _) in waiting.items():
        yield Violation(code="missing_tool_result", message=index, id=name)


def _reasoning(items: list[Any]) -> Iterator[Violation]:
    """What was thought stands right before what was said or done because of it."""
    for index, item in enumerate(items):
        if not isinstance(item, dict) or item.get("type") != "reasoning":
            continue
        after = items[index + 1] if index + 1 < len(items) else None
        kind = str(after.get("type", "message")) if isinstance(after, dict) else ""
        is_said = kind in _SAID or kind.endswith("_call")
        is_other = kind == "message" and isinstance(after, dict) and after["role"] != "assistant"
        if not is_said or is_other:
            yield Violation(code="reasoning_without_what_followed", message=index)


# -- tools --------------------------------------------------------------------------------------


def _definitions(body: Json, is_chat: bool, rules: OpenAIRules) -> Iterator[Violation]:
    tools = body.get("tools")
    if "tools" in body and (not isinstance(tools, list) or (is_chat and not tools)):
        yield Violation(code="bad_tools")
    if "tool_choice" in body and not tools:
        yield Violation(code="tool_choice_without_tools")
    seen: set[str] = set()
    allowed = rules.chat_tool_types if is_chat else rules.response_tool_types
    for tool in tools if isinstance(tools, list) else ():
        kind = str(tool.get("type")) if isinstance(tool, dict) else None
        if kind not in allowed:
            yield Violation(code="unknown_tool", id=str(kind))
            continue
        if kind not in ("function", "custom"):
            continue
        fields = tool.get(kind) if is_chat else tool
        name = fields.get("name") if isinstance(fields, dict) else None
        if not isinstance(name, str) or not re.fullmatch(rules.tool_name, name):
            yield Violation(code="bad_tool_name", id=str(name))
        elif name in seen:
            yield Violation(code="duplicate_tool_definition", id=name)
        seen.add(str(name))
    if isinstance(tools, list) and len(tools) > rules.tools_max:
        yield Violation(code="tools_over_limit", count=len(tools), limit=rules.tools_max)
