"""Native lines of events that say what they say alone: sessions, calls, results, notes.

Knows nothing about windows and the names of items.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..content import REDACTED_TEXT, from_json
from ..drafts import Usage
from ..events import BodyKey, CallCompleted, ModelCalled, SessionOpened, StateNoted

Line = dict[str, Any]
TextOf = Callable[[bytes | None], str]
"""Reads a body; "" for None."""


def opening_line(event: SessionOpened, name: str, text_of: TextOf) -> Line:
    """`session`, under the name of the session that is exported (a fork's parent has another)."""
    line: Line = {
        "type": "session",
        "name": name,
        "coverage": event.coverage,
        "title": text_of(event.title),
        "model": event.model,
        "folder": text_of(event.folder),
        "branch": text_of(event.branch),
        "limit": event.limit_tokens,
    }
    return {field: value for field, value in line.items() if value}


def call_line(event: ModelCalled, text_of: TextOf) -> Line:
    """`call`."""
    line: Line = {"type": "call", "call": call_name(event)}
    if event.model:
        line["model"] = event.model
    line |= _json_field("params", event.params, text_of)
    return line | ({"retry": True} if event.is_retry else {})


def call_name(event: ModelCalled) -> str:
    """The source's id of a call, else its handle."""
    return event.call or f"call{event.number}"


def result_line(event: CallCompleted, call: str, text_of: TextOf) -> Line:
    """`result` of a call."""
    line: Line = {"type": "result", "call": call, "outcome": event.outcome}
    if event.stop_reason:
        line["stop_reason"] = event.stop_reason
    if event.usage is not None:
        line["usage"] = _usage(event.usage)
        if event.iterations:
            line["usage"]["iterations"] = [_usage(part) for part in event.iterations]
    if event.latency_ms is not None:
        line["latency_ms"] = event.latency_ms
    if event.error is not None:
        line["error"] = text_of(event.error)
    return line | _json_field("edits", event.edits, text_of)


def note_line(event: StateNoted, text_of: TextOf) -> Line:
    """`note`."""
    line: Line = {
        "type": "note",
        "kind": event.kind,
        "text": text_of(event.text),
        "status": event.status,
        "source": text_of(event.source_text),
        "pin": event.is_pinned,
    }
    return {field: value for field, value in line.items() if value}


def _json_field(name: str, key: BodyKey | None, text_of: TextOf) -> Line:
    """A field that is stored as JSON; left out when it was redacted."""
    text = text_of(key)
    return {} if text in ("", REDACTED_TEXT) else {name: from_json(text)}


def _usage(usage: Usage) -> Line:
    long = usage.cache_write_1h_tokens
    value = {
        "type": usage.kind or None,
        "input_tokens": usage.input_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_creation": None if long is None else {"ephemeral_1h_input_tokens": long},
        "output_tokens": usage.output_tokens,
    }
    return {name: n for name, n in value.items() if n is not None}
