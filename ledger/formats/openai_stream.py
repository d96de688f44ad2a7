"""A streamed answer of the chat or Responses API, put together into what it stands for.

Knows the chunks (`chat.completion.chunk`) and events (`response.*`) of the streams; knows
nothing about requests or sessions.
Source: https://platform.openai.com/docs/api-reference (chat/streaming, responses-streaming)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .anthropic_sse import Streamed, events_of
from .parsing import parse

Json = dict[str, Any]

_TERMINAL = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
)
_TEXT_FIELDS = ("content", "refusal", "reasoning_content", "reasoning")


def streamed_answers(text: str) -> list[Streamed]:
    """Put together every answer of a stream; text of another provider gives none."""
    return answers_of_events(events_of(text))


def is_stream_event(value: object) -> bool:
    """True for one chunk or event of a stream."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    return value.get("object") == "chat.completion.chunk" or (
        isinstance(kind, str) and kind.startswith("response.") and "sequence_number" in value
    )


def answers_of_events(events: Iterable[Json]) -> list[Streamed]:
    """Put together the answers of a stream from its chunks or events, in order."""
    found: list[Streamed] = []
    open_one: _Chat | _Response | None = None
    for event in events:
        kind = event.get("type")
        if isinstance(event.get("choices"), list):
            if not isinstance(open_one, _Chat) or not open_one.is_same(event):
                found += [open_one.result()] if open_one is not None else []
                open_one = _Chat(event)
            open_one.take(event)
        elif isinstance(kind, str) and kind.startswith("response."):
            if open_one is None or kind == "response.created" or isinstance(open_one, _Chat):
                found += [open_one.result()] if open_one is not None else []
                open_one = _Response()
            open_one.take(event)
        elif kind == "error" or isinstance(event.get("error"), dict):
            if open_one is None:
                found.append(Streamed({}, False, error_text(event)))
            else:
                open_one.error = error_text(event)
    return [*found, open_one.result()] if open_one is not None else found


def error_text(body: Json) -> str:
    """`code: message` of an error body or event, "" when it is none."""
    fields = body.get("error")
    if not isinstance(fields, dict):
        fields = body if body.get("type") == "error" else {}
    name = fields.get("code") or fields.get("type") or "error"
    return f"{name}: {fields.get('message') or ''}" if fields else ""


class _Chat:
    """The chat completion so far; mutable, private to `answers_of_events`."""

    def __init__(self, first: Json) -> None:
        self.body: Json = {k: v for k, v in first.items() if k not in ("choices", "usage")}
        self.body["object"] = "chat.completion"
        self.choices: dict[int, Json] = {}
        self.error = ""

    def is_same(self, chunk: Json) -> bool:
        """True when a chunk belongs to this completion."""
        known, given = self.body.get("id"), chunk.get("id")
        return not given or not known or given == known

    def take(self, chunk: Json) -> None:
        for field in ("id", "model"):
            self.body[field] = self.body.get(field) or chunk.get(field)
        if isinstance(chunk.get("usage"), dict):
            self.body["usage"] = chunk["usage"]
        for part in chunk["choices"]:
            if not isinstance(part, dict):
                continue
            index = part.get("index")
            number = index if isinstance(index, int) else 0
            choice = self.choices.setdefault(number, {"index": number, "message": {}})
            delta = part.get("delta", part.get("message"))
            _add_delta(choice["message"], delta if isinstance(delta, dict) else {})
            if part.get("finish_reason"):
                choice["finish_reason"] = part["finish_reason"]

    def result(self) -> Streamed:
        self.body["choices"] = [self.choices[index] for index in sorted(self.choices)]
        for choice in self.body["choices"]:
            choice["message"].setdefault("role", "assistant")
        is_whole = bool(self.choices) and all("finish_reason" in c for c in self.choices.values())
        return Streamed(self.body, is_whole and not self.error, self.error)


def _add_delta(message: Json, delta: Json) -> None:
    if isinstance(delta.get("role"), str) and delta["role"]:
        message["role"] = delta["role"]
    for field in _TEXT_FIELDS:
        if isinstance(delta.get(field), str):
            message[field] = str(message.get(field) or "") + delta[field]
    called = delta.get("function_call")
    if isinstance(called, dict):
        _add_call(message.setdefault("function_call", {}), called)
    for entry in delta.get("tool_calls") or ():
        if isinstance(entry, dict):
            calls = message.setdefault("tool_calls", [])
            call = _call_of(calls, entry)
            for field, value in entry.items():
                if field in ("function", "custom") and isinstance(value, dict):
                    _add_call(call.setdefault(field, {}), value)
                elif field != "index" and value is not None:
                    call[field] = value


def _call_of(calls: list[Json], entry: Json) -> Json:
    """The call that a delta continues; some servers number all calls 0 or give no number."""
    index = entry.get("index")
    place = index if isinstance(index, int) else len(calls) - 1
    given = entry.get("function")
    is_named = isinstance(given, dict) and bool(given.get("name"))
    if 0 <= place < len(calls):
        call = calls[place]
        if isinstance(index, int) and calls[-1] is not call and not is_named:
            return call
        last = calls[-1]
        is_other = bool(entry.get("id")) and bool(last.get("id")) and entry["id"] != last["id"]
        is_again = is_named and _is_finished(last)
        if not is_other and not is_again:
            return call if isinstance(index, int) else last
    calls.append({})
    return calls[-1]


def _is_finished(call: Json) -> bool:
    called = call.get("function")
    text = called.get("arguments") if isinstance(called, dict) else None
    if not isinstance(text, str) or not text:
        return False
    return isinstance(parse(text.encode("utf-8", "surrogatepass")).value, dict)


def _add_call(called: Json, delta: Json) -> None:
    for field, value in delta.items():
        if not isinstance(value, str):
            continue
        if field in ("arguments", "input"):
            called[field] = called.get(field, "") + value
        elif value and not called.get(field):
            called[field] = value


class _Response:
    """The response so far; mutable, private to `answers_of_events`."""

    def __init__(self) -> None:
        self.body: Json = {"object": "response", "output": []}
        self.items: dict[int, Json] = {}
        self.is_complete = False
        self.error = ""

    def take(self, event: Json) -> None:
        kind, index = str(event.get("type")), event.get("output_index")
        if isinstance(event.get("response"), dict):
            self.body = dict(event["response"])
            self.is_complete = kind in _TERMINAL
        elif isinstance(event.get("item"), dict) and isinstance(index, int):
            self.items[index] = dict(event["item"])
        elif isinstance(index, int) and kind.endswith(".delta"):
            self._append(self.items.setdefault(index, {}), kind, event)

    def _append(self, item: Json, kind: str, event: Json) -> None:
        delta = event.get("delta")
        if not isinstance(delta, str):
            return
        if kind == "response.function_call_arguments.delta":
            item["arguments"] = str(item.get("arguments") or "") + delta
        elif kind == "response.custom_tool_call_input.delta":
            item["input"] = str(item.get("input") or "") + delta
        elif kind == "response.output_text.delta":
            _add_text(item, "content", event.get("content_index"), "output_text", delta)
        elif kind == "response.reasoning_summary_text.delta":
            _add_text(item, "summary", event.get("summary_index"), "summary_text", delta)

    def result(self) -> Streamed:
        if not self.body.get("output") and self.items:
            self.body["output"] = [self.items[index] for index in sorted(self.items)]
        return Streamed(self.body, self.is_complete and not self.error, self.error)


def _add_text(item: Json, field: str, index: object, kind: str, delta: str) -> None:
    parts = item.get(field)
    known = list(parts) if isinstance(parts, list) else []
    place = index if isinstance(index, int) and index < len(known) else len(known)
    if place == len(known):
        known.append({"type": kind, "text": ""})
    known[place] = {**known[place], "text": str(known[place].get("text", "")) + delta}
    item[field] = known
