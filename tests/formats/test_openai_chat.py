"""Chat completions: roles, ids, usage, outcomes, streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ctxledger.ledger.drafts import (
    AppendMessage,
    CompleteCall,
)
from ctxledger.ledger.render.openai_rules import check_openai

from .openai_traffic import (
    Json,
    call,
    drafts_of,
    of_type,
    pair,
    responded,
    said,
    session_of,
    text_item,
)


def test_cached_tokens_are_not_counted_twice() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7,
             "prompt_tokens_details": {"cached_tokens": 60}}  # fmt: skip
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    (done,) = of_type(drafts_of([pair(body, said(1, {"content": "y"}, usage=usage))]), CompleteCall)
    assert (done.usage.input_tokens, done.usage.cache_read_tokens) == (40, 60)
    assert done.usage.context_tokens == 100
    usage = {"input_tokens": 9, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 4}}
    row = pair({"model": "m", "input": "x"}, responded(1, text_item(1, "y"), usage=usage))
    (done,) = of_type(drafts_of([row]), CompleteCall)
    assert (done.usage.input_tokens, done.usage.cache_read_tokens) == (5, 4)


def test_roles_are_kept(tmp_path: Path) -> None:
    messages = [
        {"role": "developer", "content": "rules"},
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": "", "tool_calls": [call("call_abcdefghijkl")]},
        {"role": "tool", "tool_call_id": "call_abcdefghijkl", "content": "r"},
        {"role": "system", "content": "be brief"},
        {"role": "developer", "content": "now"},
    ]
    session = session_of([pair({"model": "m", "messages": messages})], tmp_path)
    window = session.window()
    assert [entry.role for entry in window.entries] == [
        "system", "user", "assistant", "tool", "system", "developer",
    ]  # fmt: skip
    assert {entry.category for entry in window.entries if entry.role == "developer"} == {"system"}
    body = session.render().body
    assert [m["role"] for m in body["messages"]] == [m["role"] for m in messages]
    assert check_openai(body) == ()


def test_k02_05_reused_ids_are_paired_by_turn(case: Callable[[str], Json], tmp_path: Path) -> None:
    messages = case("k02-05")["input"]["messages"]
    session = session_of([pair({"model": "m", "messages": messages})], tmp_path)
    blocks = [entry.block for entry in session.window().entries]
    assert [block.tool_id for block in blocks] == [
        "",
        "call_0",
        "call_0",
        "",
        "call_0-2",
        "call_0-2",
    ]
    assert json.loads(blocks[4].meta)["call_id"] == "call_0"
    assert len(session.render().body["messages"]) == 6
    theirs = session.render(provider="anthropic").body["messages"]
    parts = [part for m in theirs if isinstance(m["content"], list) for part in m["content"]]
    results = {p["tool_use_id"]: p["content"] for p in parts if p["type"] == "tool_result"}
    calls = [p for p in parts if p["type"] == "tool_use"]
    assert [(c["input"], results[c["id"]]) for c in calls] == [({"k": 1}, "r1"), ({"k": 2}, "r2")]


def test_k02_17_empty_ids_are_paired_by_place(case: Callable[[str], Json], tmp_path: Path) -> None:
    messages = case("k02-17")["input"]["messages"]
    session = session_of([pair({"model": "m", "messages": messages})], tmp_path)
    blocks = [entry.block for entry in session.window().entries]
    assert [block.tool_id for block in blocks] == ["", "call-1", "call-2", "call-1", "call-2"]
    assert [json.loads(block.meta)["call_id"] for block in blocks[1:]] == [""] * 4
    body = session.render().body
    assert check_openai(body) == ()
    assert [m["content"] for m in body["messages"][2:]] == ["ra", "rb"]


def test_a_shortened_history_keeps_its_pairs(tmp_path: Path) -> None:
    """Counters mean other calls once the front is gone; what stays keeps its items and ids."""
    turns: list[Json] = []
    for number in range(4):
        turns += [{"role": "user", "content": f"do {number}"},
                  {"role": "assistant", "content": None,
                   "tool_calls": [call("call_0", f'{{"n":{number}}}')]},
                  {"role": "tool", "tool_call_id": "call_0", "content": f"r{number}"}]  # fmt: skip
    rows = [
        pair({"model": "m", "messages": turns[:9]}),
        pair({"model": "m", "messages": turns[3:]}),
    ]
    session = session_of(rows, tmp_path)
    ids = [e.block.tool_id for e in session.window().entries if e.block.tool_id]
    assert ids == ["call_0-2", "call_0-2", "call_0-3", "call_0-3", "call_0-4", "call_0-4"]


def test_a_cleared_result_still_answers_its_call(tmp_path: Path) -> None:
    def history(content: str) -> list[Json]:
        return [{"role": "user", "content": "x"},
                {"role": "assistant", "tool_calls": [call("", '{"a":1}'), call("", '{"a":2}')]},
                {"role": "tool", "tool_call_id": "", "content": content},
                {"role": "tool", "tool_call_id": "", "content": "second"}]  # fmt: skip

    rows = [pair({"model": "m", "messages": history("first")}),
            pair({"model": "m", "messages": [*history("[old]"),
                                             {"role": "user", "content": "y"}]})]  # fmt: skip
    session = session_of(rows, tmp_path)
    shown = [(e.block.tool_id, e.text) for e in session.window().entries]
    assert shown[3:] == [("call-1", "[old]"), ("call-2", "second"), ("", "y")]


def test_an_answer_comes_back_without_a_rewrite(tmp_path: Path) -> None:
    """Clients send answers back without ids and empty fields."""
    first = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    answer = {"content": None, "tool_calls": [call("call_abcdefghijkl")]}
    echo = {"role": "assistant", "tool_calls": [call("call_abcdefghijkl")], "content": ""}
    result = {"role": "tool", "tool_call_id": "call_abcdefghijkl", "content": "r"}
    second = {"model": "m", "messages": [*first["messages"], echo, result]}  # type: ignore[misc]
    rows = [pair(first, said(1, answer)), pair(second, said(2, {"content": "done"}))]
    session = session_of(rows, tmp_path)
    assert not list(session.events(types=("window_rewritten",)))
    assert len(session.window().entries) == 4


def test_outcomes() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    too_long = {"error": {"message": "This model's maximum context length is 9", "type": "i",
                          "code": "context_length_exceeded"}}  # fmt: skip
    failed = responded(1, status="failed", error={"code": "server_error", "message": "m"})
    cut = responded(1, text_item(1, "y"), status="incomplete",
                    incomplete_details={"reason": "max_output_tokens"})  # fmt: skip
    for answer, status, outcome in (
        (too_long, 400, "overflow"),
        ({"error": {"message": "no", "code": None}}, 429, "error"),
        (failed, 200, "error"),
        (cut, 200, "cut_off"),
        (said(1, {"content": None, "refusal": "No."}), 200, "refused"),
        (None, 500, "error"),
    ):
        drafts = drafts_of([pair(body, answer, status_code=status)])
        assert of_type(drafts, CompleteCall)[0].outcome == outcome


def sse(*events: Json, done: bool = True) -> str:
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join(lines) + ("data: [DONE]\n\n" if done else "")


def chunk(delta: Json, **choice: Any) -> Json:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-4o-1",
            "choices": [{"index": 0, "delta": delta, **choice}]}  # fmt: skip


def test_chunks_are_put_together_with_their_usage() -> None:
    usage = {**chunk({}), "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    events = [
        chunk({"role": "assistant", "content": ""}), chunk({"content": "Let "}),
        chunk({"content": "me."}),
        chunk({"tool_calls": [{"index": 0, "id": "call_abcdefghij", "type": "function",
                               "function": {"name": "f", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]}),
        chunk({"tool_calls": [{"index": 1, "id": "call_klmnopqrst", "type": "function",
                               "function": {"name": "g", "arguments": "{}"}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}),
        chunk({}, finish_reason="tool_calls"), usage,
    ]  # fmt: skip
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
    for streamed in (sse(*events), list(events)):
        drafts = drafts_of([pair(body, streamed)])
        answer = of_type(drafts, AppendMessage)[-1]
        assert [(b.type, b.text) for b in answer.blocks] == [
            ("text", "Let me."), ("tool_use", '{"a":1}'), ("tool_use", "{}"),
        ]  # fmt: skip
        (done,) = of_type(drafts, CompleteCall)
        assert (done.outcome, done.usage.output_tokens) == ("ok", 2)
    cut = drafts_of([pair(body, sse(*events[:5], done=False))])
    assert of_type(cut, CompleteCall)[0].outcome == "cut_off"
    assert of_type(cut, AppendMessage)[-1].blocks[1].text == '{"a"'


def test_calls_without_ids_and_numbers_are_not_joined() -> None:
    """A part of case k02-17: servers that number every call 0, or none."""
    for extra in ({"index": 0, "id": ""}, {"id": ""}, {"index": 0}):
        parts = [{**extra, "function": {"name": "f", "arguments": f'{{"u":"{u}"}}'}} for u in "ab"]
        events = [chunk({"tool_calls": [part]}) for part in parts]
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
        drafts = drafts_of([pair(body, sse(*events, chunk({}, finish_reason="tool_calls")))])
        answer = of_type(drafts, AppendMessage)[-1]
        assert [block.text for block in answer.blocks] == ['{"u":"a"}', '{"u":"b"}']
        assert [block.tool_id for block in answer.blocks] == ["call-1", "call-2"]


def test_response_events_are_put_together() -> None:
    whole = responded(1, text_item(1, "four"), usage={"input_tokens": 1, "output_tokens": 1})
    started = {"type": "response.created", "sequence_number": 0,
               "response": {**whole, "status": "in_progress", "output": []}}  # fmt: skip
    item = {**text_item(1, ""), "content": [], "status": "in_progress"}
    deltas = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {
            "type": "response.output_text.delta",
            "output_index": 0,
            "content_index": 0,
            "delta": "fo",
        },
    ]
    end = {"type": "response.completed", "response": whole}
    body = {"model": "m", "input": "x", "stream": True}
    drafts = drafts_of([pair(body, sse(started, *deltas, end))])
    assert of_type(drafts, CompleteCall)[0].outcome == "ok"
    assert of_type(drafts, AppendMessage)[-1].blocks[0].text == "four"
    drafts = drafts_of([pair(body, sse(started, *deltas, done=False))])
    assert of_type(drafts, CompleteCall)[0].outcome == "cut_off"
    assert of_type(drafts, AppendMessage)[-1].blocks[0].text == "fo"
