"""The public rules of the Messages API, read independently of the code under test.

Source: https://platform.claude.com/docs/en/ (api/messages, tool use, extended thinking, prompt
caching), read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
PREFILL = re.compile(r"claude-(3|sonnet-4-|opus-4-[01]|haiku-4-5)")


def blocks(message: Json) -> list[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def faults(body: Json) -> list[str]:
    """What the API would refuse."""
    messages = body["messages"]
    return [
        *_parameters(body),
        *_pairs(messages),
        *_marks(body),
        *_end(body),
        *(fault for message in messages for fault in _message(message, body)),
    ]


def _parameters(body: Json) -> Iterator[str]:
    names = [tool.get("name") for tool in body.get("tools", [])]
    if len(set(names)) < len(names):
        yield "a tool is defined twice"
    choice = body.get("tool_choice")
    if choice and not names:
        yield "tool_choice without tools"
    if choice and choice.get("name", None if not names else names[0]) not in names:
        yield "tool_choice names no tool"
    thinking = body.get("thinking", {})
    if thinking.get("type") == "enabled":
        if not 1024 <= thinking["budget_tokens"] < body["max_tokens"]:
            yield "thinking budget"
        if choice and choice["type"] in ("any", "tool"):
            yield "a forced tool with thinking"


def _pairs(messages: list[Json]) -> Iterator[str]:
    if not messages or messages[0]["role"] != "user":
        yield "does not begin with the user"
    waiting: list[str] = []
    used: set[str] = set()
    for message in messages:
        results = [b["tool_use_id"] for b in blocks(message) if b["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            yield f"results {results} for calls {waiting}"
        if any(block["type"] != "tool_result" for block in blocks(message)[: len(results)]):
            yield "results are not first"
        calls = [block for block in blocks(message) if block["type"] == "tool_use"]
        waiting = [call["id"] for call in calls]
        for call in calls:
            if call["id"] in used or not re.fullmatch(r"[a-zA-Z0-9_-]+", call["id"]):
                yield f"id {call['id']}"
            if not isinstance(call["input"], dict) or not re.fullmatch(r"[\w-]+", call["name"]):
                yield f"call {call}"
            used.add(call["id"])
    if waiting:
        yield "open calls at the end"


def _message(message: Json, body: Json) -> Iterator[str]:
    kinds = [block["type"] for block in blocks(message)]
    is_assistant = message["role"] == "assistant"
    if message["role"] not in ("user", "assistant") or not kinds:
        yield f"an empty message or a wrong role: {message['role']}"
    own = {"tool_use", "thinking", "redacted_thinking", "server_tool_use", "compaction"}
    if own.intersection(kinds) if not is_assistant else {"tool_result", "image"} & set(kinds):
        yield f"{kinds} by {message['role']}"
    if kinds and kinds[-1] in ("thinking", "redacted_thinking"):
        yield "ends with thinking"
    if "compaction" in kinds and "compact_" not in str(body.get("context_management")):
        yield "compaction was not asked for"
    for block in blocks(message):
        inner = block.get("content")
        for part in [block, *(inner if isinstance(inner, list) else [])]:
            if part.get("type") == "text" and not part["text"].strip():
                yield "blank text"
        if block["type"] == "thinking" and not block.get("signature"):
            yield "unsigned thinking"
    served = [b["tool_use_id"] for b in blocks(message) if b["type"] == "web_search_tool_result"]
    asked = [b["id"] for b in blocks(message) if b["type"] == "server_tool_use"]
    newest = [m for m in body["messages"] if m["role"] == "assistant"][-1:]
    may_wait = message in newest and "tool_use" in kinds
    if served != (asked[: len(served)] if may_wait else asked):
        yield "a provider-run call without its result, or the reverse"


def _marks(body: Json) -> Iterator[str]:
    content = [block for message in body["messages"] for block in blocks(message)]
    parts: list[Json] = []
    for block in [*body.get("tools", []), *body.get("system", []), *content]:
        inner = block.get("content")
        parts += [*(inner if isinstance(inner, list) else []), block]
    found = [part["cache_control"] for part in parts if part.get("cache_control")]
    marks = [mark.get("ttl", "5m") for mark in found]
    if len(marks) > 4:
        yield "too many cache marks"
    if marks != sorted(marks):  # "1h" < "5m": the longer ones come first
        yield "a cache mark for an hour behind a shorter one"


def _end(body: Json) -> Iterator[str]:
    last = body["messages"][-1]
    is_thinking = body.get("thinking", {}).get("type") == "enabled"
    if last["role"] == "assistant":
        words = blocks(last)[-1].get("text", "")
        if is_thinking or not PREFILL.match(body["model"]) or words != words.rstrip():
            yield "ends with the assistant"
        return
    is_open = any(block["type"] == "tool_result" for block in blocks(last))
    if is_thinking and is_open and "thinking" not in blocks(body["messages"][-2])[0]["type"]:
        yield "the open turn does not begin with thinking"
