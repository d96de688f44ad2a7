"""Events in a few words, for the rows of the timeline.

A kind has a mark, a word and a style, so that nothing is told by colour alone. Knows nothing
about Textual or storage: previews of contents come from whoever calls.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ctxledger.ledger import events as ev
from ctxledger.ledger.content import CALL_TYPES, Block, from_json, is_result, readable
from ctxledger.ledger.event_codec import type_of
from ctxledger.ledger.events import AnyEvent, StoredBlock, messages_of

from .lines import PREVIEW_CHARS, Style, count_of, number, size

Preview = Callable[[StoredBlock], str]
"""The first words of a block."""
NAMES_MAX = 6


class Kind(Struct, frozen=True):
    """How one kind of event looks."""

    mark: str
    word: str
    style: Style


KINDS: dict[str, Kind] = {
    "session": Kind("○", "session", "muted"),
    "system": Kind("§", "system", "tool"),
    "tools": Kind("§", "tools", "tool"),
    "human": Kind("▸", "human", "human"),
    "assistant": Kind("◂", "assistant", "assistant"),
    "tool": Kind("·", "result", "tool"),
    "failed_tool": Kind("✗", "result", "bad"),
    "harness": Kind("·", "harness", "muted"),
    "hook": Kind("·", "hook", "muted"),
    "summary": Kind("◆", "brief", "change"),
    "call": Kind("→", "call", "call"),
    "reply": Kind("←", "reply", "call"),
    "failed_reply": Kind("✗", "reply", "bad"),
    "evict": Kind("▽", "evict", "change"),
    "compact": Kind("◆", "COMPACT", "change"),
    "reinject": Kind("△", "reinject", "change"),
    "check": Kind("✓", "check", "good"),
    "failed_check": Kind("✗", "check", "bad"),
    "rollback": Kind("↺", "ROLLBACK", "good"),
    "rewrite": Kind("▲", "REWRITE", "change"),
    "proposal": Kind("◇", "proposal", "change"),
    "note": Kind("+", "note", "muted"),
    "phase": Kind("=", "phase", "title"),
    "recall": Kind("?", "recall", "muted"),
    "quarantine": Kind("!", "unread", "bad"),
    "redacted": Kind("×", "redacted", "warn"),
    "damaged": Kind("!", "DAMAGED", "bad"),
}


class TimelineRow(Struct, frozen=True, kw_only=True):
    """One event as the timeline shows it."""

    version: int
    kind: str
    """A key of `KINDS`."""
    handle: str = ""
    """`c1`, `e2`, `r1`, `p1`, `call7`; empty for other events."""
    at_ms: int | None = None
    summary: str
    amount: str = ""
    """Tokens (`84,201 t`) where the event tells, else the size of what it brought."""
    is_undone: bool = False


def row_of(
    version: int, event: AnyEvent, preview: Preview, *, is_undone: bool = False
) -> TimelineRow:
    """Describe one event."""
    kind, handle, summary, amount = _describe(event, preview)
    if is_undone:
        summary = f"(undone) {summary}"
    return TimelineRow(
        version=version,
        kind=kind,
        handle=handle,
        at_ms=event.at_ms,
        summary=summary,
        amount=amount,
        is_undone=is_undone,
    )


def damaged_row(version: int, message: str) -> TimelineRow:
    """The row of an event that cannot be read."""
    return TimelineRow(version=version, kind="damaged", summary=message)


def first_words(block: Block) -> str:
    """The first words of a block; of a call its first text argument."""
    if block.is_json and block.type in CALL_TYPES:
        return _first_argument(block.text)[:PREVIEW_CHARS]
    words = readable(block)[:PREVIEW_CHARS]
    return words if words.strip() else "(no words)"


def _first_argument(text: str) -> str:
    value = from_json(text) if text.startswith("{") else None
    words = value.values() if isinstance(value, dict) else ()
    return next((word for word in words if isinstance(word, str) and word.strip()), text)


def _describe(event: AnyEvent, preview: Preview) -> tuple[str, str, str, str]:
    """(kind, handle, summary, amount)."""
    match event:
        case ev.MessageAppended() | ev.MessageExtended():
            return _message(event, preview)
        case ev.ModelCalled():
            retry = " · a retry" if event.is_retry else ""
            return "call", f"call{event.number}", f"{event.model or 'model'} was asked{retry}", ""
        case ev.CallCompleted():
            return _reply(event)
        case ev.SystemSet():
            return "system", "", f"system prompt set: {_count(event, 'block')}", _bytes(event)
        case ev.ToolsSet():
            names = [b.tool_name for m in event.messages for b in m.blocks if b.tool_name]
            more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
            words = f"{_count(event, 'tool')} set: {', '.join(names[:NAMES_MAX])}{more}"
            return "tools", "", words, _bytes(event)
        case ev.SessionOpened():
            related = f" · {event.relation} of an earlier session" if event.relation else ""
            opened = f"session opened · {event.format} · {event.coverage} coverage{related}"
            return "session", "", opened, ""
        case _:
            return _change(event)


def _message(
    event: ev.MessageAppended | ev.MessageExtended, preview: Preview
) -> tuple[str, str, str, str]:
    blocks = [block for message in event.messages for block in message.blocks]
    if not blocks:
        return "assistant", "", "(nothing in it)", ""
    kind: str = blocks[0].origin
    if any(block.is_error for block in blocks):
        kind = "failed_tool"
    words = " · ".join(_block_words(block, preview) for block in blocks)
    return kind, "", words, _bytes(event)


def _block_words(block: StoredBlock, preview: Preview) -> str:
    text = preview(block)
    if block.type == "text":
        return text
    if block.type in CALL_TYPES:
        return f"{block.tool_name or 'tool'} {text}"
    if is_result(block.type):
        return f"error: {text}" if block.is_error else text
    if block.type in ("thinking", "redacted_thinking"):
        return f"thinks: {text}" if text else "(hidden thinking)"
    return f"[{block.type}] {text}"


def _reply(event: ev.CallCompleted) -> tuple[str, str, str, str]:
    words = [] if event.outcome == "ok" else [event.outcome]
    if event.stop_reason:
        words.append(f"stopped: {event.stop_reason}")
    amount = ""
    if event.usage is not None:
        used = event.usage
        if used.context_tokens:
            amount = f"{number(used.context_tokens)} t"
        if used.output_tokens is not None:
            words.append(f"wrote {number(used.output_tokens)} t")
        if used.cache_read_tokens:
            words.append(f"{number(used.cache_read_tokens)} t from cache")
    kind = "reply" if event.outcome in ("ok", "unknown") else "failed_reply"
    return kind, "", " · ".join(words) or "the call ended", amount


def _change(event: AnyEvent) -> tuple[str, str, str, str]:
    """Events that change the window otherwise, and proposals of such."""
    match event:
        case ev.WindowCompacted():
            return "compact", f"c{event.number}", _compaction(event), _after(event)
        case ev.ItemsEvicted():
            inferred = " · inferred" if event.is_inferred else ""
            freed = f"{number(event.tokens.n)} t" if event.tokens else ""
            words = f"{event.rule}: {', '.join(event.items)}{inferred}"
            return "evict", f"e{event.number}", words, freed and f"-{freed}"
        case ev.RolledBack():
            undid = ", ".join(str(version) for version in event.undid)
            words = f"restored the window of {event.to}" if event.to else f"undid {undid}"
            return "rollback", f"r{event.number}", words, ""
        case ev.WindowRewritten():
            inferred = " (inferred)" if event.is_inferred else ""
            return "rewrite", "", f"the agent's window changed: {event.cause}{inferred}", ""
        case ev.ItemsReinjected():
            return "reinject", "", f"came back: {', '.join(event.items) or 'a text'}", ""
        case ev.CompactionProposed():
            return "proposal", f"p{event.number}", f"a compaction by {event.method}", ""
        case ev.ProposalDiscarded():
            return "proposal", "", f"p{event.proposal} {event.reason}", ""
        case _:
            return _remark(event)


def _remark(event: AnyEvent) -> tuple[str, str, str, str]:
    """Events that leave the window as it is."""
    match event:
        case ev.CheckRan():
            kind = "failed_check" if event.outcome == "failed" else "check"
            return kind, "", f"check of {event.subject}: {event.outcome}", ""
        case ev.StateNoted():
            return "note", "", f"{event.kind} noted {event.status}".rstrip(), ""
        case ev.ItemPinned():
            return "note", "", f"pinned: {', '.join(event.items)}", ""
        case ev.ItemUnpinned():
            return "note", "", f"unpinned: {', '.join(event.items)}", ""
        case ev.PhaseChanged():
            return "phase", "", "another phase begins", ""
        case ev.ItemsRecalled():
            return "recall", "", f"searched, found {', '.join(event.items) or 'nothing'}", ""
        case ev.RecordQuarantined():
            words = f"a record could not be read: {event.reason} at byte {number(event.offset)}"
            return "quarantine", "", words, size(event.length)
        case ev.ContentRedacted():
            return "redacted", "", f"contents removed: {event.reason}", ""
        case _:
            return "note", "", type_of(event), ""


def _compaction(event: ev.WindowCompacted) -> str:
    words = [event.trigger] if event.trigger else []
    if event.tokens_before and event.tokens_after:
        before, after = event.tokens_before, event.tokens_after
        words.append(f"{number(before.n)} → {number(after.n)} t ({after.counter})")
    elif event.tokens_before:
        words.append(f"from {number(event.tokens_before.n)} t ({event.tokens_before.counter})")
    words.append(f"by {event.method}")
    if event.depth > 1:
        words.append(f"a summary of a summary, depth {event.depth}")
    if event.outcome == "failed":
        words.append("checks FAILED")
    return " · ".join(words)


def _after(event: ev.WindowCompacted) -> str:
    return f"{number(event.tokens_after.n)} t" if event.tokens_after else ""


def _count(event: AnyEvent, noun: str) -> str:
    return count_of(sum(len(message.blocks) for message in messages_of(event)), noun)


def _bytes(event: AnyEvent) -> str:
    total = sum(block.size for message in messages_of(event) for block in message.blocks)
    return size(total) if total else ""
