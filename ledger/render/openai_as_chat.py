"""Units as the messages of a chat completions request.

Reasoning is not sent: this API takes none. Calls of one run become one message; pictures in a
result are shown by a user message behind it. Knows nothing about pairing or parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..content import to_json
from .base import Repair
from .openai_parts import (
    Json,
    arguments_of_input,
    image_url,
    is_own_block,
    part_of_block,
)
from .openai_table import OpenAIRules
from .openai_units import Part, Unit

SEEN_IN_RESULT = "(An image from the tool result above.)"
_THINKING = frozenset({"thinking", "redacted_thinking"})


def has_words(text: object) -> bool:
    """True for text that is worth sending: both APIs refuse an empty one."""
    return isinstance(text, str) and bool(text.strip())


def chat_messages(units: Sequence[Unit], rules: OpenAIRules, repairs: list[Repair]) -> list[Json]:
    """Write the messages; what this API has no place for is left out and listed."""
    messages: list[Json] = []
    shown: list[Json] = []
    for unit in units:
        if unit.role == "tool":
            messages.append(_result(unit.parts[0], shown, repairs))
            continue
        if shown:
            messages.append({"role": "user", "content": list(shown)})
            shown.clear()
        message = _message(unit, rules, repairs)
        if message is None:
            continue
        last = messages[-1] if messages else {}
        is_one = message["role"] == last.get("role") == "assistant"
        if is_one and ("tool_calls" in message or "tool_calls" in last):
            _join(last, message)
        else:
            messages.append(message)
    if shown:
        messages.append({"role": "user", "content": list(shown)})
    return messages


def _join(last: Json, message: Json) -> None:
    """Make two messages of one run one message."""
    if message.get("content") is not None:
        before = last.get("content")
        both = [text for text in (before, message["content"]) if isinstance(text, str)]
        last["content"] = "\n\n".join(both)
    calls = [*last.get("tool_calls", ()), *message.get("tool_calls", ())]
    if calls:
        last["tool_calls"] = calls


def _message(unit: Unit, rules: OpenAIRules, repairs: list[Repair]) -> Json | None:
    calls, content = [], []
    for part in unit.parts:
        if part.is_call:
            calls.append(_call(part))
        elif part.kind in _THINKING:
            detail = "Chat completions take no reasoning."
            repairs.append(Repair("thinking_left_out", part.item, detail))
        else:
            value = _part(part, unit.role, rules)
            if value is None:
                detail = "The API has no such block here; left out."
                repairs.append(Repair("unknown_block", part.item, detail))
            else:
                content.append((part, value))
    if not calls and not content:
        return None
    message: Json = {"role": unit.role}
    if content:
        message["content"] = _content(content, unit.role)
    if calls:
        message["tool_calls"] = calls
    return message


def _content(content: Sequence[tuple[Part, Json]], role: str) -> Any:
    values = [value for _, value in content]
    texts = [value["text"] for value in values if value.keys() == {"type", "text"}]
    is_text = len(texts) == len(values)
    if is_text and (len(values) == 1 or role != "user"):
        return "\n\n".join(texts)
    return values


def _part(part: Part, role: str, rules: OpenAIRules) -> Json | None:
    if part.kind == "text":
        return {"type": "text", "text": part.value["text"]}
    if part.kind == "compaction":
        text = part.value.get("content")
        return {"type": "text", "text": text} if has_words(text) else None
    if role != "user":
        return None
    if part.kind == "image" and picture_url(part.value):
        extras = {k: v for k, v in _extras(part).items() if k == "image"}
        return dict(part_of_block(part.value, extras, "chat", role))
    source = part.value.get("source")
    if part.kind == "document" and isinstance(source, dict) and source.get("type") == "base64":
        name = part.value.get("title") or "document.pdf"
        return {"type": "file", "file": {"filename": name, "file_data": image_url(source)}}
    is_known = part.kind in rules.chat_part_types and not is_own_block(part.kind)
    return part.value if is_known else None


def _extras(part: Part) -> Json:
    """The extras of a part that came alone in its message; others may have moved."""
    extras = part.wire.get("parts", {}).get("0", {})
    return extras if isinstance(extras, dict) else {}


def _call(part: Part) -> Json:
    own = part.wire.get("calls", {}).get("0", {})
    name, value = part.value.get("name"), part.value.get("input")
    if own.get("kind") == "custom" or part.wire.get("item") == "custom_tool_call":
        text = value.get("input") if isinstance(value, dict) else value
        called: Json = {"name": name, "input": text if isinstance(text, str) else to_json(value)}
        return {"id": part.call, "type": "custom", "custom": called}
    called = {"name": name, "arguments": arguments_as_text(value)}
    return {"id": part.call, "type": "function", "function": called}


def arguments_as_text(value: object) -> str:
    """Arguments as the text that both APIs want."""
    written = arguments_of_input(value, {})
    return written if isinstance(written, str) else to_json(value)


def _result(part: Part, shown: list[Json], repairs: list[Repair]) -> Json:
    content = part.value.get("content")
    message: Json = {"role": "tool", "tool_call_id": part.call}
    if isinstance(content, str):
        return {**message, "content": content}
    texts = []
    for inner in content if isinstance(content, list) else [content]:
        if isinstance(inner, dict) and isinstance(inner.get("text"), str):
            texts.append(inner["text"])
        elif picture := picture_url(inner):
            shown.append({"type": "text", "text": SEEN_IN_RESULT})
            shown.append({"type": "image_url", "image_url": {"url": picture}})
            detail = "A result holds text only; its image is sent in a user message behind it."
            repairs.append(Repair("moved_image", part.item, detail))
        elif inner is not None:
            texts.append(to_json(inner))
            detail = "A result of other shape is sent as text."
            repairs.append(Repair("result_as_text", part.item, detail))
    return {**message, "content": "\n".join(texts)}


def picture_url(inner: object) -> str:
    """The URL of an image inside a result, in any provider's shape; "" for anything else."""
    if not isinstance(inner, dict):
        return ""
    given = inner.get("image_url")
    if inner.get("type") == "image" and isinstance(inner.get("source"), dict):
        return image_url(inner["source"])
    if isinstance(given, dict):
        given = given.get("url")
    return given if isinstance(given, str) else ""
