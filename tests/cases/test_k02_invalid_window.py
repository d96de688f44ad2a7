"""Windows whose calls and results do not fit: what we would send, and what stays on record.

The cases whose input is a plain Anthropic window are in tests/render.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ctxledger.ledger.content import block_value
from ctxledger.ledger.render.anthropic_pairs import NO_RESULT
from ctxledger.ledger.render.anthropic_rules import check_request
from ctxledger.ledger.session import Session

from .conftest import Told

Case = Callable[[str], dict[str, Any]]


def as_anthropic(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Chat messages as Anthropic ones, ids untouched."""
    out: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "tool":
            result = {"type": "tool_result", "tool_use_id": message["tool_call_id"]}
            out.append({"role": "user", "content": [{**result, "content": message["content"]}]})
        elif message["role"] == "assistant":
            calls = [
                {
                    "type": "tool_use",
                    "id": call["id"],
                    "name": call["function"]["name"],
                    "input": json.loads(call["function"]["arguments"]),
                }
                for call in message["tool_calls"]
            ]
            out.append({"role": "assistant", "content": calls})
        else:
            out.append({"role": "user", "content": message["content"]})
    return out


def pairs(session: Session) -> list[tuple[dict[str, Any], str]]:
    """(input, result text) of each call in the request we would send, which is valid."""
    body = session.render().body
    assert check_request(body) == ()
    blocks = [b for m in body["messages"] for b in m["content"] if isinstance(b, dict)]
    results = {b["tool_use_id"]: b["content"] for b in blocks if b["type"] == "tool_result"}
    calls = [b for b in blocks if b["type"] == "tool_use"]
    assert len({b["id"] for b in calls}) == len(calls)
    return [(b["input"], results[b["id"]]) for b in calls]


def test_k02_05_an_id_used_again_in_a_later_turn(case: Case, told: Told) -> None:
    """The chat rendering of the case is in tests/formats/test_openai_chat.py."""
    messages = case("k02-05")["input"]["messages"]
    session = told.tell(*as_anthropic(messages))
    assert len(session.window().entries) == 6
    assert pairs(session) == [({"k": 1}, "r1"), ({"k": 2}, "r2")]


def test_k02_17_calls_without_ids_are_paired_by_place(case: Case, told: Told) -> None:
    messages = case("k02-17")["input"]["messages"]
    session = told.tell(*as_anthropic(messages))
    assert pairs(session) == [({"u": "a"}, "ra"), ({"u": "b"}, "rb")]
    ids = {block_value(e.block).get("id", "none") for e in session.window().entries[1:3]}
    assert ids == {""}, "the record keeps the empty ids"


def test_k02_14_a_late_result_of_a_compacted_call_is_not_sent(told: Told) -> None:
    """That a compaction waits for its open call is a rule for compactions of our own."""
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "late"}
    session = told.tell(
        {"id": "s1", "role": "assistant", "content": [call]},
        {"id": "s2", "type": "compact", "sources": ["s1/0"], "brief": "first"},
        {"id": "s3", "role": "user", "content": [result]},
        {"id": "s4", "type": "compact", "sources": ["s2/0"], "brief": "second"},
        {"id": "s5", "role": "user", "content": "go"},
    )
    for at in ("c1", "c2^", "c2", "head"):
        rendering = session.render(at)
        assert check_request(rendering.body) == ()
        assert "tool_result" not in str(rendering.body)
    assert "orphan_tool_result" in {repair.code for repair in session.render().repairs}
    assert [entry.text for entry in session.window().entries] == ["second", "late", "go"]
    session.rollback("c1", "c2")
    assert pairs(session) == [({}, "late")]


def test_k02_16_a_refusal_and_an_error_answer_their_calls(told: Told) -> None:
    def call(name: str) -> dict[str, Any]:
        block = {"type": "tool_use", "id": name, "name": "f", "input": {"of": name}}
        return {"role": "assistant", "content": [block]}

    def answer(name: str, text: str) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": True}
        return {"role": "user", "content": [block]}

    session = told.tell(
        {"role": "user", "content": "start"},
        call("c1"),
        answer("c1", "The user refused."),
        call("c2"),
        answer("c2", "The agent failed."),
        {"role": "user", "content": "go"},
    )
    assert pairs(session) == [
        ({"of": "c1"}, "The user refused."),
        ({"of": "c2"}, "The agent failed."),
    ]
    assert {repair.code for repair in session.render().repairs} <= {"merged_messages"}


def test_k02_16_a_call_that_nothing_answered_is_kept_as_interrupted(told: Told) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    session = told.tell({"role": "assistant", "content": [call]}, {"role": "user", "content": "go"})
    assert pairs(session) == [({}, NO_RESULT)]
