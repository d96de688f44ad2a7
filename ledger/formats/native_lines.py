"""One native line to one draft, for each type of line but `session`.

A reader takes the line and its session, and raises `WrongShape`; `at` and `actor` are filled
in by the fold. Knows nothing about the order of lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast, get_args

from ..content import tool_from
from ..drafts import (
    AnyDraft,
    AppendMessage,
    Cause,
    ChangePhase,
    CompleteCall,
    EvictItems,
    ExtendMessage,
    ImportCompaction,
    Keep,
    NewBlocks,
    Note,
    ReinjectItems,
    RewriteWindow,
    SetSystem,
    SetTools,
    StartCall,
)
from .native_fields import (
    Fields,
    WrongShape,
    blocks_field,
    brief_field,
    choice_field,
    count_field,
    flag_field,
    id_field,
    items_field,
    json_field,
    role_field,
    text_field,
    usage_field,
)

Outcome = Literal["ok", "error", "refused", "cut_off", "overflow", "unknown"]
_OUTCOME_OF_STOP = {
    "refusal": "refused",
    "max_tokens": "cut_off",
    "model_context_window_exceeded": "overflow",
}


def read_message(line: Fields, session: str) -> AnyDraft:
    """`message`: a new one, or with `message` late blocks of an earlier one.

    The role of late blocks only serves their origin, so it may be left out when that is given.
    """
    extended = id_field(line, "message")
    is_role_needed = not extended or line.get("origin") is None
    role = role_field(line) if is_role_needed else ""
    blocks = blocks_field(line, "content", role)
    if extended:
        return ExtendMessage(session=session, message=extended, blocks=blocks)
    return AppendMessage(session=session, role=role, blocks=blocks, message=id_field(line, "id"))


def read_system(line: Fields, session: str) -> AnyDraft:
    """`system`: the system blocks in force from here on; empty content = none."""
    is_empty = line.get("content") in ("", [])
    return SetSystem(
        session=session, blocks=() if is_empty else blocks_field(line, "content", "system")
    )


def read_tools(line: Fields, session: str) -> AnyDraft:
    """`tools`: the tool definitions in force from here on."""
    tools = line.get("tools")
    if tools is None:
        raise WrongShape("no_tools")
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise WrongShape("bad_tools")
    return SetTools(session=session, tools=tuple(map(tool_from, tools)))


def read_call(line: Fields, session: str) -> AnyDraft:
    """`call`: a request was sent; its id is `call`, else `id`."""
    return StartCall(
        session=session,
        call=id_field(line, "call") or id_field(line, "id") or _missing("no_call"),
        model=text_field(line, "model"),
        params=json_field(line, "params", dict),
        is_retry=flag_field(line, "retry"),
    )


def read_result(line: Fields, session: str) -> AnyDraft:
    """`result`: what came back of a call."""
    usage, iterations = usage_field(line)
    stop_reason = text_field(line, "stop_reason")
    error = line.get("error")
    error_text = error if isinstance(error, str) else json_field(line, "error", dict)
    default = "error" if error_text else _OUTCOME_OF_STOP.get(stop_reason, "ok")
    outcome = choice_field(line, "outcome", get_args(Outcome), default)
    return CompleteCall(
        session=session,
        call=id_field(line, "call", is_needed=True),
        outcome=cast("Outcome", outcome),
        stop_reason=stop_reason,
        usage=usage,
        iterations=iterations,
        latency_ms=count_field(line, "latency_ms"),
        error=error_text,
        edits=json_field(line, "edits", list, dict),
    )


def read_evict(line: Fields, session: str) -> AnyDraft:
    """`evict`: items leave; `placeholder` stands in their place."""
    return EvictItems(
        session=session,
        items=items_field(line, "items"),
        placeholder=text_field(line, "placeholder"),
        reason=text_field(line, "reason"),
    )


def read_compact(line: Fields, session: str) -> AnyDraft:
    """`compact`: `brief` takes the place of `sources`; without them, of the conversation."""
    sources = line.get("sources")
    return ImportCompaction(
        session=session,
        message=id_field(line, "id"),
        role=role_field(line) if "role" in line else "user",
        blocks=brief_field(line),
        sources=None if sources is None else items_field(line, "sources"),
        trigger=text_field(line, "trigger"),
        reason=text_field(line, "reason"),
        tokens_before=count_field(line, "tokens_before"),
        tokens_after=count_field(line, "tokens_after"),
        method=text_field(line, "method") or "agent",
    )


def read_reinject(line: Fields, session: str) -> AnyDraft:
    """`reinject`: items come back, or a text is put in."""
    text = text_field(line, "text")
    if text and line.get("items"):
        raise WrongShape("items_and_text")
    return ReinjectItems(
        session=session,
        items=() if text else items_field(line, "items"),
        text=text,
        after=text_field(line, "after"),
        reason=text_field(line, "reason"),
    )


def read_note(line: Fields, session: str) -> AnyDraft:
    """`note`: something that must survive."""
    return Note(
        session=session,
        kind=text_field(line, "kind", is_needed=True),
        text=text_field(line, "text", is_needed=True),
        status=text_field(line, "status"),
        source=text_field(line, "source"),
        is_pinned=flag_field(line, "pin"),
    )


def read_phase(line: Fields, session: str) -> AnyDraft:
    """`phase`: a new phase of the work begins."""
    return ChangePhase(session=session, name=text_field(line, "name", is_needed=True))


def read_rewrite(line: Fields, session: str) -> AnyDraft:
    """`rewrite`: the conversation becomes exactly `parts`: kept messages and new ones."""
    parts = line.get("parts")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise WrongShape("no_parts" if parts is None else "bad_parts")
    cause = choice_field(line, "cause", get_args(Cause), "unexplained")
    return RewriteWindow(
        session=session,
        parts=tuple(map(_part, parts)),
        cause=cast("Cause", cause),
        is_inferred=flag_field(line, "inferred"),
        evidence=text_field(line, "evidence"),
    )


def _part(part: dict[str, Any]) -> Keep | NewBlocks:
    if "content" in part:
        role = role_field(part)
        return NewBlocks(id_field(part, "message"), role, blocks_field(part, "content", role))
    count = count_field(part, "count")
    message = id_field(part, "message", is_needed=True)
    return Keep(message, count_field(part, "first") or 0, -1 if count is None else count)


def _missing(reason: str) -> str:
    raise WrongShape(reason)


READERS: dict[str, Callable[[Fields, str], AnyDraft]] = {
    "message": read_message,
    "system": read_system,
    "tools": read_tools,
    "call": read_call,
    "result": read_result,
    "evict": read_evict,
    "compact": read_compact,
    "reinject": read_reinject,
    "note": read_note,
    "phase": read_phase,
    "rewrite": read_rewrite,
}
"""A new type of line gets its reader here and its name in `looks.NATIVE_TYPES`."""
