"""One line for a content block, as people recognise it in a list.

The texts are recorded ones: `plain` comes later, in the output. Knows nothing about layout.
"""

from __future__ import annotations

import re

from ctxledger.ledger.content import CALL_TYPES, Block, from_json, is_result, readable

CONSIDERED_CHARS = 4000
"""Nobody reads more of a block in one line."""
_TELLING_FIELDS = (
    "command", "file_path", "path", "pattern", "query", "url", "prompt", "description", "skill",
)  # fmt: skip
"""Fields of a tool input that say most about the call, the first one found is shown."""
_LINE_NUMBERS = re.compile(r"(?m)^ *\d+\u2192")
_PATH_PARTS_MAX = 2


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
    text = readable(block)[:CONSIDERED_CHARS]
    if is_result(block.type):
        words = " ".join(_LINE_NUMBERS.sub("", text).split())
        return f"error: {words}" if block.is_error else words or "(empty result)"
    words = " ".join(text.split())
    if block.type == "thinking":
        return words or "(thinking without text)"
    return words


def _call_words(block: Block) -> str:
    value = from_json(block.text) if block.is_json else block.text
    if isinstance(value, dict):
        for name in _TELLING_FIELDS:
            if isinstance(value.get(name), str):
                words = " ".join(value[name][:CONSIDERED_CHARS].split())
                return _short_path(words) if "path" in name else words
    return " ".join(block.text[:CONSIDERED_CHARS].split())


def _short_path(path: str) -> str:
    """The end of a long path, which tells files apart."""
    parts = path.split("/")
    if len(parts) <= _PATH_PARTS_MAX + 2:
        return path
    return "/".join(["...", *parts[-_PATH_PARTS_MAX:]])


def _media(block: Block) -> str:
    value = from_json(block.text)
    source = value.get("source") if isinstance(value, dict) else None
    media = source.get("media_type") if isinstance(source, dict) else None
    return f" {media}" if isinstance(media, str) else ""
