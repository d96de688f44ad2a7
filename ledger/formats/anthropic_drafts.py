"""Parts of exchanges as drafts: set-up, changes of the window, answers, completions.

Knows nothing about which session an exchange belongs to or how it was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..content import Origin, block_from, digest_of, label, to_json
from ..drafts import (
    AnyDraft,
    AppendMessage,
    CompleteCall,
    ExtendMessage,
    RewriteWindow,
    SetSystem,
    SetTools,
)
from ..render.marks import stripped
from ..render.recorded import SplitMessage, SplitRequest, origin_by_role
from .anthropic_align import Change
from .anthropic_effects import (
    applied_edits,
    cleared_tool_ids,
    compaction_place,
    iterations_from,
    outcome_of,
    usage_from,
)
from .anthropic_exchange import Exchange
from .anthropic_join import Member, system_digests, system_text, tool_digests, tool_names
from .anthropic_sse import Streamed

_HARNESS_TEXT = re.compile(
    r"\s*(<(system-reminder|command-name|command-message|local-command-stdout)>"
    r"|\[Request interrupted by user)"
)
_SUMMARY_TEXT = re.compile(r"\s*This session is being continued from a previous conversation")
_AGENT_CLIENT = "claude-cli"
_AGENT_USER_ID = re.compile(r"user_\w+_session_")


def origin_in_traffic(role: str, raw: Mapping[str, Any]) -> Origin:
    """Who wrote a block: texts that known agents put in are not the human's."""
    text = raw.get("text")
    if role == "user" and isinstance(text, str):
        if _HARNESS_TEXT.match(text):
            return "harness"
        if _SUMMARY_TEXT.match(text):
            return "summary"
    return origin_by_role(role, raw)


class OpenCall:
    """A call that waits for its answer."""

    def __init__(
        self, member: Member, call: str, body: dict[str, Any], sent: list[SplitMessage]
    ) -> None:
        self.member, self.call, self.body, self.sent = member, call, body, sent
        self.dropped_before, self.dropped_before_block = "", 0
        place = compaction_place(sent)
        if place is not None:
            held = member.window.messages[place[0]]
            self.dropped_before = held.message
            self.dropped_before_block = held.present[place[1]]


def is_helper_call(body: Mapping[str, Any], client: str) -> bool:
    """True for calls that a known agent makes beside its conversation (quota probe, titles).

    Only asked for requests that join no session, so that such a call does not become the main
    session when it comes first.
    """
    if body.get("tools"):
        return False
    metadata = body.get("metadata")
    user = str(metadata.get("user_id", "")) if isinstance(metadata, dict) else ""
    is_agent = client.startswith(_AGENT_CLIENT) or _AGENT_USER_ID.match(user) is not None
    return body.get("max_tokens") == 1 or is_agent


def set_up(member: Member, split: SplitRequest, at_ms: int | None) -> Iterator[AnyDraft]:
    """Drafts for a system prompt or tools that differ from those in force."""
    system, tools = system_digests(split), tool_digests(split)
    if system != member.system:
        member.system, member.system_text = system, system_text(split)
        yield SetSystem(session=member.name, at_ms=at_ms, blocks=split.system)
    if tools != member.tools:
        member.tools, member.tool_names = tools, member.tool_names | tool_names(split)
        yield SetTools(session=member.name, at_ms=at_ms, tools=split.tools)


def change_drafts(session: str, change: Change, call: str, at_ms: int | None) -> Iterator[AnyDraft]:
    """Drafts that bring the window to what a request holds."""
    if change.is_rewrite:
        yield RewriteWindow(
            session=session,
            at_ms=at_ms,
            parts=change.parts,
            cause=change.cause,
            is_inferred=change.cause == "rewind",
            evidence=call,
        )
    if change.extended is not None:
        late = change.extended
        yield ExtendMessage(session=session, at_ms=at_ms, message=late.message, blocks=late.blocks)
    for new in change.appended:
        yield AppendMessage(
            session=session, at_ms=at_ms, role=new.role, blocks=new.blocks, message=new.message
        )


def message_of(answer: Streamed) -> SplitMessage:
    """The answer as a message; thinking says which model signed it."""
    content = answer.body.get("content")
    raws = [raw for raw in content if isinstance(raw, dict)] if isinstance(content, list) else []
    clean = [stripped(raw, [], []) for raw in raws]
    model = answer.body.get("model")
    signed_by = to_json({"model": model}) if isinstance(model, str) else ""
    blocks = tuple(
        block_from(
            raw,
            origin_by_role("assistant", raw),
            meta=signed_by if str(raw.get("type")).endswith("thinking") else "",
        )
        for raw in clean
    )
    return SplitMessage("assistant", blocks, tuple(digest_of(raw) for raw in clean))


def completion(exchange: Exchange, call: OpenCall) -> CompleteCall:
    """The draft that completes a call, with what the provider did to the request."""
    answer = exchange.answer
    usage = answer.body.get("usage") if answer is not None else None
    edits = applied_edits(answer)
    stop = answer.body.get("stop_reason") if answer is not None else None
    started, ended = exchange.sent_ms, exchange.answered_ms
    return CompleteCall(
        session=call.member.name,
        at_ms=ended,
        call=call.call,
        outcome=outcome_of(answer, exchange.status),
        stop_reason=label(stop),
        usage=usage_from(usage),
        iterations=iterations_from(usage),
        latency_ms=max(ended - started, 0) if started and ended else None,
        error=answer.error if answer is not None else "",
        edits=to_json(edits) if edits else "",
        dropped_before=call.dropped_before,
        dropped_before_block=call.dropped_before_block,
        cleared_tool_ids=cleared_tool_ids(call.body, call.sent, answer),
    )
