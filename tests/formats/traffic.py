"""Recorded traffic made by tests: pairs as a proxy writes them, and what a ledger makes of them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from ctxledger.ledger import Ledger
from ctxledger.ledger.events import ModelCalled
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.session import Session

Json = dict[str, Any]
URL = "https://api.anthropic.com/v1/messages?beta=true"
MARK = {"type": "ephemeral"}


def text(words: str, **fields: Any) -> Json:
    return {"type": "text", "text": words, **fields}


def _said(role: str, parts: tuple[str | Json, ...]) -> Json:
    return {"role": role, "content": [text(p) if isinstance(p, str) else p for p in parts]}


def user(*parts: str | Json) -> Json:
    return _said("user", parts)


def said(*parts: str | Json) -> Json:
    return _said("assistant", parts)


def use(tool_id: str, name: str = "Read", **values: Any) -> Json:
    return {"type": "tool_use", "id": tool_id, "name": name, "input": values}


def result(tool_id: str, content: object = "out") -> Json:
    return {"type": "tool_result", "tool_use_id": tool_id, "content": content}


TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("Read", "Bash", "Edit")]


def agent(*messages: Json, **fields: Any) -> Json:
    """A request of the agent."""
    return {"model": "claude-sonnet-4-5", "max_tokens": 99, "system": "You are the agent.",
            "tools": TOOLS, "messages": list(messages), **fields}  # fmt: skip


def helper(*messages: Json, **fields: Any) -> Json:
    """A request of something small beside it."""
    return {"model": "claude-haiku-4-5", "max_tokens": 20, "system": "Classify.",
            "messages": list(messages), **fields}  # fmt: skip


def answer(number: int, *parts: str | Json, **fields: Any) -> Json:
    return {"id": f"msg_{number}", "type": "message", "model": "claude-sonnet-4-5",
            "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 2},
            **said(*parts), **fields}  # fmt: skip


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def stream(message: Json) -> str:
    """An answer as server-sent events, in small deltas."""
    out = event("message_start", message={**message, "content": []}) + event("ping")
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            field, kind, words = "text", "text_delta", block["text"]
            start = {**block, "text": ""}
        else:
            field, kind, words = "partial_json", "input_json_delta", json.dumps(block["input"])
            start = {**block, "input": {}}
        out += event("content_block_start", index=index, content_block=start)
        for at in range(0, len(words), 5):
            delta = {"type": kind, field: words[at : at + 5]}
            out += event("content_block_delta", index=index, delta=delta)
        out += event("content_block_stop", index=index)
    usage = {"output_tokens": 7}
    stop = {"stop_reason": message["stop_reason"]}
    return out + event("message_delta", delta=stop, usage=usage) + event("message_stop")


class Recording:
    """Pairs in the order they were sent, each with the conversation it truly belongs to."""

    def __init__(self) -> None:
        self.rows: list[Json] = []
        self.sent: list[Json] = []
        self.truth: list[str] = []

    def pair(self, truth: str, body: Json, /, *parts: str | Json, **response: Any) -> Json:
        """Record one call; `parts` are the answer's blocks. Gives the answer as a message."""
        body = copy.deepcopy(body)
        came = {"status_code": 200, "body": None}
        if parts:
            came["body_raw"] = stream(answer(len(self.rows), *parts))
        request = {"method": "POST", "url": URL, "headers": {}, "body": body}
        self.rows.append({"request": request, "response": {**came, **response}})
        self.sent.append(body)
        self.truth.append(truth)
        return said(*parts)

    @property
    def data(self) -> bytes:
        return b"".join(json.dumps(row).encode() + b"\n" for row in self.rows)


class Taken:
    """A recording in a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.calls: list[tuple[Session, int, ModelCalled]] = []
        sessions: dict[int, Session] = {}
        for stored in ledger.store.read_after(0, 100_000):
            if isinstance(stored.event, ModelCalled):
                session = sessions.setdefault(stored.session, Session(ledger, stored.session))
                self.calls.append((session, stored.version, stored.event))

    @property
    def requests(self) -> list[Json]:
        """Every recorded request, rendered again."""
        return [s.render_call(version) for s, version, event in self.calls if event.digest]

    @property
    def sessions(self) -> list[str]:
        """The session of each call."""
        return [session.name for session, _, _ in self.calls]

    @property
    def main(self) -> Session:
        return next(session for session, _, _ in self.calls if session.name == "traffic")


def take(data: bytes, folder: Path) -> Taken:
    """Import a file twice; the second time adds nothing, and the bytes come out again."""
    path = folder / "traffic.jsonl"
    path.write_bytes(data)
    ledger = Ledger.open(folder / "traffic.db")
    import_file(ledger, path)
    events = len(ledger.store.read_after(0, 100_000))
    import_file(ledger, path)
    assert len(ledger.store.read_after(0, 100_000)) == events
    (source,) = ledger.sources.all()
    assert b"".join(ledger.sources.read(source.id)) == data
    return Taken(ledger)
