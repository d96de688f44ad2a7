"""Events in words: the kind, the handle and one line, for the log.

Knows nothing about layout; which texts a line needs is told by `keys_for`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from ctxledger.ledger.blocks import keys_in, load_block
from ctxledger.ledger.drafts import Usage
from ctxledger.ledger.event_codec import type_of
from ctxledger.ledger.events import (
    AnyEvent,
    CallCompleted,
    CheckRan,
    CompactionProposed,
    ContentRedacted,
    ItemsEvicted,
    ModelCalled,
    PhaseChanged,
    ProposalDiscarded,
    RecordQuarantined,
    RolledBack,
    SessionOpened,
    StateNoted,
    StoredBlock,
    Tokens,
    WindowCompacted,
    WindowRewritten,
    messages_of,
)

from .block_text import first_words
from .tables import number

BLOCKS_READ_MAX = 3
"""A line shows at most so many blocks of an event; the others are counted."""

TYPES_OF_WORD: dict[str, tuple[str, ...]] = {
    "session": ("session_opened",),
    "system": ("system_set",),
    "tools": ("tools_set",),
    "message": ("message_appended", "message_extended"),
    "call": ("model_called",),
    "result": ("call_completed",),
    "eviction": ("items_evicted",),
    "compaction": ("window_compacted",),
    "reinjection": ("items_reinjected",),
    "check": ("check_ran",),
    "rollback": ("rolled_back",),
    "rewrite": ("window_rewritten",),
    "proposal": ("compaction_proposed", "proposal_discarded"),
    "note": ("state_noted", "item_pinned", "item_unpinned"),
    "phase": ("phase_changed",),
    "recall": ("items_recalled",),
    "quarantine": ("record_quarantined",),
    "redaction": ("content_redacted",),
}
"""What `--type` accepts besides the stored tags."""
_WORD_OF_TYPE = {tag: word for word, tags in TYPES_OF_WORD.items() for tag in tags}

_STYLES = {
    "session": "dim", "system": "dim", "tools": "dim", "call": "dim", "result": "dim",
    "eviction": "yellow", "compaction": "bold magenta", "reinjection": "green",
    "check": "cyan", "rollback": "bold cyan", "rewrite": "bold yellow", "proposal": "magenta",
    "note": "cyan", "quarantine": "bold red", "redaction": "bold red",
    "user": "bold green", "assistant": "", "results": "dim",
}  # fmt: skip
Contents = Mapping[bytes, bytes]


class Described(NamedTuple):
    """An event for a person."""

    kind: str
    """A word such as `user`, `results`, `compaction`."""
    words: str
    style: str


def handle_of(event: AnyEvent) -> str:
    """`c1`, `e3`, `r1`, `p1`, `call7`, or "" for events that have none."""
    letters: dict[type, str] = {
        WindowCompacted: "c", ItemsEvicted: "e", RolledBack: "r", CompactionProposed: "p",
        ModelCalled: "call",
    }  # fmt: skip
    letter = letters.get(type(event), "")
    return f"{letter}{getattr(event, 'number', '')}" if letter else ""


def tokens_of(event: AnyEvent) -> tuple[int | None, int | None]:
    """Tokens (before, after) an event that rearranges the window, where it says so."""
    if isinstance(event, WindowCompacted):
        return _n(event.tokens_before), _n(event.tokens_after)
    return None, None


def _n(tokens: Tokens | None) -> int | None:
    return None if tokens is None else tokens.n


def iso_time(at_ms: int | None) -> str | None:
    """`2026-11-30T14:00:05.123Z`, None when the time is not known."""
    if at_ms is None:
        return None
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def keys_for(event: AnyEvent) -> list[bytes]:
    """The bodies that `describe` reads."""
    keys = [key for block in _shown(event) for key in keys_in(block)]
    for name in ("title", "text", "reason", "name", "error", "query"):
        value = getattr(event, name, None)
        if isinstance(value, bytes):
            keys.append(value)
    return keys


def describe(event: AnyEvent, contents: Contents) -> Described:
    """One event in words.

    Args:
        contents: at least the bodies of `keys_for(event)`.
    """
    kind = _WORD_OF_TYPE.get(type_of(event), type_of(event))
    words = _facts(event, contents)
    if kind == "message":
        kind = _speaker(event)
    if kind not in ("compaction", "eviction"):
        said = _said(event, contents)
        words = f"{words}: {said}" if words and said else words or said
    style = _STYLES.get(kind, "")
    if isinstance(event, CallCompleted) and event.outcome != "ok":
        style = "bold red"
    return Described(kind, words, style)


def _shown(event: AnyEvent) -> list[StoredBlock]:
    blocks = [block for message in messages_of(event) for block in message.blocks]
    return blocks[:BLOCKS_READ_MAX]


def _speaker(event: AnyEvent) -> str:
    """Who a message is from, by the origin of its first block."""
    for block in _shown(event):
        if block.origin == "tool":
            return "results"
        return {"human": "user"}.get(block.origin, block.origin)
    roles = [message.role for message in messages_of(event)]
    return roles[0] if roles else "message"


def _said(event: AnyEvent, contents: Contents) -> str:
    count = sum(len(message.blocks) for message in messages_of(event))
    blocks = [load_block(block, contents) for block in _shown(event)]
    words = " | ".join(first_words(block) for block in blocks)
    return f"{words} (+{count - len(blocks)})" if count > len(blocks) else words


def _facts(event: AnyEvent, contents: Contents) -> str:
    match event:
        case SessionOpened():
            title = _text(event.title, contents)
            parts = [title, event.format, event.model, event.relation]
            return ", ".join(part for part in parts if part)
        case ModelCalled():
            return " ".join(filter(None, (event.model, "(retry)" if event.is_retry else "")))
        case CallCompleted():
            return _completion(event, contents)
        case WindowCompacted():
            return _compaction(event)
        case ItemsEvicted():
            return _eviction(event, contents)
        case RolledBack():
            undid = ", ".join(map(str, event.undid))
            what = f"restored version {event.to}" if event.to else f"undid version {undid}"
            reason = _text(event.reason, contents)
            return f"{what} ({reason})" if reason else what
        case WindowRewritten():
            return f"{event.cause}{', inferred' if event.is_inferred else ''}"
        case StateNoted():
            parts = [event.kind, event.status, "pinned" if event.is_pinned else ""]
            return f"{' '.join(filter(None, parts))}: {_text(event.text, contents)}"
        case PhaseChanged():
            return _text(event.name, contents)
        case RecordQuarantined():
            where = f"byte {number(event.offset)} of source {event.source}"
            return f"{event.reason}: {number(event.length)} bytes at {where}"
        case CheckRan():
            return f"{event.outcome}, of version {event.subject}"
        case ProposalDiscarded():
            return f"p{event.proposal} {event.reason}"
        case ContentRedacted():
            return _redaction(event)
        case CompactionProposed():
            return f"by {event.method}, on version {event.base_version}"
    return _text(getattr(event, "reason", None), contents)


def _redaction(event: ContentRedacted) -> str:
    found = ", ".join(f"{number(count)} {kind}" for kind, count in event.kinds)
    parts = [f"contents removed: {event.reason}", found]
    if event.masked_bytes:
        parts.append(f"{number(event.masked_bytes)} bytes of the recording overwritten")
    return "; ".join(filter(None, parts))


def _compaction(event: WindowCompacted) -> str:
    before, after = tokens_of(event)
    parts = []
    if before is not None and after is not None:
        parts.append(f"{number(before)} -> {number(after)} tokens as reported")
    elif before is not None:
        parts.append(f"{number(before)} tokens before")
    parts.append(" ".join(filter(None, (event.trigger, "by", event.method))))
    if event.depth > 1:
        parts.append(f"summary of a summary, depth {event.depth}")
    if event.outcome == "failed":
        parts.append("FAILED its checks")
    return ", ".join(parts)


def _eviction(event: ItemsEvicted, contents: Contents) -> str:
    parts = [f"by {event.rule}"]
    if event.tokens is not None:
        parts.append(f"{number(event.tokens.n)} tokens freed, by {event.tokens.counter or '?'}")
    if event.is_inferred:
        parts.append("inferred")
    reason = _text(event.reason, contents)
    return ", ".join([*parts, reason] if reason else parts)


def _completion(event: CallCompleted, contents: Contents) -> str:
    parts = [event.outcome if event.outcome != "ok" else "", event.stop_reason]
    parts.append(usage_words(event.usage))
    parts.append(_text(event.error, contents))
    if event.effective is not None:
        parts.append("provider edited the window")
    return ", ".join(part for part in parts if part)


def usage_words(usage: Usage | None) -> str:
    """`12,000 in (11,000 from cache), 300 out`; "" when nothing was reported."""
    if usage is None:
        return ""
    words = f"{number(usage.context_tokens)} in"
    if usage.cache_read_tokens:
        words += f" ({number(usage.cache_read_tokens)} cached)"
    return words + (f", {number(usage.output_tokens)} out" if usage.output_tokens else "")


def _text(key: bytes | None, contents: Contents) -> str:
    if key is None:
        return ""
    return " ".join(contents[key].decode("utf-8", "surrogatepass").split())
