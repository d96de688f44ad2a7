"""Any window as a request that OpenAI's APIs accept, with a list of what was repaired.

Repairs happen here and never in the log: calls and results paired, empty texts left out,
reasoning whole or not at all, what only another provider can read left out.
Knows nothing about versions or storage; the rules are data in `openai_table`.

    openai_units (pairs)  ->  openai_as_chat | openai_as_items  ->  the body
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..content import block_value, from_json, tool_value
from .anthropic import Rendering
from .anthropic_turns import safe_name
from .base import Placed, Repair
from .openai_as_chat import chat_messages, has_words
from .openai_as_items import response_items
from .openai_parts import Api, Json, tool_of_definition
from .openai_recorded import META, SYSTEM_ROLES, divided
from .openai_table import RULES, OpenAIRules
from .openai_units import Unit, paired, units_from

GO_ON = "Continue."

_NOT_PARAMS = frozenset(
    {"messages", "input", "tools", "instructions", "stream", "stream_options", "background",
     "previous_response_id", "conversation"}
)  # fmt: skip
_LIMITS = {
    "chat": ("max_completion_tokens", "max_tokens"),
    "responses": ("max_output_tokens",),
}
_FUNCTION_FIELDS = ("name", "description", "input_schema", "strict")


def render_for_openai(
    placed: Sequence[Placed],
    *,
    api: Api,
    model: str,
    max_tokens: int = 0,
    params: str = "",
    rules: OpenAIRules = RULES,
) -> Rendering:
    """Render a window so that the API accepts it.

    Args:
        placed: the window, in its order: tools, system, messages.
        api: chat completions or Responses.
        model: who is asked.
        max_tokens: the output limit of the call; 0 = as in `params`.
        params: other fields of the body as JSON (temperature, reasoning ...), "" for none.
        rules: limits to keep; a provider with others passes its own.

    Postcondition: `check_openai(rendering.body, rules) == ()`.
    """
    repairs: list[Repair] = []
    tools, system, _ = divided(placed)
    given = from_json(params) if params else {}
    body: Json = {"model": model}
    body.update({k: v for k, v in given.items() if k not in _NOT_PARAMS and k not in body})
    _set_limit(body, api, max_tokens)
    definitions = _definitions(tools, api, rules, repairs)
    if definitions:
        body["tools"] = definitions
    _settle_choice(body, definitions)
    pattern = rules.chat_call_id if api == "chat" else rules.response_call_id
    units = paired(_sendable(units_from(placed), rules, repairs), pattern, repairs)
    texts = _system_texts(system, repairs)
    if api == "chat":
        front = [{"role": role, "content": text} for role, text in texts]
        messages = chat_messages(units, rules, repairs)
        body["messages"] = [*front, *(messages or _go_on(repairs))]
        return Rendering(body, tuple(repairs))
    if texts:
        body["instructions"] = "\n\n".join(text for _, text in texts)
    body["input"] = response_items(units, model, rules, repairs) or _go_on(repairs)
    return Rendering(body, tuple(repairs))


def _go_on(repairs: list[Repair]) -> list[Json]:
    repairs.append(Repair("user_message_added", "", "The window holds no message."))
    return [{"role": "user", "content": GO_ON}]


def _set_limit(body: Json, api: Api, max_tokens: int) -> None:
    names = _LIMITS[api]
    if max_tokens:
        named = next((name for name in names if name in body), names[0])
        body[named] = max_tokens


def _settle_choice(body: Json, definitions: Sequence[Json]) -> None:
    """Leave out choices among tools that are not there."""
    names = {_name_of(definition) for definition in definitions}
    choice = body.get("tool_choice")
    fields = choice if isinstance(choice, dict) else {}
    chosen = fields.get("name") or (fields.get("function") or {}).get("name")
    if not definitions or (isinstance(chosen, str) and chosen not in names):
        body.pop("tool_choice", None)
    if not definitions:
        body.pop("parallel_tool_calls", None)


def _name_of(definition: Json) -> Any:
    inner = definition.get("function", definition.get("custom"))
    return (inner if isinstance(inner, dict) else definition).get("name")


def _sendable(units: list[Unit], rules: OpenAIRules, repairs: list[Repair]) -> list[Unit]:
    """Leave out what neither API has, and name tools as they accept it."""
    for unit in units:
        for part in list(unit.parts):
            if part.kind == "text" and not has_words(part.value.get("text")):
                _leave(unit, part, "empty_text", "Text without a word is left out.", repairs)
            elif part.form == "opaque" and part.kind != "compaction":
                _leave(unit, part, "unknown_block", "Its contents are not known.", repairs)
            elif part.is_call:
                name = safe_name(part.value.get("name"), rules.tool_name, "unnamed_tool")
                if name != part.value.get("name"):
                    detail = f"The API does not accept this tool name; sent as {name}."
                    repairs.append(Repair("tool_name", part.item, detail))
                    part.value["name"] = name
    return [unit for unit in units if unit.parts]


def _leave(unit: Unit, part: Any, code: str, detail: str, repairs: list[Repair]) -> None:
    unit.parts.remove(part)
    repairs.append(Repair(code, part.item, detail))


def _system_texts(entries: Sequence[Placed], repairs: list[Repair]) -> list[tuple[str, str]]:
    """(role, text) of each system block that says anything."""
    texts = []
    for entry in entries:
        value = block_value(entry.block)
        text = value.get("text")
        if not has_words(text):
            repairs.append(Repair("empty_text", entry.item, "Text without a word is left out."))
            continue
        meta = from_json(entry.block.meta) if entry.block.meta else {}
        role = meta.get("role") if META not in meta else None
        texts.append((role if role in SYSTEM_ROLES else "system", str(text)))
    return texts


def _definitions(
    entries: Sequence[Placed], api: Api, rules: OpenAIRules, repairs: list[Repair]
) -> list[Json]:
    """Tools that the API has, each name once."""
    allowed = rules.chat_tool_types if api == "chat" else rules.response_tool_types
    values: list[Json] = []
    seen: set[str] = set()
    for entry in entries:
        value = _definition(tool_value(entry.block), api, rules)
        name = _name_of(value)
        is_named = isinstance(name, str) and name != ""
        detail = ""
        if str(value.get("type")) not in allowed or (_needs_name(value) and not is_named):
            detail = "The API has no such tool; left out."
            repairs.append(Repair("unknown_tool", entry.item, detail))
        elif is_named and name in seen:
            detail = "A tool of this name is defined already; left out."
            repairs.append(Repair("duplicate_tool_definition", entry.item, detail))
        elif len(values) >= rules.tools_max:
            detail = f"A request has {rules.tools_max} tools at most; left out."
            repairs.append(Repair("tools_over_limit", entry.item, detail))
        if not detail:
            seen.add(str(name))
            values.append(value)
    return values


def _needs_name(value: Json) -> bool:
    return value.get("type") in ("function", "custom")


def _definition(definition: Json, api: Api, rules: OpenAIRules) -> Json:
    """A definition as the API writes it, whichever API or provider it was made for."""
    fields = dict(definition)
    inner = fields.get("function")
    if fields.get("type") == "custom" and "input_schema" in fields:
        del fields["type"]  # a client tool as Anthropic names it
    elif fields.get("type") == "function":
        named = (
            inner if isinstance(inner, dict) else {k: v for k, v in fields.items() if k != "type"}
        )
        fields = {"input_schema" if k == "parameters" else k: v for k, v in named.items()}
    if fields.get("type") == "custom":
        return _custom(fields, api, rules)
    if "type" in fields:
        return fields
    kept = {k: fields[k] for k in _FUNCTION_FIELDS if fields.get(k) is not None}
    kept["name"] = safe_name(kept.get("name"), rules.tool_name, "unnamed_tool")
    return tool_of_definition(kept, api)


def _custom(fields: Json, api: Api, rules: OpenAIRules) -> Json:
    """A tool that takes plain text, as either API writes it."""
    inner = fields.get("custom")
    named = (
        dict(inner) if isinstance(inner, dict) else {k: v for k, v in fields.items() if k != "type"}
    )
    named["name"] = safe_name(named.get("name"), rules.tool_name, "unnamed_tool")
    return {"type": "custom", "custom": named} if api == "chat" else {"type": "custom", **named}
