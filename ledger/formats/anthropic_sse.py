"""A streamed answer of the Messages API, put together into the message it stands for.

Knows the events of the stream and their deltas; knows nothing about requests or sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from .parsing import parse

_DELTA_FIELD = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "compaction_delta": ("content", "content"),
}
"""Delta type -> (field of the delta, field of the block it is appended to)."""


class Streamed(Struct, frozen=True):
    """One message of a stream."""

    body: dict[str, Any]
    """As the same answer looks without streaming; `{"type": "error", ...}` when only that came."""
    is_complete: bool
    """False when the stream ended before `message_stop`, or broke with an error."""
    error: str = ""
    """`type: message` of an error event, "" when none."""


def looks_like_stream(text: str) -> bool:
    """True when `text` begins like server-sent events."""
    return text.lstrip("\ufeff\r\n ").startswith(("event:", "data:", ":"))


def streamed_messages(text: str) -> list[Streamed]:
    """Put together every message of a stream; text of another provider gives none."""
    found: list[Streamed] = []
    assembly: _Assembly | None = None
    for event in events_of(text):
        if event.get("type") == "message_start":
            if assembly is not None:
                found.append(assembly.result())
            assembly = _Assembly(event)
        elif assembly is not None:
            assembly.take(event)
        elif event.get("type") == "error":
            found.append(Streamed(event, False, _error_text(event)))
    if assembly is not None:
        found.append(assembly.result())
    return found


def events_of(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a stream's data fields; a cut or foreign one is left out."""
    data: list[str] = []
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            value = parse("\n".join(data).encode("utf-8", "surrogatepass")).value
            if isinstance(value, dict):
                yield value
            data = []


class _Assembly:
    """The message so far; mutable, private to `streamed_messages`."""

    def __init__(self, start: dict[str, Any]) -> None:
        message = start.get("message")
        self.body: dict[str, Any] = dict(message) if isinstance(message, dict) else {}
        content = self.body.get("content")
        given = content if isinstance(content, list) else []
        self.blocks: dict[int, dict[str, Any]] = dict(
            enumerate(block for block in given if isinstance(block, dict))
        )
        self.json_parts: dict[int, list[str]] = {}
        self.is_complete = False
        self.error = ""

    def take(self, event: dict[str, Any]) -> None:
        kind, index = event.get("type"), event.get("index")
        if kind == "content_block_start" and isinstance(index, int):
            block = event.get("content_block")
            self.blocks[index] = dict(block) if isinstance(block, dict) else {}
        elif kind == "content_block_delta" and isinstance(index, int) and index in self.blocks:
            delta = event.get("delta")
            self._append(index, delta if isinstance(delta, dict) else {})
        elif kind == "message_delta":
            self._finish(event)
        elif kind == "message_stop":
            self.is_complete = True
        elif kind == "error":
            self.error = _error_text(event)

    def _append(self, index: int, delta: dict[str, Any]) -> None:
        block, kind = self.blocks[index], str(delta.get("type"))
        if kind == "input_json_delta":
            self.json_parts.setdefault(index, []).append(str(delta.get("partial_json", "")))
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta.get("citation")]
        elif kind in _DELTA_FIELD:
            source, target = _DELTA_FIELD[kind]
            for field in (source, "encrypted_content", "tool_changes"):
                value = delta.get(field)
                if field == source and isinstance(value, str):
                    block[target] = str(block.get(target) or "") + value
                elif field != source and value is not None:
                    block[field] = value

    def _finish(self, event: dict[str, Any]) -> None:
        delta, usage = event.get("delta"), event.get("usage")
        if isinstance(delta, dict):
            self.body.update({k: v for k, v in delta.items() if v is not None})
        if isinstance(usage, dict):
            known = self.body.get("usage")
            reported = {k: v for k, v in usage.items() if v is not None}
            self.body["usage"] = {**(known if isinstance(known, dict) else {}), **reported}
        if isinstance(event.get("context_management"), dict):
            self.body["context_management"] = event["context_management"]

    def result(self) -> Streamed:
        for index, parts in self.json_parts.items():
            text = "".join(parts)
            parsed = parse(text.encode("utf-8", "surrogatepass"))
            # A call cut off in its input keeps the text as it came: it is no JSON object yet.
            self.blocks[index]["input"] = text if parsed.fault else parsed.value
            if not text:
                self.blocks[index]["input"] = {}
        self.body["content"] = [self.blocks[index] for index in sorted(self.blocks)]
        return Streamed(self.body, self.is_complete and not self.error, self.error)


def _error_text(event: dict[str, Any]) -> str:
    error = event.get("error")
    fields = error if isinstance(error, dict) else {}
    return f"{fields.get('type', 'error')}: {fields.get('message', '')}"
