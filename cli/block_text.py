"""One line for a content block, as people recognise it in a list.

The texts are recorded ones: `plain` comes later, in the output. Knows nothing about layout.
"""

from __future__ import annotations

from ctxledger.ledger.content import CALL_TYPES, Block, from_json, is_result, readable

CONSIDERED_CHARS = 4000
"""Nobody reads more of a block in one line."""
_TELLING_FIELDS = (
    "command", "file_path", "path", "pattern", "query", "url", "prompt", "description", "skill",
)  # fmt: skip
"""Fields of a tool input that say most about the call, the first one found is shown."""


def first_words(block: Block) -> str:
    """What a block says, on one line; white space runs are single spaces."""
    if block.type in CALL_TYPES:
        return f"{block.tool_name or '?'}({_call_words(block)})"
    if block.type == "tool":
        return f"{block.tool_name or '?'} (tool definition)"
    if block.type == "redacted_thinking":
        return "(encrypted thinking)"
    if block.type in ("image", "document"):
        return f"({block.type}{_media(block)})"
    words = " ".join(readable(block)[:CONSIDERED_CHARS].split())
    if is_result(block.type):
        return f"error: {words}" if block.is_error else words or "(empty result)"
    if block.type == "thinking":
        return words or "(thinking without text)"
    return words


def _call_words(block: Block) -> str:
    value = from_json(block.text) if block.is_json else block.text
    if isinstance(value, dict):
        for name in _TELLING_FIELDS:
            if isinstance(value.get(name), str):
                return " ".join(value[name][:CONSIDERED_CHARS].split())
    return " ".join(block.text[:CONSIDERED_CHARS].split())


def _media(block: Block) -> str:
    value = from_json(block.text)
    source = value.get("source") if isinstance(value, dict) else None
    media = source.get("media_type") if isinstance(source, dict) else None
    return f" {media}" if isinstance(media, str) else ""
