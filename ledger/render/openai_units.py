"""The messages of an OpenAI request while they are being repaired: units of parts.

A part is one block with the item that it came from; a unit is what one message of the window
says. Calls and results are paired here: each call answered once, right behind the units that
call. Knows nothing about how either API writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..content import CALL_TYPES, block_value, from_json
from .base import Placed, Repair
from .openai_parts import Json
from .openai_recorded import CALL_ID, META, divided

NO_RESULT = "interrupted, no result was recorded"
_ROLES = {"model": "assistant", "function": "tool"}
_SPOKEN = frozenset({"system", "developer", "user", "assistant"})


class Part:
    """One block to be sent."""

    def __init__(self, entry: Placed | None, value: Json) -> None:
        block = entry.block if entry is not None else None
        meta = from_json(block.meta) if block is not None and block.meta else {}
        self.value = value
        self.item = entry.item if entry is not None else ""
        self.form = entry.form if entry is not None else "synthetic"
        self.meta: Json = meta
        self.wire: Json = meta.get(META) or {}
        self.call = ""
        """Of calls and results: the id they are sent with."""
        self.answers: Part | None = None
        """Of a result: its call."""
        given = meta[CALL_ID] if CALL_ID in meta else value.get("id", value.get("tool_use_id"))
        self.given = (block.tool_id if block is not None else "") or str(given or "")
        """The id that pairs it in the window."""

    @property
    def kind(self) -> str:
        """The block's type."""
        return str(self.value.get("type"))

    @property
    def is_call(self) -> bool:
        """True for a call that the client answers."""
        return self.kind == "tool_use"

    @property
    def is_result(self) -> bool:
        """True for the answer to such a call."""
        return self.kind == "tool_result"

    @property
    def is_whole(self) -> bool:
        """True when it is shown as it was recorded."""
        return self.form in ("verbatim", "reinjected")


class Unit:
    """What one message says: parts of one role; results stand in units of their own."""

    def __init__(self, role: str, parts: Sequence[Part]) -> None:
        self.role, self.parts = role, list(parts)


def units_from(placed: Sequence[Placed]) -> list[Unit]:
    """The messages of a window as units, in order."""
    units: list[Unit] = []
    for entries in divided(placed)[2]:
        role = _ROLES.get(entries[0].role, entries[0].role)
        parts = [Part(entry, block_value(entry.block)) for entry in entries]
        for part in parts:
            own = _role_of(part, role)
            if units and parts[0] is not part and units[-1].role == own:
                units[-1].parts.append(part)
            else:
                units.append(Unit(own, [part]))
    return units


def _role_of(part: Part, role: str) -> str:
    if part.is_result:
        return "tool"
    if part.kind in CALL_TYPES or part.kind in ("thinking", "redacted_thinking"):
        return "assistant"
    return role if role in _SPOKEN else "user"


def paired(units: Sequence[Unit], id_pattern: str, repairs: list[Repair]) -> list[Unit]:
    """Put results behind their calls, add missing ones, leave out those without a call."""
    runs = list(_runs(units))
    calls: list[_Call] = []
    order = 0
    for number, run in enumerate(runs):
        is_behind = False
        for unit in run:
            for part in list(unit.parts):
                if part.is_call:
                    calls.append(_Call(part, number))
                elif not part.is_result:
                    is_behind = True
                else:
                    unit.parts.remove(part)
                    call = _open_call(calls, part.given)
                    if call is None:
                        detail = "A result without its call is left out; its neighbours stay."
                        repairs.append(Repair("orphan_tool_result", part.item, detail))
                        continue
                    order += 1
                    call.result, call.order = part, order
                    call.is_late = is_behind or number != call.run + 1
    _name(calls, id_pattern, repairs)
    out: list[Unit] = []
    for number, run in enumerate(runs):
        out += [unit for unit in run if unit.parts]
        own = [call for call in calls if call.run == number]
        out += [Unit("tool", [part]) for part in _answers(own, repairs)]
    return out


class _Call:
    """A call and the result found for it."""

    def __init__(self, part: Part, run: int) -> None:
        self.part, self.run = part, run
        self.result: Part | None = None
        self.order = 0
        self.is_late = False
        """Something stands between the call and its result."""


def _runs(units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Neighbours that belong together: what the assistant says in one go, or the rest."""
    run: list[Unit] = []
    for unit in units:
        if run and (run[-1].role == "assistant") != (unit.role == "assistant"):
            yield run
            run = []
        run.append(unit)
    if run:
        yield run


def _open_call(calls: Sequence[_Call], given: str) -> _Call | None:
    """The oldest open call of that id, in the newest run that has one."""
    same = [call for call in calls if call.part.given == given and call.result is None]
    return next((call for call in same if call.run == same[-1].run), None)


def _name(calls: Sequence[_Call], pattern: str, repairs: list[Repair]) -> None:
    """Give every call an id of its own, and its result the same."""
    used: set[str] = set()
    for number, call in enumerate(calls, 1):
        given = call.part.given
        wanted = given if re.fullmatch(pattern, given) else f"call_{number}"
        name, copy = wanted, 1
        while name in used:
            copy += 1
            name = f"{wanted}_{copy}"[-40:]
        used.add(name)
        if name != given:
            detail = f"An empty, unfit or reused call id; the call and its result use {name}."
            repairs.append(Repair("renamed_tool_id", call.part.item, detail))
        call.part.call = name
        if call.result is not None:
            call.result.call, call.result.answers = name, call.part


def _answers(calls: Sequence[_Call], repairs: list[Repair]) -> Iterator[Part]:
    """Results of one run's calls in their order, then synthetic ones for the rest."""
    for call in sorted(calls, key=lambda call: (call.result is None, call.order)):
        if call.result is None:
            value: dict[str, Any] = {"type": "tool_result", "content": NO_RESULT}
            part = Part(None, value)
            part.call, part.answers = call.part.call, call.part
            detail = "A call without a recorded result gets one that says so."
            repairs.append(Repair("missing_tool_result", call.part.item, detail))
            yield part
            continue
        if call.is_late:
            detail = "A late result is sent right behind its call."
            repairs.append(Repair("moved_tool_result", call.result.item, detail))
        yield call.result
