"""One request with its answer, whatever wrapped them: a proxy's pair, a cassette's entry, a body.

Decodes bodies (bytes, gzip within a bound, base64, JSON text, event streams). Headers are read
for a few facts (request id, the client's name) and never kept. Knows nothing about sessions.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from .anthropic_sse import Streamed, looks_like_stream, streamed_messages
from .parsing import parse

BODY_BYTES_MAX = 64 * 1024 * 1024
"""A compressed body that unpacks to more counts as not recorded."""

_GZIP = b"\x1f\x8b"
_GZIP_BASE64 = "H4sI"
_MESSAGES_PATH = re.compile(r"/v1/messages/?(\?|#|$)|:(streamR|r)awPredict|/invoke(-with-)?")
_BODY_FIELDS = ("parsed_body", "body", "body_raw", "json", "content")
_PAIR_FIELDS = frozenset({"response", "logged_at"})


class Exchange(Struct, frozen=True, kw_only=True):
    """A call as recorded: either half may be missing."""

    request: dict[str, Any] | None = None
    answer: Streamed | None = None
    status: int = 0
    """HTTP status, 0 = not recorded."""
    request_id: str = ""
    client: str = ""
    """The `user-agent`, only to tell helper calls of known agents; never stored."""
    sent_ms: int | None = None
    answered_ms: int | None = None


def is_request(value: object) -> bool:
    """True for a body of POST /v1/messages."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("messages"), list)
        and ("max_tokens" in value or isinstance(value.get("model"), str))
        and value.get("type") is None
    )


def is_response(value: object) -> bool:
    """True for the answer's body: a message, or an error."""
    if not isinstance(value, dict):
        return False
    if value.get("type") == "error":
        return isinstance(value.get("error"), dict)
    return (
        value.get("type") == "message"
        and value.get("role") == "assistant"
        and isinstance(value.get("content"), list)
    )


def is_pair(value: object) -> bool:
    """True for an object that wraps one request and its response."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("request"), dict)
        and (not value.keys().isdisjoint(_PAIR_FIELDS) or is_request(body_of(value["request"])))
    )


def exchange_from(request: object, response: object) -> Exchange | None:
    """Read a recorded pair; None when it is no call of the Messages API (token counts ...)."""
    sent = request if isinstance(request, dict) else {}
    came = response if isinstance(response, dict) else {}
    method, url = str(sent.get("method", "POST")), str(sent.get("url", sent.get("uri", "")))
    if method.upper() != "POST" or (url and not _MESSAGES_PATH.search(url)):
        return None
    body = sent if is_request(sent) else body_of(sent)
    if not is_request(body):
        return None
    return Exchange(
        request=body,  # type: ignore[arg-type]  # is_request says it is a dict
        answer=_answer_of(came),
        status=status_of(came),
        request_id=header(came.get("headers"), "request-id"),
        client=header(sent.get("headers"), "user-agent"),
        sent_ms=milliseconds(sent.get("timestamp")),
        answered_ms=milliseconds(came.get("timestamp")),
    )


def answer_from(body: object) -> Streamed | None:
    """Take a response body: JSON of a whole message, or the text of a stream."""
    if isinstance(body, dict) and is_response(body):
        error = body.get("error") if body.get("type") == "error" else None
        fields = error if isinstance(error, dict) else {}
        text = f"{fields.get('type', 'error')}: {fields.get('message', '')}" if fields else ""
        return Streamed(body, not text, text)
    if isinstance(body, str) and looks_like_stream(body):
        return next(iter(streamed_messages(body)), None)
    return None


def _answer_of(response: Mapping[str, Any]) -> Streamed | None:
    if is_response(response):
        return answer_from(response)
    return answer_from(body_of(response))


def body_of(wrapper: Mapping[str, Any]) -> object:
    """The body of a recorded request or response, decoded; None when there is none."""
    for field in _BODY_FIELDS:
        body = decoded(wrapper.get(field))
        if body is not None:
            return body
    return None


def decoded(body: object) -> object:
    """Unwrap a recorded body to parsed JSON, to stream text, or to None."""
    if isinstance(body, dict):
        inner = body.get("string", body.get("base64_string"))
        if not isinstance(inner, str | bytes) or len(body) > 3:
            return body
        return decoded(inner if "string" in body else _unpacked(inner))
    if isinstance(body, str) and body.startswith(_GZIP_BASE64):
        body = _unpacked(body)
    if isinstance(body, bytes):
        body = _text_of(body)
    if not isinstance(body, str):
        return None
    if looks_like_stream(body):
        return body
    return parse(body.encode("utf-8", "surrogatepass")).value


def _unpacked(text: str | bytes) -> bytes | None:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return None


def _text_of(data: bytes) -> str | None:
    if data.startswith(_GZIP):
        unpacker = zlib.decompressobj(wbits=31)
        try:
            data = unpacker.decompress(data, BODY_BYTES_MAX)
        except zlib.error:
            return None
        if unpacker.unconsumed_tail:
            return None
    return data.decode("utf-8", "replace")


def status_of(response: Mapping[str, Any]) -> int:
    """The HTTP status, 0 when it was not recorded."""
    status = response.get("status_code", response.get("statusCode", response.get("status")))
    if isinstance(status, dict):
        status = status.get("code")
    return status if isinstance(status, int) else 0


def header(headers: object, name: str) -> str:
    """A header by its lower-case name, "" when it is not there."""
    if not isinstance(headers, dict):
        return ""
    for key, value in headers.items():
        if str(key).lower() == name:
            first = value[0] if isinstance(value, list) and value else value
            return first if isinstance(first, str) else ""
    return ""


def milliseconds(when: object) -> int | None:
    """A time stamp (Unix seconds or milliseconds, ISO 8601) as Unix milliseconds."""
    if isinstance(when, bool):
        return None
    if isinstance(when, int | float):
        return int(when if when > 1e11 else when * 1000)
    if isinstance(when, str):
        try:
            moment = datetime.fromisoformat(when)
        except ValueError:
            return None
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    return None
