"""What an event says besides the items it brings, by name: for `show`.

Knows nothing about layout.
"""

from __future__ import annotations

import json

import msgspec

from ctxledger.ledger import Session
from ctxledger.ledger.content import REDACTED_TEXT
from ctxledger.ledger.events import (
    AnyEvent,
    CallCompleted,
    ModelCalled,
    SessionOpened,
    WindowCompacted,
    messages_of,
)
from ctxledger.ledger.rolling_back import undone_versions
from ctxledger.ledger.storage.store import StoredEvent

from .window_moves import moves

_LEFT_OUT = frozenset(
    {"type", "at_ms", "messages", "delta", "effective", "proposed", "digest", "bodies", "marks"}
)
"""Shown elsewhere (items, times), or of no use to a person."""
_JSON_TEXTS = frozenset({"params", "edits"})


def item_ids(event: AnyEvent, of: str) -> tuple[str, ...]:
    """Ids of the items an event brought; `of` is its version or one of its items."""
    version = of.partition(".")[0]
    count = sum(len(message.blocks) for message in messages_of(event))
    return tuple(f"{version}.{index}" for index in range(count))


def event_facts(session: Session, stored: StoredEvent) -> dict[str, object]:
    """Facts in the order a person wants them; texts are read, empty ones left out."""
    event = stored.event
    facts: dict[str, object] = {}
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if name in _LEFT_OUT or value in (None, "", (), 0, b"", False):
            continue
        facts[name.replace("_", " ").removeprefix("is ")] = _value(session, name, value)
    if isinstance(event, SessionOpened) and event.parent:
        facts["parent"] = dict(session.store.session_names()).get(event.parent, event.parent)
    if isinstance(event, ModelCalled):
        facts |= _completion(session, stored)
        facts.pop("called", None)
    if getattr(event, "delta", None) is not None:
        facts["window"] = moves(session, stored.version)
    if isinstance(event, WindowCompacted):
        facts["in force"] = stored.version not in undone_versions(session)
    return facts


def _completion(session: Session, stored: StoredEvent) -> dict[str, object]:
    """What came back of a call, under its own names."""
    completed = None
    for later in session.events(after=stored.version, types=("call_completed",)):
        event = later.event
        if isinstance(event, CallCompleted) and event.called == stored.version:
            completed = later
        elif completed is not None:
            break
    if completed is None:
        return {}
    facts = event_facts(session, completed)
    return {"completed": f"version {completed.version}", **facts}


def _value(session: Session, name: str, value: object) -> object:
    if isinstance(value, bytes):
        text = session.store.bodies.get(value).decode("utf-8", "surrogatepass")
        is_json = name in _JSON_TEXTS and text != REDACTED_TEXT
        return json.loads(text) if is_json else text
    if name == "verdicts":
        return [
            {
                "kind": verdict.kind,
                "verdict": verdict.verdict,
                "source": verdict.source,
                "text": None if verdict.text is None else _value(session, "", verdict.text),
            }
            for verdict in value  # type: ignore[attr-defined]
        ]
    return msgspec.to_builtins(value)
