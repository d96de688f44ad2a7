"""Units as the items of a Responses request.

Reasoning is sent only with its encrypted form, for the model that made it, and with what
followed it; ids of other items are left out, so that nothing depends on what the provider
stored. Knows nothing about pairing or parameters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..content import to_json
from .base import Repair
from .openai_as_chat import arguments_as_text, has_words, picture_url
from .openai_items import item_of_piece
from .openai_parts import Json, image_url, part_of_block
from .openai_table import OpenAIRules
from .openai_units import Part, Unit

_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_THINKING = frozenset({"thinking", "redacted_thinking"})
_CLIENT_CALLS = ("function_call", "custom_tool_call")
_PAIRED = frozenset(
    {"computer_call_output", "local_shell_call_output", "shell_call_output",
     "apply_patch_call_output"}
)  # fmt: skip


def response_items(
    units: Sequence[Unit], model: str, rules: OpenAIRules, repairs: list[Repair]
) -> list[Json]:
    """Write the items; what this API has no place for is left out and listed."""
    items: list[tuple[Part, Json]] = []
    for unit in units:
        items += _items(unit, model, rules, repairs)
    return _settled(items, repairs)


def _items(
    unit: Unit, model: str, rules: OpenAIRules, repairs: list[Repair]
) -> list[tuple[Part, Json]]:
    found: list[tuple[Part, Json]] = []
    content: list[tuple[Part, Json]] = []
    for part in unit.parts:
        item, reason = _own_item(part, model, rules)
        if item is not None:
            found += _said(content, unit.role)
            content = []
            found.append((part, item))
            continue
        value = None if reason else _part(part, unit.role, rules)
        if value is not None:
            content.append((part, value))
            continue
        code = "thinking_left_out" if part.kind in _THINKING else "unknown_block"
        repairs.append(Repair(code, part.item, reason or "The API has no such block here."))
    return [*found, *_said(content, unit.role)]


def _said(content: Sequence[tuple[Part, Json]], role: str) -> list[tuple[Part, Json]]:
    if not content:
        return []
    values = [value for _, value in content]
    is_text = len(values) == 1 and values[0].keys() == {"type", "text"}
    text: Any = values[0]["text"] if is_text else values
    return [(content[0][0], {"role": role, "content": text})]


def _own_item(part: Part, model: str, rules: OpenAIRules) -> tuple[Json | None, str]:
    """(item, "") of a part that is one; (None, reason) of one that may not be sent."""
    if part.is_call:
        return _call(part), ""
    if part.is_result:
        return {
            "type": _kind_of_output(part),
            "call_id": part.call,
            "output": _output(part.value.get("content")),
        }, ""
    if part.kind in _THINKING:
        reason = _reason_against(part, model, rules)
        return (None, reason) if reason else (_reasoning(part), "")
    if part.kind == "compaction" and isinstance(part.value.get("encrypted_content"), str):
        if not part.is_whole and part.form not in ("brief", "opaque"):
            return None, "It is not whole."
        return dict(item_of_piece("assistant", [part.value], part.wire)), ""
    if part.kind in rules.own_items:
        return (part.value, "") if part.is_whole else (None, "It is not whole.")
    return None, ""


def _reasoning(part: Part) -> Json:
    item = dict(item_of_piece("assistant", [part.value], part.wire))
    return {k: v for k, v in item.items() if k != "status"}


def _reason_against(part: Part, model: str, rules: OpenAIRules) -> str:
    if not part.is_whole:
        return "Its contents are not whole."
    secret = part.value.get("data" if part.kind == "redacted_thinking" else "encrypted_content")
    name = (part.wire.get("fields") or {}).get("id")
    if not isinstance(secret, str) or not isinstance(name, str):
        return "It has no encrypted form of this provider."
    made_by = part.meta.get("model")
    is_foreign = isinstance(made_by, str) and _DATE.sub("", made_by) != _DATE.sub("", model)
    return "Another model made it." if rules.reasoning_is_model_bound and is_foreign else ""


def _call(part: Part) -> Json:
    value, name = part.value.get("input"), part.value.get("name")
    if _is_custom(part):
        text = value.get("input") if isinstance(value, dict) else value
        text = text if isinstance(text, str) else to_json(value)
        return {"type": "custom_tool_call", "call_id": part.call, "name": name, "input": text}
    arguments = arguments_as_text(value)
    return {"type": "function_call", "call_id": part.call, "name": name, "arguments": arguments}


def _is_custom(part: Part) -> bool:
    own = part.wire.get("calls", {}).get("0", {})
    return part.wire.get("item") == "custom_tool_call" or own.get("kind") == "custom"


def _kind_of_output(part: Part) -> str:
    is_custom = part.answers is not None and _is_custom(part.answers)
    return "custom_tool_call_output" if is_custom else "function_call_output"


def _output(content: object) -> Any:
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    parts: list[Json] = []
    for inner in content if isinstance(content, list) else [content]:
        if isinstance(inner, dict) and isinstance(inner.get("text"), str):
            parts += (
                [{"type": "input_text", "text": inner["text"]}] if has_words(inner["text"]) else []
            )
        elif picture := picture_url(inner):
            parts.append({"type": "input_image", "image_url": picture})
        elif isinstance(inner, dict) and inner.get("type") in ("input_image", "input_file"):
            parts.append(inner)
        else:
            parts.append({"type": "input_text", "text": to_json(inner)})
    return parts or ""


def _part(part: Part, role: str, rules: OpenAIRules) -> Json | None:
    name = "output_text" if role == "assistant" else "input_text"
    if part.kind == "text":
        return {"type": name, "text": part.value["text"]}
    if part.kind == "compaction":
        text = part.value.get("content")
        return {"type": name, "text": text} if has_words(text) else None
    if role != "user":
        return None
    if part.kind == "image" and picture_url(part.value):
        return dict(part_of_block(part.value, {}, "responses", role))
    source = part.value.get("source")
    if part.kind == "document" and isinstance(source, dict) and source.get("type") == "base64":
        title = part.value.get("title") or "document.pdf"
        return {"type": "input_file", "filename": title, "file_data": image_url(source)}
    return part.value if part.kind in rules.response_part_types else None


def _settled(items: list[tuple[Part, Json]], repairs: list[Repair]) -> list[Json]:
    """Leave out reasoning without what followed it, and halves of a provider's own pairs."""
    halves = _halves([item for _, item in items])
    out: list[tuple[Part, Json]] = []
    for place, (part, item) in enumerate(items):
        if place in halves:
            detail = "A provider's call and its result are sent together or not at all."
            repairs.append(Repair("server_tool_pair", part.item, detail))
        else:
            out.append((part, item))
    kept: list[Json] = []
    for part, item in reversed(out):
        if item.get("type") == "reasoning" and not (kept and _is_said(kept[-1])):
            detail = "What followed it is not in the window."
            repairs.append(Repair("thinking_left_out", part.item, detail))
        else:
            kept.append(item)
    return kept[::-1]


def _halves(items: Sequence[Json]) -> set[int]:
    """Places of own calls and outputs that find no partner, or whose id another call has."""
    used = {item.get("call_id") for item in items if item.get("type") in _CLIENT_CALLS}
    waiting: dict[tuple[str, str], int] = {}
    alone: set[int] = set()
    for place, item in enumerate(items):
        kind, name = str(item.get("type")), item.get("call_id")
        is_call = f"{kind}_output" in _PAIRED
        if is_call and isinstance(name, str) and name not in used:
            used.add(name)
            waiting[f"{kind}_output", name] = place
            alone.add(place)
        elif is_call:
            alone.add(place)
        elif kind in _PAIRED:
            call = waiting.pop((kind, str(name)), None)
            alone = alone - {call} if call is not None else alone | {place}
    return alone


def _is_said(item: Json) -> bool:
    """True for what a model says or does after reasoning."""
    kind = str(item.get("type", ""))
    return kind == "reasoning" or kind.endswith("_call") or item.get("role") == "assistant"
