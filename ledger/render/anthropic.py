"""Any window as a request that the Messages API accepts, with a list of what was repaired.

Repairs happen here and never in the log: calls and results paired, empty texts left out, thinking
whole or not at all, images and cache marks within the limits. Contents are never changed.
Knows nothing about versions or storage; the rules are data in `anthropic_table`.

    anthropic_turns -> anthropic_pairs -> anthropic_thinking -> anthropic_limits
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from msgspec import Struct

from ..content import from_json, tool_value
from .anthropic_limits import fit_cache_marks, fit_images
from .anthropic_pairs import pair_server_tools, pair_tools
from .anthropic_table import RULES, MessagesRules, can_prefill, is_thinking_on
from .anthropic_thinking import settle_thinking, settle_thinking_params
from .anthropic_turns import (
    Part,
    Turn,
    compactions_as_text,
    merged,
    safe_name,
    sendable,
    turns_from,
)
from .base import Placed, Repair

EARLIER_LEFT_OUT = "(The beginning of this conversation is not in the window.)"
GO_ON = "Continue."

_HEAD = frozenset({"tools", "system"})
_NOT_PARAMS = frozenset({"system", "tools", "messages", "stream"})


class Rendering(Struct, frozen=True):
    """A request body and what had to be done for it to be valid."""

    body: dict[str, Any]
    repairs: tuple[Repair, ...]


def render_for_sending(
    placed: Sequence[Placed],
    *,
    model: str,
    max_tokens: int,
    params: str = "",
    rules: MessagesRules = RULES,
) -> Rendering:
    """Render a window so that the API accepts it.

    Args:
        placed: the window, in its order: tools, system, messages.
        model: who is asked; decides about thinking and how the conversation may end.
        max_tokens: the output limit of the call.
        params: other fields of the body as JSON (temperature, thinking ...), "" for none.
        rules: limits to keep; a provider with others passes its own.

    Postcondition: `check_request(rendering.body, rules) == ()`.
    """
    repairs: list[Repair] = []
    tools = [entry for entry in placed if entry.role == "tools"]
    head = list(takewhile(lambda entry: entry.role in _HEAD, placed))
    system = [entry for entry in head if entry.role == "system"]
    rest = [entry for entry in placed[len(head) :] if entry.role != "tools"]

    given = from_json(params) if params else {}
    turns = turns_from(rest, rules, repairs)
    compactions_as_text(turns, given, repairs)
    turns = merged(turns)
    turns = pair_tools(turns, rules, repairs)
    turns = pair_server_tools(turns, repairs)
    turns = settle_thinking(turns, model, rules, repairs)
    turns = _with_user_first(turns, repairs)
    is_thinking = is_thinking_on(given)
    turns = _with_good_end(turns, not is_thinking and can_prefill(model, rules), repairs)
    fit_images(turns, rules, repairs)

    body: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
    body.update({k: v for k, v in given.items() if k not in _NOT_PARAMS and k not in body})
    definitions = _definitions(tools, rules, repairs)
    if definitions:
        body["tools"] = definitions
    texts = _system(system, repairs)
    if texts:
        body["system"] = texts
    body["messages"] = [turn.message for turn in turns]
    _settle_tool_choice(body, rules, repairs)
    settle_thinking_params(body, turns, rules, repairs)
    fit_cache_marks(body, rules, repairs)
    return Rendering(body, tuple(repairs))


def _definitions(
    tools: Sequence[Placed], rules: MessagesRules, repairs: list[Repair]
) -> list[dict[str, Any]]:
    """Tool definitions in their order; a name is defined once."""
    values: list[dict[str, Any]] = []
    seen: set[str] = set()
    for entry in tools:
        given = tool_value(entry.block)
        value = {key: field for key, field in given.items() if field is not None}
        if len(value) < len(given):
            detail = "Fields of the tool definition that are null; left out."
            repairs.append(Repair("null_tool_field", entry.item, detail))
        name = value.get("name")
        if isinstance(name, str):
            value["name"] = safe_name(name, rules.tool_name, "unnamed_tool")
            if value["name"] in seen:
                detail = "A tool of this name is defined already; left out."
                repairs.append(Repair("duplicate_tool_definition", entry.item, detail))
                continue
            seen.add(value["name"])
        values.append(value)
    return values


def _settle_tool_choice(body: dict[str, Any], rules: MessagesRules, repairs: list[Repair]) -> None:
    """Leave out a choice among tools that this window does not define."""
    choice = body.get("tool_choice")
    if choice is None:
        return
    names = {tool.get("name") for tool in body.get("tools", ())}
    is_fitting = bool(names)
    if isinstance(choice, dict) and choice.get("type") == "tool":
        name = safe_name(choice.get("name"), rules.tool_name, "unnamed_tool")
        body["tool_choice"] = {**choice, "name": name}
        is_fitting = name in names
    if not is_fitting:
        del body["tool_choice"]
        detail = "The chosen tool is not defined in this window."
        repairs.append(Repair("tool_choice_left_out", "", detail))


def _system(entries: Sequence[Placed], repairs: list[Repair]) -> list[dict[str, Any]]:
    values = []
    for entry in entries:
        value = sendable(entry.block, entry.item, repairs)
        if value.get("type") == "text" and not str(value.get("text", "")).strip():
            repairs.append(Repair("empty_text", entry.item, "Text without a word is left out."))
        else:
            values.append(value)
    return values


def _with_user_first(turns: list[Turn], repairs: list[Repair]) -> list[Turn]:
    """A cut may leave an assistant message in front: its calls stay, a mere text leaves."""
    if turns and turns[0].role == "assistant":
        has_calls = any(part.kind.endswith("tool_use") for part in turns[0].parts)
        if len(turns) > 1 and not has_calls:
            detail = "The window began with an assistant message whose question is not in it."
            repairs += [Repair("leading_assistant", part.item, detail) for part in turns[0].parts]
            turns = turns[1:]
        else:
            repairs.append(Repair("user_message_added", "", "A conversation begins with the user."))
            turns = [_user_says(EARLIER_LEFT_OUT), *turns]
    return merged(turns)


def _with_good_end(turns: list[Turn], may_prefill: bool, repairs: list[Repair]) -> list[Turn]:
    if not turns:
        repairs.append(Repair("user_message_added", "", "The window holds no message."))
        return [_user_says(GO_ON)]
    last = turns[-1]
    text = str(last.parts[-1].value.get("text", ""))
    is_clean = last.parts[-1].kind == "text" and text == text.rstrip()
    if last.role == "user" or (may_prefill and is_clean):
        return turns
    detail = "The window ends with an assistant message; the model answers a user message."
    repairs.append(Repair("user_message_added", "", detail))
    return [*turns, _user_says(GO_ON)]


def _user_says(text: str) -> Turn:
    turn = Turn("user", [Part({"type": "text", "text": text}, form="synthetic")])
    turn.is_lone = True
    return turn
