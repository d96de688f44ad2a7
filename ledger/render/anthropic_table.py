"""The rules of the Messages API as data with a date: what changes with time and model.

Both the renderer and the judge of requests read this table. Knows nothing about either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class MessagesRules(Struct, frozen=True, kw_only=True):
    """Limits and names that change with time and model; override one to follow a provider."""

    date: str = "2026-11-30"
    source: str = "https://platform.claude.com/docs/en/: api/messages, vision, extended thinking"
    roles: frozenset[str] = frozenset({"user", "assistant"})
    cache_marks_max: int = 4
    images_max: int = 100
    many_images_from: int = 21
    many_image_px: int = 2000
    image_px_max: int = 8000
    image_base64_chars_max: int = 5 * 1024 * 1024 * 4 // 3
    tool_name: str = r"[a-zA-Z0-9_-]{1,128}"
    tool_id: str = r"[a-zA-Z0-9_-]+"
    thinking_budget_min: int = 1024
    prefill_models: str = r"claude-([23][.-]|(opus|sonnet|haiku)-4(-[015])?(-\d{8}|-latest)?$)"
    """Only these may be asked to continue an assistant message (removed with Claude 4.6)."""
    thinking_is_model_bound: bool = True
    """Thinking that another model signed is left out."""
    thinking_is_prefix_bound: bool = True
    """Thinking older than a brief or state text in front of it is left out."""
    not_signatures: frozenset[str] = frozenset(
        {"", "reasoning_content", "reasoning", "thinking", "signature", "none", "null"}
    )
    """Field names that other programs stored in place of a signature (case k13-02)."""
    user_types: frozenset[str] = frozenset(
        {"text", "image", "document", "search_result", "tool_result", "container_upload",
         "tool_addition", "tool_removal"}
    )  # fmt: skip
    assistant_types: frozenset[str] = frozenset(
        {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use",
         "compaction", "container_upload", "fallback", "mcp_tool_listing"}
    )  # fmt: skip
    """And every result of a server-run tool (`..._tool_result`)."""


RULES = MessagesRules()


def is_server_result(block_type: str) -> bool:
    """True for results that stand in the assistant message of a provider-run tool."""
    return block_type.endswith("_tool_result") and block_type != "tool_result"


def can_prefill(model: str, rules: MessagesRules = RULES) -> bool:
    """True when the conversation may end with an assistant message."""
    return re.search(rules.prefill_models, model) is not None


def is_thinking_on(params: Mapping[str, Any]) -> bool:
    """True when a body asks for thinking: then the model begins the assistant message itself."""
    thinking = params.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") in ("enabled", "adaptive")


def is_long_mark(block: Mapping[str, Any]) -> bool:
    """True when a block's cache mark lasts longer than the usual five minutes."""
    mark = block.get("cache_control")
    return isinstance(mark, dict) and mark.get("ttl", "5m") != "5m"
