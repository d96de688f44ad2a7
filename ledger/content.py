"""Content blocks with their contents: what a source gave and what a window shows.

A block of a message is split into its main value (the text, the tool input, the result), a
few ids, and the rest as JSON, so that equal contents are stored once and every block can be
put together again equal as parsed JSON. Knows nothing about events, storage or providers'
message rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Literal

from msgspec import Struct

Origin = Literal["human", "assistant", "tool", "harness", "hook", "summary", "system"]
ORIGINS: tuple[Origin, ...] = ("human", "assistant", "tool", "harness", "hook", "summary", "system")

LABEL_CHARS_MAX = 128
_LABEL = re.compile(rf"[A-Za-z0-9_.:/@+=~-]{{1,{LABEL_CHARS_MAX}}}")

# The field of a block that carries its contents. A type not listed is kept whole as JSON.
_MAIN_FIELD = {
    "text": "text",
    "thinking": "thinking",
    "redacted_thinking": "data",
    "tool_use": "input",
    "server_tool_use": "input",
    "mcp_tool_use": "input",
    "tool_result": "content",
    "compaction": "content",
    "tool": "",
}
REDACTED_TEXT = "[redacted]"
"""What reads back for contents that were removed for good."""
NO_TYPE = "?"
"""Type of a block whose own `type` is missing or no label; it is kept whole as JSON."""
CALL_TYPES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


class Block(Struct, frozen=True, kw_only=True, gc=False):
    """One content block, system block or tool definition, with its contents."""

    type: str
    """`text`, `thinking`, `tool_use`, `tool_result`, `image`, `tool` (a definition) ..."""
    text: str = ""
    """The main value: plain text, or JSON when `is_json`."""
    is_json: bool = False
    is_absent: bool = False
    """The main field was not in the block at all (a tool_result without content)."""
    origin: Origin = "human"
    tool_id: str = ""
    """The call's id, on the call and on its result; pairs them."""
    tool_name: str = ""
    is_error: bool | None = None
    rest: str = ""
    """The other fields as a JSON object, "" when there are none."""
    meta: str = ""
    """Facts the model did not see (exit code, edited path) as a JSON object, "" when none."""


def is_result(block_type: str) -> bool:
    """True for `tool_result` and the provider-run kinds such as `web_search_tool_result`."""
    return block_type.endswith("tool_result")


def is_label(text: object) -> bool:
    """True for short id-like text that may stand in an event; all other text goes to bodies."""
    return isinstance(text, str) and _LABEL.fullmatch(text) is not None


def label(text: object) -> str:
    """Give `text` if it is id-like, else a stable stand-in made from its digest.

    Postcondition: `label(label(text)) == label(text)`.
    """
    if is_label(text):
        return str(text)
    if text is None or text == "":
        return ""
    return "~" + blake2b(to_bytes(to_json(text)), digest_size=9).hexdigest()


def to_json(value: object) -> str:
    """Write JSON compactly, keys in the order they came."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def from_json(text: str) -> Any:
    """Read JSON that this module wrote."""
    return json.loads(text)


def to_bytes(text: str) -> bytes:
    """Encode as UTF-8; lone surrogates of damaged input survive the round trip."""
    return text.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    """Decode what `to_bytes` encoded."""
    return data.decode("utf-8", "surrogatepass")


def digest_of(value: object) -> bytes:
    """Digest parsed JSON: 16 bytes, equal for equal values whatever the order of keys."""
    canonical = json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return blake2b(canonical.encode(), digest_size=16).digest()


def _main_field(block_type: str) -> str:
    if block_type in _MAIN_FIELD:
        return _MAIN_FIELD[block_type]
    return "content" if is_result(block_type) else ""


def block_from(raw: Mapping[str, Any], origin: Origin, *, meta: str = "") -> Block:
    """Split a provider's block (Anthropic shape) into a `Block`.

    Postcondition: `block_value(block_from(raw, origin)) == raw`.
    """
    block_type = raw.get("type")
    if not is_label(block_type):
        return Block(type=NO_TYPE, text=to_json(raw), is_json=True, origin=origin, meta=meta)
    fields = {key: value for key, value in raw.items() if key != "type"}
    main = _main_field(str(block_type))
    if not main:
        return Block(
            type=str(block_type), text=to_json(fields), is_json=True, origin=origin, meta=meta
        )
    is_absent = main not in fields
    value = fields.pop(main, "")
    id_field = "id" if block_type in CALL_TYPES else "tool_use_id"
    tool_id = ""
    if block_type in CALL_TYPES or is_result(str(block_type)):
        tool_id = label(fields.get(id_field))
        if tool_id and tool_id == fields[id_field]:
            del fields[id_field]
    tool_name = ""
    if block_type in CALL_TYPES and is_label(fields.get("name")):
        tool_name = fields.pop("name")
    is_error = fields.pop("is_error") if isinstance(fields.get("is_error"), bool) else None
    is_json = not isinstance(value, str)
    return Block(
        type=str(block_type),
        text=to_json(value) if is_json else value,
        is_json=is_json,
        is_absent=is_absent,
        origin=origin,
        tool_id=tool_id,
        tool_name=tool_name,
        is_error=is_error,
        rest=to_json(fields) if fields else "",
        meta=meta,
    )


def block_value(block: Block) -> dict[str, Any]:
    """Put a block together again as parsed JSON."""
    main = _main_field(block.type)
    if block.type == NO_TYPE:
        return dict(from_json(block.text))
    if not main:
        return {"type": block.type, **from_json(block.text)}
    value: dict[str, Any] = {"type": block.type}
    if block.tool_id:  # `rest` overrides it where it only stands in for an odd id
        value["id" if block.type in CALL_TYPES else "tool_use_id"] = block.tool_id
    if block.tool_name:
        value["name"] = block.tool_name
    if not block.is_absent:
        value[main] = from_json(block.text) if block.is_json else block.text
    if block.is_error is not None:
        value["is_error"] = block.is_error
    if block.rest:
        value.update(from_json(block.rest))
    return value


def tool_from(raw: Mapping[str, Any]) -> Block:
    """Take one tool definition; `type` of the definition itself stays inside."""
    name = raw.get("name")
    return Block(
        type="tool",
        text=to_json(dict(raw)),
        is_json=True,
        origin="system",
        tool_name=name if isinstance(name, str) and is_label(name) else "",
    )


def tool_value(block: Block) -> dict[str, Any]:
    """Give one tool definition back."""
    return dict(from_json(block.text))


def is_opaque(block: Block) -> bool:
    """True for a summary that came encrypted: only its provider can read it."""
    return block.type == "compaction" and block.is_absent and "encrypted_content" in block.rest


def readable(block: Block) -> str:
    """The words of a block for a person: text, a result's text parts, else the JSON."""
    if is_opaque(block):
        return f"[opaque: {len(block.rest)} characters that only the provider can read]"
    if not block.is_json:
        return block.text
    if is_result(block.type):
        parts = from_json(block.text)
        if isinstance(parts, list):
            return "\n".join(_part_text(part) for part in parts)
    return block.text


def _part_text(part: object) -> str:
    if isinstance(part, dict):
        if isinstance(part.get("text"), str):
            return str(part["text"])
        source = part.get("source")
        if isinstance(source, dict) and isinstance(source.get("data"), str):
            kind = f"{part.get('type')} {source.get('media_type', '')}"
            return f"[{kind} {len(source['data'])} base64 chars]"
    return to_json(part)
