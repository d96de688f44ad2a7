"""The stored form is frozen: these bytes were written once and must be read for ever.

A new event type gets its example in examples.py and its line in golden/events.json, printed by
the failing test. A line that differs means that ledgers in the field would no longer verify:
add an upcast on read, never change the line.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path

import msgspec
import pytest

from ctxledger.ledger.event_codec import decode, encode, type_of
from ctxledger.ledger.events import EVENT_TYPES, AnyEvent
from ctxledger.ledger.integrity.events import body_keys
from ctxledger.ledger.storage import codec
from ctxledger.ledger.storage.chain import Head, commit_to, content_digest, link
from ctxledger.ledger.window import PROJECTOR_VERSION, project

from .examples import EXAMPLES, key

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "events.json").read_text("utf-8"))


def test_each_type_of_event_has_an_example() -> None:
    assert [type_of(event) for event in EXAMPLES] == list(EVENT_TYPES)
    assert set(GOLDEN["events"]) == set(EVENT_TYPES)


@pytest.mark.parametrize("event", EXAMPLES, ids=type_of)
def test_examples_use_every_field(event: AnyEvent) -> None:
    for field in msgspec.structs.fields(event):
        if not field.required:
            assert getattr(event, field.name) != field.default, field.name


@pytest.mark.parametrize("event", EXAMPLES, ids=type_of)
def test_an_event_is_written_as_ever(event: AnyEvent) -> None:
    name = type_of(event)
    assert encode(event) == GOLDEN["events"][name].encode(), (
        f'"{name}": {json.dumps(encode(event).decode())}'
    )
    assert decode(GOLDEN["events"][name].encode()) == event


@pytest.mark.parametrize("name", EVENT_TYPES)
def test_packed_events_are_read_as_ever(name: str) -> None:
    # Packed bytes may differ with the library's version; reading old ones may not.
    assert codec.unpack(bytes.fromhex(GOLDEN["packed"][name])).decode() == GOLDEN["events"][name]


def test_the_dictionary_of_event_words_never_changes() -> None:
    assert blake2b(codec._EVENT_WORDS, digest_size=16).hexdigest() == GOLDEN["event_words"]


def test_the_chain_and_the_keys_are_computed_as_ever() -> None:
    assert link(bytes(16), 1, 2, 3, 4, "type", "actor", b"data").hex() == GOLDEN["link"]
    assert commit_to(bytes(16), b"contents").hex() == GOLDEN["commit"]
    assert content_digest(b"contents").hex() == GOLDEN["content"]
    assert Head("ab", 3, "cd").text() == "ab\n3\ncd\n"
    assert Head.parse("ab\n3\ncd\n") == Head("ab", 3, "cd")


def test_no_two_rows_have_the_same_hash() -> None:
    base = (bytes(16), 1, 2, 3, 4, "type", "actor", b"data")
    others = [
        (bytes(15) + b"x", *base[1:]),
        (base[0], 12, *base[2:]),
        (base[0], 1, 22, *base[3:]),
        (*base[:4], 5, *base[5:]),
        (*base[:5], "typea", "ctor", b"data"),
        (*base[:5], "type", "actord", b"ata"),
    ]
    assert len({link(*fields) for fields in [base, *others]}) == 7  # type: ignore[arg-type]


def test_windows_of_stored_events_are_as_ever() -> None:
    events = [decode(text.encode()) for text in GOLDEN["window_events"]]
    digests = [project(events[:n]).digest() for n in range(len(events) + 1)]
    assert (PROJECTOR_VERSION, digests) == (1, GOLDEN["window_digests"])


def _all_bytes(value: object, name: str = "") -> set[bytes]:
    if isinstance(value, bytes) and name != "digest":
        return {value}
    if isinstance(value, tuple):
        return {found for part in value for found in _all_bytes(part)}
    if isinstance(value, msgspec.Struct):
        fields = value.__struct_fields__
        return {found for f in fields for found in _all_bytes(getattr(value, f), f)}
    return set()


@pytest.mark.parametrize("event", EXAMPLES, ids=type_of)
def test_verify_knows_every_body_key_of_an_event(event: AnyEvent) -> None:
    found = set(body_keys(event))
    assert found == _all_bytes(event)
    assert key(8) not in found, "the digest of a request is no body"
