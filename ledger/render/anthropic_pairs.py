"""Calls and results as the API wants them: each call answered once, right behind it.

Ids are unique only inside one assistant turn (some servers start again at call_0), so pairs are
found first and named afterwards. Knows nothing about thinking, limits or providers' models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .anthropic_table import MessagesRules, is_server_result
from .anthropic_turns import Part, Turn, merged, safe_name
from .base import Repair

NO_RESULT = "interrupted, no result was recorded"

_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})


class _Call:
    """A call and the results found for it."""

    def __init__(self, part: Part, turn: Turn, given_id: object) -> None:
        self.part, self.turn, self.given_id = part, turn, given_id
        self.result: Part | None = None
        self.result_turn: Turn | None = None
        self.result_number = 0


def pair_tools(turns: Sequence[Turn], rules: MessagesRules, repairs: list[Repair]) -> list[Turn]:
    """Repair client-side calls and results; gives turns of alternating roles."""
    _leave_out_broken_calls(turns, rules, repairs)
    calls = _matched(turns, repairs)
    _name(calls, rules, repairs)
    out: list[Turn] = []
    for index, turn in enumerate(turns):
        out.append(turn)
        own = [call for call in calls if call.turn is turn]
        if own:
            following = turns[index + 1] if index + 1 < len(turns) else None
            out.append(Turn("user", _answers(own, following, repairs)))
    return merged(out)


def _leave_out_broken_calls(
    turns: Sequence[Turn], rules: MessagesRules, repairs: list[Repair]
) -> None:
    for turn in turns:
        for part in [part for part in turn.parts if part.kind == "tool_use"]:
            if not isinstance(part.value.get("input"), dict):
                turn.leave_out(part)
                detail = "A call whose input is no object (cut off) is left out."
                repairs.append(Repair("broken_call", part.item, detail))
                continue
            name = safe_name(part.value.get("name"), rules.tool_name, "unnamed_tool")
            if name != part.value.get("name"):
                part.value["name"] = name
                detail = f"The API does not accept this tool name; sent as {name}."
                repairs.append(Repair("tool_name", part.item, detail))


def _matched(turns: Sequence[Turn], repairs: list[Repair]) -> list[_Call]:
    """Find each result's call: the newest open one of that id, in order inside a turn.

    Results are taken out of their turns; what answers nothing is left out for good.
    """
    calls: list[_Call] = []
    number = 0
    for turn in turns:
        if turn.role == "assistant":
            calls += [
                _Call(part, turn, part.value.get("id", ""))
                for part in turn.parts
                if part.kind == "tool_use"
            ]
            continue
        for part in [part for part in turn.parts if part.kind == "tool_result"]:
            is_behind = turn.parts[0] is not part
            turn.parts.remove(part)
            call = _open_call(calls, part.value.get("tool_use_id", ""))
            if call is None:
                detail = "A result without its call is left out; its neighbours stay."
                repairs.append(Repair("orphan_tool_result", part.item, detail))
                continue
            number += 1
            call.result, call.result_turn, call.result_number = part, turn, number
            if is_behind:
                detail = "Results are sent before the other blocks of their message."
                repairs.append(Repair("moved_tool_result", part.item, detail))
    return calls


def _open_call(calls: Sequence[_Call], given_id: object) -> _Call | None:
    same = [call for call in calls if call.given_id == given_id and call.result is None]
    if not same:
        return None
    newest = same[-1].turn
    return next(call for call in same if call.turn is newest)


def _name(calls: Sequence[_Call], rules: MessagesRules, repairs: list[Repair]) -> None:
    """Give every call an id of its own, and its result the same."""
    used: set[str] = set()
    for number, call in enumerate(calls, 1):
        wanted = safe_name(call.given_id, rules.tool_id, f"call_{number}")
        name, copy = wanted, 1
        while name in used:
            copy += 1
            name = f"{wanted}_{copy}"
        used.add(name)
        if name != call.given_id:
            call.part.value["id"] = name
            detail = f"An empty, unfit or reused call id; the call and its result use {name}."
            repairs.append(Repair("renamed_tool_id", call.part.item, detail))
        if call.result is not None:
            call.result.value["tool_use_id"] = name


def _answers(calls: Sequence[_Call], following: Turn | None, repairs: list[Repair]) -> list[Part]:
    """Results for one turn's calls: those of the next message in their order, then the rest."""
    in_place = [c for c in calls if c.result is not None and c.result_turn is following]
    moved = [c for c in calls if c.result is not None and c.result_turn is not following]
    missing = [c for c in calls if c.result is None]
    in_place.sort(key=lambda call: call.result_number)
    parts = [call.result for call in in_place if call.result is not None]
    for call in moved:
        if call.result is not None:
            parts.append(call.result)
            detail = "A late result is sent right behind its call."
            repairs.append(Repair("moved_tool_result", call.result.item, detail))
    for call in missing:
        value: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": call.part.value["id"],
            "content": NO_RESULT,
            "is_error": True,
        }
        parts.append(Part(value, form="synthetic"))
        detail = "A call without a recorded result gets an error result."
        repairs.append(Repair("missing_tool_result", call.part.item, detail))
    return parts


def pair_server_tools(turns: Sequence[Turn], repairs: list[Repair]) -> list[Turn]:
    """Leave out halves of provider-run calls, and pairs whose result is no longer whole.

    A call may wait for its result only in the newest turn, behind client calls.
    """
    calls: dict[str, tuple[Turn, Part]] = {}
    answered: set[str] = set()
    for turn in turns:
        for part in list(turn.parts):
            if part.kind in _SERVER_CALLS:
                name = str(part.value.get("id"))
                if name in calls or name in answered:
                    _leave_out_server(*calls.pop(name, (turn, part)), repairs)
                if name not in answered:
                    calls[name] = (turn, part)
            elif is_server_result(part.kind):
                name = str(part.value.get("tool_use_id"))
                call = calls.pop(name, None)
                answered.add(name)
                is_whole = part.form in ("verbatim", "reinjected")
                if call is None or not is_whole or call[1].form not in ("verbatim", "reinjected"):
                    _leave_out_server(turn, part, repairs)
                    if call is not None:
                        _leave_out_server(*call, repairs)
    newest = next((turn for turn in reversed(turns) if turn.role == "assistant"), None)
    for turn, part in calls.values():
        if turn is not newest or not any(other.kind == "tool_use" for other in turn.parts):
            _leave_out_server(turn, part, repairs)
    return merged(turns)


def _leave_out_server(turn: Turn, part: Part, repairs: list[Repair]) -> None:
    turn.leave_out(part)
    detail = "A provider-run call and its result are sent together or not at all."
    repairs.append(Repair("server_tool_pair", part.item, detail))
