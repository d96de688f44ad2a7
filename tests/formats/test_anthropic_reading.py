"""Wrappings of traffic: pairs, streams, cassettes, damage; and how calls end."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import yaml

from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    CompleteCall,
    OpenSession,
    QuarantineRecord,
    StartCall,
)
from ctxledger.ledger.formats.anthropic import AnthropicFold
from ctxledger.ledger.formats.base import Fed, Record

Json = dict[str, Any]
Rebuild = Callable[[Iterable[AnyDraft]], list[Json]]


def read_rows(rows: Iterable[object], fold: AnthropicFold | None = None) -> list[Fed]:
    fold = fold or AnthropicFold("main")
    return [
        fold.feed(Record(offset=0, data=json.dumps(row).encode() + b"\n", value=row))
        for row in rows
    ]


def drafts_of(feds: Iterable[Fed]) -> list[AnyDraft]:
    return [draft for fed in feds for draft in fed.drafts]


def of_type(drafts: Iterable[AnyDraft], kind: type) -> list[Any]:
    return [draft for draft in drafts if isinstance(draft, kind)]


def reply(text: str, number: int, **fields: Any) -> Json:
    return {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-x",
        "content": [{"type": "text", "text": text, "citations": None}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 2}, **fields,
    }  # fmt: skip


REQUEST: Json = {
    "model": "claude-x", "max_tokens": 9, "system": "rules",
    "messages": [{"role": "user", "content": "hi"}],
}  # fmt: skip


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


STREAM = (
    event("message_start", message={"id": "msg_s", "type": "message", "role": "assistant",
                                    "model": "m", "content": [], "usage": {"input_tokens": 5}})
    + event("ping")
    + event("content_block_start", index=0, content_block={"type": "tool_use", "id": "t1",
                                                           "name": "run", "input": {}})
    + event("content_block_delta", index=0, delta={"type": "input_json_delta",
                                                   "partial_json": '{"a":'})
    + event("content_block_delta", index=0, delta={"type": "input_json_delta",
                                                   "partial_json": ' "é"}'})
    + event("content_block_stop", index=0)
    + event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 7},
            context_management={"applied_edits": []})
    + event("message_stop")
)  # fmt: skip


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_bare_stream_is_a_message_without_its_request(ends: str) -> None:
    data = STREAM.replace("\n", ends).encode()
    fed = AnthropicFold("main").feed(Record(offset=0, data=data))
    (message,) = of_type(fed.drafts, AppendMessage)
    assert json.loads(message.blocks[0].text) == {"a": "é"}
    assert [d.coverage for d in of_type(fed.drafts, OpenSession)] == ["conversation"]
    assert [d.digest for d in of_type(fed.drafts, StartCall)] == [b""]


def test_a_stream_that_breaks_keeps_what_came() -> None:
    cut = STREAM[: STREAM.index("\\u00e9")] + "\n"
    drafts = drafts_of(read_rows([
        {"request": {"body": REQUEST}, "response": {"status_code": 200, "body": None,
                                                    "body_raw": cut}},
    ]))  # fmt: skip
    assert of_type(drafts, CompleteCall)[0].outcome == "cut_off"
    block = of_type(drafts, AppendMessage)[-1].blocks[0]
    assert (block.text, block.is_json) == ('{"a":', False)


def test_a_pair_with_headers_stores_none_of_them() -> None:
    row = {
        "request": {"timestamp": 1700000000.5, "method": "POST", "body": REQUEST,
                    "url": "https://api.anthropic.com/v1/messages?beta=true",
                    "headers": {"authorization": "Bearer secret-1", "User-Agent": "agent/1"}},
        "response": {"timestamp": 1700000002.0, "status_code": 200, "body": reply("yo", 1),
                     "headers": {"request-id": "req_9", "set-cookie": "secret-2"}},
        "logged_at": "2026-01-01T00:00:00",
    }  # fmt: skip
    drafts = drafts_of(read_rows([row]))
    assert "secret" not in repr(drafts)
    (started,), (completed,) = of_type(drafts, StartCall), of_type(drafts, CompleteCall)
    assert (started.call, started.at_ms) == ("req_9", 1700000000500)
    assert (completed.call, completed.latency_ms) == ("req_9", 1500)


def test_bodies_may_be_text_bytes_or_gzip(rebuild: Rebuild) -> None:
    packed = gzip.compress(json.dumps(reply("yo", 1)).encode())
    cassette = {
        "requests": [{"method": "POST", "uri": "https://x/v1/messages",
                      "body": json.dumps(REQUEST).encode()}],
        "responses": [{"status": {"code": 200}, "body": {"string": packed}}],
    }  # fmt: skip
    fed = AnthropicFold("main").feed(Record(offset=0, data=yaml.safe_dump(cassette).encode()))
    assert [m.role for m in of_type(fed.drafts, AppendMessage)] == ["user", "assistant"]
    assert rebuild(fed.drafts) == [REQUEST]


def test_a_bomb_in_a_body_is_an_answer_that_was_not_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ctxledger.ledger.formats.anthropic_exchange.BODY_BYTES_MAX", 1000)
    packed = gzip.compress(json.dumps(reply("y" * 10_000, 1)).encode())
    row = {"request": {"body": REQUEST}, "response": {"status": {"code": 200}, "body": packed}}
    drafts = drafts_of([AnthropicFold("main").feed(Record(offset=0, data=b"", value=row))])
    assert [d.outcome for d in of_type(drafts, CompleteCall)] == ["unknown"]


def test_a_yaml_file_that_multiplies_itself_is_refused() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    data = ("\n".join(lines) + "\ninteractions: [*a11]\n").encode()
    fed = AnthropicFold("main").feed(Record(offset=0, data=data))
    assert fed.kind == "quarantined"


@pytest.mark.parametrize(
    ("answer", "status", "outcome"),
    [
        ({"type": "error", "error": {"type": "invalid_request_error",
                                     "message": "prompt is too long: 210000 tokens"}}, 400,
         "overflow"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, 529,
         "error"),
        (reply("", 1, stop_reason="refusal"), 200, "refused"),
        (reply("half", 1, stop_reason="max_tokens"), 200, "cut_off"),
        (reply("x", 1), 200, "ok"),
        ("<html>", 502, "error"),
    ],
)  # fmt: skip
def test_outcomes(answer: object, status: int, outcome: str) -> None:
    row = {"request": {"body": REQUEST}, "response": {"status_code": status, "body": answer}}
    assert [d.outcome for d in of_type(drafts_of(read_rows([row])), CompleteCall)] == [outcome]


def test_token_counts_and_other_endpoints_are_outside() -> None:
    url = "https://api.anthropic.com/v1/messages/count_tokens"
    row = {"request": {"method": "POST", "url": url, "body": REQUEST}, "response": {}}
    (fed,) = read_rows([row])
    assert (fed.kind, fed.drafts) == ("outside", ())


@pytest.mark.parametrize(
    ("row", "reason"),
    [({"type": "user", "sessionId": "s"}, "wrong_format"), ([], "wrong_format"),
     (7, "not_an_object")],
)  # fmt: skip
def test_what_is_no_traffic_is_quarantined(row: object, reason: str) -> None:
    (fed,) = read_rows([row])
    assert fed.kind == "quarantined"
    assert [d.reason for d in of_type(fed.drafts, QuarantineRecord)] == [reason]


def test_a_fault_found_earlier_is_quarantined_with_its_reason() -> None:
    fed = AnthropicFold("main").feed(Record(offset=0, data=b"{", fault="not_json"))
    assert [d.reason for d in of_type(fed.drafts, QuarantineRecord)] == ["not_json"]
