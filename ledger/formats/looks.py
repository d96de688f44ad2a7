"""Which known format one parsed record belongs to, judged by its own fields.

The order of the table matters: a format with unmistakable fields comes before one whose
records could be a special case of others. Knows nothing about files or how records are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

NATIVE_TYPES = frozenset(
    {
        "session",
        "message",
        "system",
        "tools",
        "call",
        "result",
        "evict",
        "compact",
        "reinject",
        "note",
        "phase",
        "rewrite",
    }
)
_NATIVE_FIELDS = {
    "session": ("name",),
    "message": ("role", "message"),
    "system": ("content",),
    "tools": ("tools",),
    "call": ("call", "id"),
    "result": ("call",),
    "evict": ("items",),
    "compact": ("brief",),
    "reinject": ("items", "text"),
    "note": ("text",),
    "phase": ("name",),
    "rewrite": ("parts",),
}
"""One of these must be there for a native line of that type."""

_CLAUDE_CODE_MARKS = ("sessionId", "parentUuid", "isSidechain", "leafUuid", "isSnapshotUpdate")
_CODEX_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_OPENAI_ROLES = ("system", "tool", "developer", "function")
_OPENAI_OBJECTS = (
    "response",
    "response.compaction",
    "chat.completion",
    "chat.completion.chunk",
)
_OPENAI_MODEL = re.compile(r"(openai/)?(gpt-|chatgpt-|o\d(-|$))")
_OPENAI_FIELDS = frozenset(
    {"max_completion_tokens", "frequency_penalty", "response_format", "stream_options", "logprobs",
     "parallel_tool_calls", "n", "seed", "functions"}
)  # fmt: skip
_ANTHROPIC_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "compaction")
_ANTHROPIC_BODY_FIELDS = (
    "system",
    "anthropic_version",
    "anthropic_beta",
    "thinking",
    "context_management",
)
_STREAM_TYPES = ("message_start", "content_block_start", "content_block_delta", "message_delta")

Fields = Mapping[str, Any]


def looks_like(value: object) -> str:
    """Name the format of one parsed record: a name of `detect`'s table, "" if none fits."""
    if isinstance(value, list):
        name = next((name for name in map(looks_like, value[:5]) if name), "")
        return "message-list" if name == "native" else name
    if not isinstance(value, dict):
        return ""
    return next((name for name, is_one in _SIGNS if is_one(value)), "")


def is_native(value: Fields) -> bool:
    """True for a line of the native grammar: a known type with its field, or role + content."""
    kind = value.get("type", "message" if "role" in value else None)
    if not isinstance(kind, str) or kind not in NATIVE_TYPES:
        return False
    if kind == "message" and "role" not in value:
        return isinstance(value.get("message"), str)
    if "type" not in value and "content" not in value:
        return False
    return any(name in value for name in _NATIVE_FIELDS[kind])


def is_claude_code(value: Fields) -> bool:
    """True for a record of a Claude Code transcript."""
    kind = value.get("type")
    if not isinstance(kind, str) or "messages" in value:
        return False
    if kind in NATIVE_TYPES and kind != "system":
        return False
    return any(name in value for name in _CLAUDE_CODE_MARKS)


def is_anthropic(value: Fields) -> bool:
    """True for a request body, a response, a stream event, or a pair of the Messages API."""
    if value.get("type") in _STREAM_TYPES:
        return True
    if value.get("type") == "error" and "request_id" in value:
        return True
    if value.get("type") == "message" and value.get("role") == "assistant":
        return "usage" in value or "stop_reason" in value
    if _is_anthropic_body(value):
        return True
    if _is_answered_by_openai(value):
        return False
    return _pair_is(value, is_anthropic, "/v1/messages", "anthropic")


def is_openai(value: Fields) -> bool:
    """True for a request or an answer of the chat completions or Responses API."""
    if "choices" in value or value.get("object") in _OPENAI_OBJECTS:
        return True
    if str(value.get("type", "")).startswith("response.") and "sequence_number" in value:
        return True
    if "tool_calls" in value or "tool_call_id" in value:
        return True
    if "request_params" in value or ("model" in value and "input" in value):
        return True
    if "custom_id" in value and ("url" in value or "response" in value):
        return True
    if isinstance(value.get("messages"), list) and not _is_anthropic_body(value):
        return all(isinstance(message, dict) and "role" in message for message in value["messages"])
    if _is_answered_by_openai(value):
        return True
    return _pair_is(value, is_openai, "/chat/completions", "/responses", "api.openai.com")


def _is_answered_by_openai(value: Fields) -> bool:
    """True for a recorded pair whose answer is theirs, whatever its request looks like."""
    response = value.get("response") if isinstance(value.get("request"), dict) else None
    if not isinstance(response, dict):
        return False
    bodies = (response, response.get("body"), response.get("parsed_body"))
    return any(
        isinstance(body, dict) and ("choices" in body or body.get("object") in _OPENAI_OBJECTS)
        for body in bodies
    )


def _is_anthropic_body(value: Fields) -> bool:
    messages = value.get("messages")
    if not isinstance(messages, list) or not isinstance(value.get("model", ""), str):
        return False
    if "claude" in value.get("model", "") or any(name in value for name in _ANTHROPIC_BODY_FIELDS):
        return True
    if any(_is_openai_message(message) for message in messages):
        return False
    if _OPENAI_MODEL.match(value.get("model", "")) or not _OPENAI_FIELDS.isdisjoint(value):
        return False
    return any(map(_has_anthropic_block, messages)) or ("max_tokens" in value and "model" in value)


def _is_openai_message(message: object) -> bool:
    if not isinstance(message, dict):
        return False
    return message.get("role") in _OPENAI_ROLES or "tool_calls" in message


def _has_anthropic_block(message: object) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return False
    return any(isinstance(part, dict) and part.get("type") in _ANTHROPIC_BLOCKS for part in content)


def _pair_is(value: Fields, is_one: Callable[[Fields], bool], *addresses: str) -> bool:
    """True when a recorded exchange goes to one of the addresses or holds such bodies."""
    interactions = value.get("interactions")
    if isinstance(interactions, list):
        pairs = (one for one in interactions if isinstance(one, dict))
        return any(_pair_is(pair, is_one, *addresses) for pair in pairs)
    request = value.get("request")
    if not isinstance(request, dict):
        return False
    address = request.get("url", request.get("uri"))
    if isinstance(address, str) and address:
        return any(part in address for part in addresses)
    bodies = (request, request.get("body"), request.get("parsed_body"))
    return any(isinstance(body, dict) and body is not value and is_one(body) for body in bodies)


def _is_codex(value: Fields) -> bool:
    return value.get("type") in _CODEX_TYPES and isinstance(value.get("payload"), dict)


def _is_gemini(value: Fields) -> bool:
    if isinstance(value.get("contents"), list) or "functionResponse" in value:
        return True
    return isinstance(value.get("messages"), list) and "projectHash" in value


def _is_cline(value: Fields) -> bool:
    return isinstance(value.get("messages"), list) and (
        "system_prompt" in value or ("agent" in value and "sessionId" in value)
    )


def _is_otel(value: Fields) -> bool:
    if "resourceSpans" in value or isinstance(value.get("spans"), list):
        return True
    return "attributes" in value and ("context" in value or "traceId" in value)


def _is_langchain(value: Fields) -> bool:
    kind = value.get("type")
    if "lc" in value and kind in ("constructor", "not_implemented"):
        return True
    return kind in ("human", "ai", "tool") and ("content" in value or "data" in value)


def _is_trajectory(value: Fields) -> bool:
    if isinstance(value.get("trajectory"), list) or "trajectory_format" in value:
        return True
    history = value.get("history")
    return isinstance(history, list) and ("info" in value or _has(history, "message_type"))


def _is_openhands(value: Fields) -> bool:
    return "instance_id" in value and isinstance(value.get("history"), list)


def _is_atif(value: Fields) -> bool:
    return isinstance(value.get("steps"), list) and "schema_version" in value


def _is_tau_bench(value: Fields) -> bool:
    return "messages_display" in value or isinstance(value.get("traj"), list)


def _has(items: list[Any], name: str) -> bool:
    return any(isinstance(item, dict) and name in item for item in items[:5])


_SIGNS: tuple[tuple[str, Callable[[Fields], bool]], ...] = (
    ("claude-code", is_claude_code),
    ("codex", _is_codex),
    ("gemini-cli", _is_gemini),
    ("cline", _is_cline),
    ("otel-genai", _is_otel),
    ("langchain", _is_langchain),
    ("openhands", _is_openhands),
    ("swe-agent", _is_trajectory),
    ("atif", _is_atif),
    ("tau-bench", _is_tau_bench),
    ("anthropic", is_anthropic),
    ("openai", is_openai),
    ("native", is_native),
)
