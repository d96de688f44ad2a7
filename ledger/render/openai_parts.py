"""Content parts, calls and tool definitions of OpenAI bodies, to and from the ledger's blocks.

Blocks have Anthropic's shape where the meaning is the same; what the model did not see (ids of
items, `detail`, how arguments were spaced) is given beside the block as extras. What has no
such shape is kept whole. Every function here has its inverse beside it.
Knows nothing about messages, items or requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from ..content import is_label, to_json

Api = Literal["chat", "responses"]
Json = dict[str, Any]

WHOLE = "openai"
"""Type of a block that holds a part, message or item as it came, in `value`."""

_DATA_URL = re.compile(r"data:(image/[a-z0-9.+-]+);base64,([A-Za-z0-9+/=]*)")
_TEXT_TYPES = {"chat": ("text",), "responses": ("input_text", "output_text")}
_OWN_TYPES = frozenset(
    {"text", "image", "thinking", "redacted_thinking", "tool_use", "tool_result", WHOLE}
)


def whole(value: object) -> Json:
    """A block that keeps a value as it came."""
    return {"type": WHOLE, "value": value}


def block_of_part(part: object, api: Api, role: str) -> tuple[Json, Json]:
    """(block, extras) of one part of a content list.

    Postcondition: `part_of_block(block, extras, api, role) == part`.
    """
    if isinstance(part, dict) and is_label(part.get("type")):
        block, extras = _split_part(part, api, role)
        if part_of_block(block, extras, api, role) == part:
            return block, extras
    return whole(part), {}


def _split_part(part: Json, api: Api, role: str) -> tuple[Json, Json]:
    kind = part.get("type")
    rest = {key: value for key, value in part.items() if key != "type"}
    if kind in _TEXT_TYPES[api] and isinstance(rest.get("text"), str):
        text = rest.pop("text")
        extras = {**rest, **({} if kind == text_type(api, role) else {"type": kind})}
        return {"type": "text", "text": text}, extras
    if kind == "refusal" and isinstance(rest.get("refusal"), str):
        text = rest.pop("refusal")
        return {"type": "text", "text": text}, {**rest, "type": kind}
    if kind == "image_url" and isinstance(rest.get("image_url"), dict):
        image = dict(rest.pop("image_url"))
        if isinstance(image.get("url"), str):
            return _image(image.pop("url")), {**rest, **({"image": image} if image else {})}
    if kind == "input_image" and isinstance(rest.get("image_url"), str):
        return _image(rest.pop("image_url")), rest
    return dict(part), {}


def text_type(api: Api, role: str) -> str:
    """The type of a text part that goes without saying."""
    if api == "chat":
        return "text"
    return "output_text" if role == "assistant" else "input_text"


def part_of_block(block: Mapping[str, Any], extras: Json, api: Api, role: str) -> Any:
    """The part that a block was made from; for a block of another provider, the nearest."""
    kind = block.get("type")
    if kind == WHOLE:
        return block.get("value")
    if kind == "text":
        rest = {key: value for key, value in extras.items() if key != "type"}
        name = extras.get("type", text_type(api, role))
        field = "refusal" if name == "refusal" else "text"
        return {"type": name, field: block.get("text", ""), **rest}
    if kind == "image" and isinstance(block.get("source"), dict):
        url = image_url(block["source"])
        if api == "chat":
            rest = {key: value for key, value in extras.items() if key != "image"}
            return {
                "type": "image_url",
                "image_url": {"url": url, **extras.get("image", {})},
                **rest,
            }
        return {"type": "input_image", "image_url": url, **extras}
    return dict(block)


def _image(url: str) -> Json:
    found = _DATA_URL.fullmatch(url)
    if found is None:
        return {"type": "image", "source": {"type": "url", "url": url}}
    source = {"type": "base64", "media_type": found[1], "data": found[2]}
    return {"type": "image", "source": source}


def image_url(source: Mapping[str, Any]) -> str:
    """The URL of an image source: its own, or its data in a `data:` URL."""
    if source.get("type") == "base64":
        return f"data:{source.get('media_type')};base64,{source.get('data')}"
    return str(source.get("url", ""))


def is_own_block(block_type: object) -> bool:
    """True for types that stand for something else in OpenAI bodies."""
    return not is_label(block_type) or block_type in _OWN_TYPES


# -- arguments ----------------------------------------------------------------------------------


def input_of_arguments(arguments: object) -> tuple[Any, Json]:
    """(input, extras) of a call's arguments: an object when they are one, else the text itself.

    Postcondition: `arguments_of_input(input, extras) == arguments`.
    """
    if isinstance(arguments, dict):
        return arguments, {"json": "object"}
    if not isinstance(arguments, str):
        return "", {"json": "raw", "arguments": arguments}
    value = _parsed(arguments)
    if not isinstance(value, dict):
        return arguments, {}
    for style in ("compact", "spaced", "ascii", "spaced-ascii"):
        if _written(value, style) == arguments:
            return value, {} if style == "compact" else {"json": style}
    return value, {"json": "raw", "arguments": arguments}


def arguments_of_input(value: object, extras: Mapping[str, Any]) -> Any:
    """The arguments as they were written; a changed input is written compactly."""
    style = extras.get("json", "compact")
    if style == "raw":
        return extras.get("arguments")
    if style == "object" or isinstance(value, str):
        return value
    return _written(value, style)


def _parsed(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text, parse_constant=_refuse)
        to_json(value)
    except (ValueError, RecursionError):
        return None
    return value


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _written(value: object, style: str) -> str:
    is_spaced = style.startswith("spaced")
    return json.dumps(
        value,
        ensure_ascii=style.endswith("ascii"),
        separators=(", ", ": ") if is_spaced else (",", ":"),
    )


# -- tool definitions ---------------------------------------------------------------------------


def definition_of_tool(raw: Json, api: Api) -> Json:
    """A function as a definition in the ledger's shape; other tools stay as they are.

    Postcondition: `tool_of_definition(definition, api) == raw`.
    """
    fields = raw.get("function") if api == "chat" else raw
    is_function = raw.get("type") == "function" and isinstance(fields, dict)
    if not is_function or (api == "chat" and raw.keys() != {"type", "function"}):
        return raw
    assert isinstance(fields, dict), "BUG: checked above"
    named = {"input_schema" if k == "parameters" else k: v for k, v in fields.items()}
    definition = named if api == "chat" else {k: v for k, v in named.items() if k != "type"}
    is_exact = (
        isinstance(definition.get("name"), str) and tool_of_definition(definition, api) == raw
    )
    return definition if is_exact else raw


def tool_of_definition(definition: Json, api: Api) -> Json:
    """The tool as OpenAI wants it; a definition without a `type` is a function."""
    if "type" in definition:
        return definition
    fields = {"parameters" if k == "input_schema" else k: v for k, v in definition.items()}
    if api == "chat":
        return {"type": "function", "function": fields}
    return {"type": "function", **fields}
