"""One record of traffic to the exchanges in it, and what kind of record it was.

Knows every wrapping that is accepted; knows nothing about sessions or drafts.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from .anthropic_cassette import document_of, is_cassette, pairs_of
from .anthropic_exchange import (
    Exchange,
    answer_from,
    exchange_from,
    is_pair,
    is_request,
    is_response,
)
from .anthropic_sse import streamed_messages
from .base import Record


class Reading(Struct, frozen=True):
    """What a record holds."""

    what: str
    """`pair`, `request`, `response`, `recording` (several in one record), `other`."""
    exchanges: tuple[Exchange, ...] = ()
    fault: str = ""
    """Why it is no traffic: `not_json`, `wrong_format`, `not_an_object`; "" = fine."""


def read(record: Record) -> Reading:
    """Take a record apart. No fault and no exchanges: traffic that is no call to a model."""
    if record.fault:
        return Reading("other", fault=record.fault)
    if record.value is None and not record.data.strip():
        return Reading("other")
    value = record.value if record.value is not None else document_of(record.data)
    if value is None:
        return Reading("other", fault="not_json")
    if isinstance(value, str):
        found = tuple(Exchange(answer=message) for message in streamed_messages(value))
        return Reading("recording", found, "" if found else "wrong_format")
    if isinstance(value, list) or is_cassette(value):
        return _recording(value)
    if is_pair(value):
        return Reading("pair", tuple(_exchanges(value)))
    if is_request(value):
        return Reading("request", tuple(_exchanges(value)))
    if is_response(value):
        return Reading("response", tuple(_exchanges(value)))
    return Reading("other", fault="wrong_format" if isinstance(value, dict) else "not_an_object")


def _recording(value: object) -> Reading:
    if isinstance(value, list):
        is_traffic = any(is_pair(v) or is_request(v) or is_response(v) for v in value)
        found = tuple(exchange for entry in value for exchange in _exchanges(entry))
        return Reading("recording", found, "" if is_traffic else "wrong_format")
    pairs = list(pairs_of(value)) if isinstance(value, dict) else []
    read_pairs = (exchange_from(request, response) for request, response in pairs)
    return Reading("recording", tuple(pair for pair in read_pairs if pair is not None))


def _exchanges(value: object) -> Iterator[Exchange]:
    if not isinstance(value, dict):
        return
    if is_pair(value):
        exchange = exchange_from(value["request"], value.get("response"))
        if exchange is not None:
            yield exchange
    elif is_request(value):
        yield Exchange(request=value)
    elif is_response(value):
        yield Exchange(answer=answer_from(value))
