"""The rules of the chat completions and Responses APIs as data with a date.

Both the renderer and the judge of requests read this table. Knows nothing about either.
"""

from __future__ import annotations

from msgspec import Struct


class OpenAIRules(Struct, frozen=True, kw_only=True):
    """Limits and names that change with time and model; override one to follow a provider."""

    date: str = "2026-11-30"
    source: str = (
        "https://platform.openai.com/docs/api-reference: chat, responses; guides: reasoning"
    )
    roles: frozenset[str] = frozenset({"system", "developer", "user", "assistant", "tool"})
    tools_max: int = 128
    tool_name: str = r"[a-zA-Z0-9_-]{1,64}"
    chat_call_id: str = r"[^\s]{1,40}"
    response_call_id: str = r"[^\s]{1,64}"
    chat_part_types: frozenset[str] = frozenset({"text", "image_url", "input_audio", "file"})
    """Of a user message; other roles speak in text."""
    response_part_types: frozenset[str] = frozenset({"input_text", "input_image", "input_file"})
    """Of a user message, and of a result; the assistant speaks in `output_text` and `refusal`."""
    chat_tool_types: frozenset[str] = frozenset({"function", "custom"})
    response_tool_types: frozenset[str] = frozenset(
        {"function", "custom", "web_search", "web_search_preview", "file_search", "computer",
         "computer_use_preview", "code_interpreter", "image_generation", "mcp", "local_shell",
         "shell", "apply_patch", "namespace", "tool_search"}
    )  # fmt: skip
    own_items: frozenset[str] = frozenset(
        {"web_search_call", "file_search_call", "computer_call", "computer_call_output",
         "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools",
         "mcp_approval_request", "mcp_approval_response", "local_shell_call",
         "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call",
         "apply_patch_call_output"}
    )  # fmt: skip
    """Items of the Responses API that the ledger keeps as they came."""
    reasoning_is_model_bound: bool = True
    """Reasoning that another model encrypted is left out."""


RULES = OpenAIRules()
