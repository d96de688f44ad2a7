"""A call of OpenAI traffic on its way from the request to the answer.

Knows nothing about which session a call belongs to or how it was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ..content import to_json
from ..drafts import CompleteCall
from ..render.openai_recorded import SplitCall
from ..render.recorded import SplitMessage
from .anthropic_align import Held
from .anthropic_exchange import Exchange
from .anthropic_join import Member
from .openai_answers import outcome_of, stop_reason_of, usage_of
from .openai_chain import Link
from .openai_naming import Naming

Json = dict[str, Any]


class OpenCall(Struct):
    """A call that waits for its answer."""

    member: Member
    call: str
    body: Json
    link: Link
    """What it sent and stood on."""
    dropped_before: str = ""


class Asked(Struct, frozen=True):
    """A request taken apart, before it is joined."""

    body: Json
    split: SplitCall
    digest: bytes
    references: dict[str, str]


def kept_messages(held: Sequence[Held], said: Sequence[SplitMessage]) -> list[Held] | None:
    """The messages of the window that are said again, in order; None when one is new."""
    found: list[Held] = []
    rest = iter(held)
    for message in said:
        same = next((one for one in rest if one.shown == (message.role, message.digests)), None)
        if same is None:
            return None
        found.append(same)
    return found


def marks_of(asked: Asked, member: Member, naming: Naming, chained: int) -> str:
    """What belongs to this one call only (render/openai_recorded), with its window as it stands."""
    split = asked.split
    if not split.is_exact:
        return to_json({"api": split.shape["api"], "request": asked.body})
    shape = dict(split.shape)
    if chained:
        shape["from"] = chained
    if asked.references:
        shape["refs"] = asked.references
    held = member.window.messages[chained:]
    wires = [
        [place, wire]
        for place, (one, wire) in enumerate(zip(held, split.wires, strict=True))
        if naming.wire(one) != wire
    ]
    if wires:
        shape["wires"] = wires
    return to_json(shape)


def completion(exchange: Exchange, call: OpenCall) -> CompleteCall:
    """The draft that completes a call."""
    answer = exchange.answer
    started, ended = exchange.sent_ms, exchange.answered_ms
    return CompleteCall(
        session=call.member.name,
        at_ms=ended,
        call=call.call,
        outcome=outcome_of(answer, exchange.status),
        stop_reason=stop_reason_of(answer),
        usage=usage_of(answer.body) if answer is not None else None,
        latency_ms=max(ended - started, 0) if started and ended else None,
        error=answer.error if answer is not None else "",
        dropped_before=call.dropped_before,
    )
