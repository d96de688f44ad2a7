"""Native lines of a wrong shape: each has its word, none raises, none harms its neighbours."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from ctxledger.ledger.drafts import (
    QuarantineRecord,
)
from ctxledger.ledger.formats.base import Fed, Record
from ctxledger.ledger.formats.native import NativeFold
from ctxledger.ledger.formats.records import LineSplitter

HELLO = {"role": "user", "content": "hello"}


def feed(*lines: object) -> list[Fed]:
    fold = NativeFold("main")
    return [fold.feed(Record(offset=0, data=b"", value=line)) for line in lines]


def reason_of(line: object) -> str:
    (fed,) = feed(line)
    assert fed.kind == "quarantined"
    (draft,) = fed.drafts
    assert isinstance(draft, QuarantineRecord)
    return draft.reason


def test_unknown_types_are_counted_and_unknown_fields_do_no_harm() -> None:
    unknown, known = feed({"type": "telemetry", "x": 1}, {"mood": [1], **HELLO})
    assert unknown == Fed("unknown", what="telemetry")
    assert known.kind == "window"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (7, "not_an_object"),
        ([HELLO], "not_an_object"),
        (None, "not_an_object"),
        ({}, "no_type"),
        ({"content": "x"}, "no_type"),
        ({"type": 3}, "bad_type"),
        ({"session": 1, **HELLO}, "bad_session"),
        ({"actor": [], **HELLO}, "bad_actor"),
        ({"type": "message", "content": "x"}, "no_role"),
        ({"message": "u1", "type": "message", "content": "x"}, "no_role"),
        ({"role": 3, "content": "x"}, "bad_role"),
        ({"role": "a b", "content": "x"}, "bad_role"),
        ({"role": "user"}, "no_content"),
        ({"role": "user", "content": None}, "no_content"),
        ({"role": "user", "content": 7}, "bad_content"),
        ({"role": "user", "content": {"type": "text"}}, "bad_content"),
        ({"role": "user", "content": ["x"]}, "bad_content"),
        ({"origin": "god", **HELLO}, "bad_origin"),
        ({"origin": ["human"] * 2, **HELLO}, "bad_origin"),
        ({"origin": {}, **HELLO}, "bad_origin"),
        ({"meta": "x", **HELLO}, "bad_meta"),
        ({"id": [], **HELLO}, "bad_id"),
        ({"type": "system"}, "no_content"),
        ({"type": "system", "content": 1}, "bad_content"),
        ({"type": "tools"}, "no_tools"),
        ({"type": "tools", "tools": ["x"]}, "bad_tools"),
        ({"type": "call"}, "no_call"),
        ({"type": "call", "call": "c", "params": 1}, "bad_params"),
        ({"type": "result"}, "no_call"),
        ({"type": "result", "call": "c", "usage": 1}, "bad_usage"),
        ({"type": "result", "call": "c", "usage": {"input_tokens": -1}}, "bad_usage"),
        ({"type": "result", "call": "c", "usage": {"iterations": 4}}, "bad_usage"),
        ({"type": "result", "call": "c", "outcome": "fine"}, "bad_outcome"),
        ({"type": "result", "call": "c", "error": 5}, "bad_error"),
        ({"type": "evict"}, "no_items"),
        ({"type": "evict", "items": []}, "no_items"),
        ({"type": "evict", "items": "u1/0"}, "bad_items"),
        ({"type": "evict", "items": [1]}, "bad_items"),
        ({"type": "compact"}, "no_brief"),
        ({"type": "compact", "brief": 5}, "bad_brief"),
        ({"type": "compact", "brief": {"Goal": {"x": 1}}}, "bad_brief"),
        ({"type": "compact", "brief": "b", "sources": []}, "no_sources"),
        ({"type": "compact", "brief": "b", "sources": "u1/0"}, "bad_sources"),
        ({"type": "reinject"}, "no_items"),
        ({"type": "reinject", "text": "x", "items": ["1.0"]}, "items_and_text"),
        ({"type": "note", "text": "x"}, "no_kind"),
        ({"type": "note", "kind": "fact"}, "no_text"),
        ({"type": "note", "kind": "fact", "text": "x", "pin": "yes"}, "bad_pin"),
        ({"type": "phase"}, "no_name"),
        ({"type": "rewrite"}, "no_parts"),
        ({"type": "rewrite", "parts": [1]}, "bad_parts"),
        ({"type": "rewrite", "parts": [{}]}, "no_message"),
        ({"type": "session", "name": "x", "coverage": "some"}, "bad_coverage"),
        ({"type": "session", "name": "x", "limit": "200k"}, "bad_limit"),
        ({"type": "user", "uuid": "u", "sessionId": "s", "message": HELLO}, "wrong_format"),
        ({"type": "system", "uuid": "u", "sessionId": "s", "content": "x"}, "wrong_format"),
        ({"model": "m", "max_tokens": 1, "messages": [HELLO]}, "wrong_format"),
        ({"role": "assistant", "content": None, "tool_calls": []}, "wrong_format"),
        ({"timestamp": "t", "type": "event_msg", "payload": {}}, "wrong_format"),
    ],
)
def test_a_wrong_shape_is_quarantined_with_its_reason(line: object, reason: str) -> None:
    assert reason_of(line) == reason


def test_a_quarantined_line_changes_nothing_for_the_lines_behind_it() -> None:
    assert feed({"type": "evict"}, HELLO)[1].drafts == feed(HELLO)[0].drafts


def test_faults_of_records_become_reasons_and_blank_lines_nothing() -> None:
    fold = NativeFold("main")
    torn = fold.feed(Record(offset=0, data=b"{", fault="torn"))
    assert torn.drafts == (QuarantineRecord(session="main", reason="torn"),)
    assert fold.feed(Record(offset=1, data=b"\n", repaired="blank")) == Fed("outside", what="blank")


def test_20000_mutated_lines_raise_nothing() -> None:
    rng = random.Random(10)
    lines: list[dict[str, Any]] = [
        {"id": "u1", **HELLO, "origin": "human", "meta": {}, "at": 1},
        {"type": "tools", "tools": [{"name": "t"}]},
        {"type": "result", "call": "c", "usage": {"input_tokens": 1}, "error": "x"},
        {"type": "compact", "sources": ["u1/0"], "brief": {"Goal": ["a"]}, "role": "user"},
        {"type": "rewrite", "parts": [{"message": "u1", "first": 0, "count": 1}]},
        {"type": "session", "name": "s", "parent": "p", "limit": 1},
        {"type": "note", "kind": "k", "text": "t", "pin": True},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}],
        },
    ]
    odd: list[Any] = [
        None,
        1,
        -1,
        2**70,
        1.5,
        "",
        "x",
        [],
        {},
        [[]],
        [{}],
        True,
        "\ud800",
        {"type": []},
        "message",
        ["u1/0"],
        [{"type": "tool_use", "id": []}],
    ]
    fold = NativeFold("main")
    kinds = set()
    for _ in range(20_000):
        line = dict(rng.choice(lines))
        for _ in range(rng.randrange(3)):
            line[rng.choice([*line, "type", "session", "id", "message"])] = rng.choice(odd)
        (record,) = LineSplitter().push((json.dumps(line) + "\n").encode())
        fed = fold.feed(record)
        fold.key(record)
        kinds.add(fed.kind)
        assert all(draft.session for draft in fed.drafts)
    assert kinds == {"window", "unknown", "quarantined"}
