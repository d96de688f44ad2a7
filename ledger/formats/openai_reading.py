"""One record of OpenAI traffic to the exchanges in it, and what kind of record it was.

Knows every wrapping that is accepted; knows nothing about sessions or drafts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from .anthropic_cassette import document_of, is_cassette, pairs_of
from .anthropic_exchange import (
    Exchange,
    body_of,
    decoded,
    header,
    is_pair,
    milliseconds,
    status_of,
)
from .anthropic_sse import Streamed
from .base import Record
from .openai_stream import answers_of_events, error_text, is_stream_event, streamed_answers

_PATH = re.compile(r"/(chat/completions|responses(/compact)?)/?(\?|#|$)")
_OTHER_MODELS = re.compile(r"embed|moderation|tts", re.IGNORECASE)
"""Models of endpoints whose bodies have `input` too."""
_ANSWER_OBJECTS = ("chat.completion", "response", "response.compaction")
_MESSAGE_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


class Reading(Struct, frozen=True):
    """What a record holds."""

    what: str
    """`pair`, `request`, `response`, `message`, `recording` (several in one record), `other`."""
    exchanges: tuple[Exchange, ...] = ()
    messages: tuple[object, ...] = ()
    """Chat messages without a request around them."""
    fault: str = ""
    """Why it is no traffic: `not_json`, `wrong_format`, `not_an_object`; "" = fine."""


def read(record: Record) -> Reading:
    """Take a record apart. No fault and nothing in it: traffic that is no call to a model."""
    if record.fault:
        return Reading("other", fault=record.fault)
    if record.value is None and not record.data.strip():
        return Reading("other")
    value = record.value if record.value is not None else document_of(record.data)
    if value is None:
        return Reading("other", fault="not_json")
    if isinstance(value, str):
        found = tuple(Exchange(answer=answer) for answer in streamed_answers(value))
        return Reading("recording", found, fault="" if found else "wrong_format")
    if isinstance(value, list):
        return _listed(value)
    if not isinstance(value, dict):
        return Reading("other", fault="not_an_object")
    if is_cassette(value):
        pairs = (exchange_from(request, response) for request, response in pairs_of(value))
        return Reading("recording", tuple(pair for pair in pairs if pair is not None))
    return _one(value)


def _listed(values: list[Any]) -> Reading:
    if values and all(is_stream_event(value) for value in values):
        answers = answers_of_events(values)
        return Reading("recording", tuple(Exchange(answer=answer) for answer in answers))
    readings = [_one(value) for value in values if isinstance(value, dict)]
    exchanges = tuple(exchange for reading in readings for exchange in reading.exchanges)
    messages = tuple(message for reading in readings for message in reading.messages)
    is_traffic = any(not reading.fault for reading in readings)
    return Reading("recording", exchanges, messages, "" if is_traffic else "wrong_format")


def _one(value: dict[str, Any]) -> Reading:
    if is_pair(value):
        exchange = exchange_from(value["request"], value.get("response"))
        return Reading("pair", () if exchange is None else (exchange,))
    if is_request(value):
        return Reading("request", (Exchange(request=value),))
    if is_answer(value):
        return Reading("response", (Exchange(answer=answer_from(value)),))
    if is_message(value):
        return Reading("message", messages=(value,))
    if isinstance(value.get("request_params"), dict):
        return Reading("request", (Exchange(request=value["request_params"]),))
    if "body" in value and ("url" in value or "uri" in value):  # a line of a batch
        exchange = exchange_from(value, None)
        return Reading("request", () if exchange is None else (exchange,))
    if isinstance(value.get("response"), dict):
        came = value["response"]
        answer = answer_from(came if is_answer(came) else body_of(came))
        if answer is not None:
            return Reading("response", (Exchange(answer=answer, status=status_of(came)),))
    return Reading("other", fault="wrong_format")


def is_request(value: object) -> bool:
    """True for a body of POST /chat/completions, /responses or /responses/compact."""
    if not isinstance(value, dict) or "choices" in value or "object" in value:
        return False
    if isinstance(value.get("messages"), list):
        return True
    if _OTHER_MODELS.search(str(value.get("model", ""))) or "voice" in value:
        return False
    has_input = isinstance(value.get("input"), str | list) or "previous_response_id" in value
    return has_input and isinstance(value.get("model", ""), str) and "output" not in value


def is_answer(value: object) -> bool:
    """True for the answer's body: a completion, a response, an error."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("choices"), list) or value.get("object") in _ANSWER_OBJECTS:
        return True
    return isinstance(value.get("error"), dict) and len(value) == 1


def is_message(value: object) -> bool:
    """True for one chat message that stands alone."""
    if not isinstance(value, dict) or value.get("role") not in _MESSAGE_ROLES:
        return False
    return "content" in value or "tool_calls" in value or "function_call" in value


def exchange_from(request: object, response: object) -> Exchange | None:
    """Read a recorded pair; None when it is no call of these APIs (embeddings ...)."""
    sent = request if isinstance(request, dict) else {}
    came = response if isinstance(response, dict) else {}
    method, url = str(sent.get("method", "POST")), str(sent.get("url", sent.get("uri", "")))
    if method.upper() != "POST" or (url and not _PATH.search(url)):
        return None
    body = sent if is_request(sent) else body_of(sent)
    if not isinstance(body, dict) or not is_request(body):
        return None
    return Exchange(
        request=body,
        answer=_answer_of(came),
        status=status_of(came),
        request_id=header(came.get("headers"), "x-request-id"),
        client=header(sent.get("headers"), "user-agent"),
        sent_ms=milliseconds(sent.get("timestamp")),
        answered_ms=milliseconds(came.get("timestamp")),
    )


def _answer_of(response: Mapping[str, Any]) -> Streamed | None:
    if is_answer(response):
        return answer_from(response)
    listed = response.get("body")
    return answer_from(listed if isinstance(listed, list) else body_of(response))


def answer_from(body: object) -> Streamed | None:
    """Take a response body: JSON of a whole answer, the text of a stream, or its chunks."""
    if isinstance(body, dict) and is_answer(body):
        error = error_text(body)
        return Streamed(body, not error, error)
    if isinstance(body, list) and body and all(is_stream_event(event) for event in body):
        return next(iter(answers_of_events(body)), None)
    text = decoded(body) if isinstance(body, bytes) else body
    return next(iter(streamed_answers(text)), None) if isinstance(text, str) else None
