"""Traffic of OpenAI's APIs: every call's request is rendered as it was sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxledger.ledger import Ledger
from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    CompleteCall,
    ImportCompaction,
    OpenSession,
    RewriteWindow,
    SetTools,
    StartCall,
)
from ctxledger.ledger.formats.base import Record
from ctxledger.ledger.formats.openai import OpenAIFold
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.render.openai_rules import check_openai
from ctxledger.ledger.session import Session

from ..render import openai_bodies as made
from .traffic import Taken, take

FIXTURES = Path(__file__).parents[1] / "fixtures"
Json = dict[str, Any]
CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"


def pair(body: Json, answer: Any = None, url: str = "", **response: Any) -> Json:
    url = url or (CHAT if "messages" in body else RESPONSES)
    came = {"status_code": 200, "body": answer, **response}
    return {"request": {"method": "POST", "url": url, "body": body}, "response": came}


def said(number: int, message: Json, **fields: Any) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", "refusal": None, "annotations": [],
                                      **message}, "finish_reason": "stop"}  # fmt: skip
    return {"id": f"chatcmpl-{number}", "object": "chat.completion", "model": "gpt-4o-1",
            "choices": [choice], **fields}  # fmt: skip


def responded(number: int, *output: Json, **fields: Any) -> Json:
    return {"id": f"resp_{number}", "object": "response", "model": "gpt-5-1", "error": None,
            "status": "completed", "output": list(output), **fields}  # fmt: skip


def text_item(number: int, text: str) -> Json:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": f"msg_{number}", "status": "completed",
            "role": "assistant", "content": [part]}  # fmt: skip


def call(name: str | None, arguments: str = "{}") -> Json:
    entry: Json = {"type": "function", "function": {"name": "f", "arguments": arguments}}
    return entry if name is None else {"id": name, **entry}


def drafts_of(rows: Iterable[object], fold: OpenAIFold | None = None) -> list[AnyDraft]:
    fold = fold or OpenAIFold("main")
    feds = [fold.feed(Record(offset=0, data=json.dumps(r).encode(), value=r)) for r in rows]
    return [draft for fed in feds for draft in fed.drafts]


def of_type(drafts: Iterable[AnyDraft], kind: type) -> list[Any]:
    return [draft for draft in drafts if isinstance(draft, kind)]


def session_of(rows: Iterable[object], folder: Path) -> Session:
    """The main session that rows make in a ledger; every request is checked on the way."""
    rows = list(rows)
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    taken = take(data, folder)
    sent = [row["request"]["body"] for row in rows if isinstance(row, dict) and "request" in row]
    assert taken.requests == sent
    return taken.main


def sent_in(path: Path) -> list[Json]:
    """The OpenAI requests of a cassette, read without the code under test."""
    document = yaml.safe_load(path.read_bytes())
    requests = [entry["request"] for entry in document["interactions"]]
    return [r["parsed_body"] for r in requests if "openai.com" in r["uri"]]


def rendered(path: Path, folder: Path) -> list[Json]:
    ledger = Ledger.open(folder / f"{path.stem}.db")
    import_file(ledger, path)
    return Taken(ledger).requests


# -- recordings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chat-tool-calls", "responses-compact"])
def test_requests_of_a_bundled_cassette_are_rendered_as_sent(name: str, tmp_path: Path) -> None:
    path = FIXTURES / f"openai-{name}.yaml"
    assert rendered(path, tmp_path) == sent_in(path)


def test_every_recorded_request_is_rendered_as_sent(recordings: Path, tmp_path: Path) -> None:
    paths = sorted((recordings / "openai").glob("*.yaml"))
    assert paths
    for path in paths:
        assert rendered(path, tmp_path) == sent_in(path), path.name


def test_an_agent_loop_is_one_session_that_only_grows() -> None:
    data = (FIXTURES / "openai-chat-tool-calls.yaml").read_bytes()
    drafts = OpenAIFold("main").feed(Record(offset=0, data=data)).drafts
    (opened,) = of_type(drafts, OpenSession)
    assert (opened.session, opened.format, opened.coverage) == ("main", "openai", "exact")
    assert not of_type(drafts, RewriteWindow)
    assert len(of_type(drafts, SetTools)) == 1
    assert [m.role for m in of_type(drafts, AppendMessage)] == [
        "user", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    first, last = of_type(drafts, CompleteCall)
    assert (first.outcome, first.stop_reason) == ("ok", "tool_calls")
    assert (last.usage.input_tokens, last.usage.output_tokens) == (129, 9)


def test_compact_is_a_compaction_with_an_opaque_item(tmp_path: Path) -> None:
    path = FIXTURES / "openai-responses-compact.yaml"
    ledger = Ledger.open(tmp_path / "x.db")
    import_file(ledger, path)
    session = Taken(ledger).calls[0][0]
    before, after = session.window("c1^"), session.window("c1")
    assert [entry.text for entry in before.entries[1:]] == [
        "What is 2+2?", "2 + 2 = 4.", "And 3+3?", "3 + 3 = 6.",
    ]  # fmt: skip
    assert [entry.text for entry in after.entries[1:3]] == ["What is 2+2?", "And 3+3?"]
    opaque = after.entries[3]
    assert (opaque.form, opaque.type, opaque.category) == ("opaque", "compaction", "brief")
    assert opaque.text.startswith("[opaque: ")
    assert "gAAAA" not in after.text()
    # What went on without the kept messages is a change of its own.
    assert [entry.form for entry in session.window().entries] == [
        "verbatim", "opaque", "verbatim", "verbatim",
    ]  # fmt: skip
    session.rollback("c1")
    texts = [entry.text for entry in session.window().entries]
    assert [text for text in texts if " = " in text] == ["2 + 2 = 4.", "3 + 3 = 6.", "5 + 5 = 10"]
    assert not any(text.startswith("[opaque") for text in texts)


# -- chat ---------------------------------------------------------------------------------------


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
            pair({"model": "m", "messages": [*history("[old]"), {"role": "user", "content": "y"}]})]  # fmt: skip
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


# -- streams ------------------------------------------------------------------------------------


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


# -- chains -------------------------------------------------------------------------------------


def chain(number: int, text: str, **fields: Any) -> Json:
    body: Json = {"model": "gpt-5", "input": [{"role": "user", "content": text}], **fields}
    if number > 1:
        body["previous_response_id"] = f"resp_{number - 1}"
    return pair(body, responded(number, text_item(number, f"answer {number}")))


def test_a_chain_shows_what_the_model_saw(tmp_path: Path) -> None:
    session = session_of([chain(n, f"question {n}") for n in (1, 2, 3)], tmp_path)
    assert [entry.text for entry in session.window("call3").entries] == [
        "question 1", "answer 1", "question 2", "answer 2", "question 3",
    ]  # fmt: skip
    assert not list(session.events(types=("window_rewritten",)))
    body = session.render().body
    assert "previous_response_id" not in body
    assert len(body["input"]) == 6


def test_a_chain_that_goes_back_is_a_rewind(tmp_path: Path) -> None:
    rows = [chain(1, "one"), chain(2, "two"), chain(3, "three")]
    again = chain(2, "another two")
    again["response"]["body"] = responded(4, text_item(4, "answer 4"))
    session = session_of([*rows, again], tmp_path)
    assert [entry.text for entry in session.window("call4").entries] == [
        "one", "answer 1", "another two",
    ]  # fmt: skip
    (rewritten,) = session.events(types=("window_rewritten",))
    assert rewritten.event.cause == "rewind"  # type: ignore[union-attr]


def test_a_chain_that_begins_before_the_recording_is_no_exact_one() -> None:
    drafts = drafts_of([chain(7, "late")])
    (opened,) = of_type(drafts, OpenSession)
    assert opened.coverage == "conversation"
    assert len(of_type(drafts, StartCall)) == 1


def test_a_conversation_of_the_provider_is_a_chain(tmp_path: Path) -> None:
    rows = [pair({"model": "m", "input": f"q{n}", "conversation": {"id": "conv_1"}},
                 responded(n, text_item(n, f"a{n}"))) for n in (1, 2)]  # fmt: skip
    session = session_of(rows, tmp_path)
    assert [e.text for e in session.window().entries] == ["q1", "a1", "q2", "a2"]


def test_references_to_items_show_the_items(tmp_path: Path) -> None:
    rows = [pair({"model": "m", "input": "q"}, responded(1, text_item(1, "a"))),
            pair({"model": "m", "input": [{"role": "user", "content": "q"},
                                          {"type": "item_reference", "id": "msg_1"},
                                          {"role": "user", "content": "r"}]})]  # fmt: skip
    session = session_of(rows, tmp_path)
    assert [e.text for e in session.window().entries] == ["q", "a", "r"]
    assert not list(session.events(types=("window_rewritten",)))


def test_a_compaction_inside_a_chain_cuts_what_the_model_saw(tmp_path: Path) -> None:
    first = chain(1, "one")
    compaction = {"type": "compaction", "id": "cmp_1", "encrypted_content": "SECRET"}
    first["response"]["body"]["output"].insert(0, compaction)
    session = session_of([first, chain(2, "two")], tmp_path)
    call2 = session.resolve("call2")
    sent = [e.text for e in session.window(call2 + 1, view="sent").entries]
    seen = [e.text for e in session.window(call2 + 1, view="effective").entries]
    assert sent[0] == "one"
    assert seen[0].startswith("[opaque: ")
    assert seen[1:] == sent[2:]


def test_compact_that_rewrites_messages_is_no_plain_compaction() -> None:
    rows = [pair({"model": "m", "input": "q"}, responded(1, text_item(1, "a")))]
    new = {"role": "user", "content": "summary of q", "type": "message"}
    answer = {**responded(2, new), "object": "response.compaction"}
    rows.append(pair({"model": "m", "input": "q"}, answer, url=f"{RESPONSES}/compact"))
    drafts = drafts_of(rows)
    assert not of_type(drafts, ImportCompaction)
    assert of_type(drafts, RewriteWindow)


# -- whatever comes -----------------------------------------------------------------------------


def test_other_endpoints_are_outside_and_headers_are_not_kept(tmp_path: Path) -> None:
    row = pair({"model": "e", "input": "x"}, url="https://api.openai.com/v1/embeddings")
    assert OpenAIFold("main").feed(Record(offset=0, data=b"x", value=row)).kind == "outside"
    secret = pair({"model": "m", "input": "x"}, responded(1, text_item(1, "y")))
    secret["request"]["headers"] = {"authorization": "Bearer sk-secret"}
    assert "sk-secret" not in repr(drafts_of([secret]))


def test_helpers_do_not_join_a_session_by_a_counted_id() -> None:
    def body(task: str) -> Json:
        return {"model": "m", "messages": [
            {"role": "user", "content": task},
            {"role": "assistant", "tool_calls": [call("call_0", f'{{"t":"{task}"}}')]},
            {"role": "tool", "tool_call_id": "call_0", "content": task}]}  # fmt: skip

    drafts = drafts_of([pair(body("one"), said(1, {"content": "a"})), pair(body("two"))])
    assert len(of_type(drafts, OpenSession)) == 2


def test_messages_without_requests_are_a_conversation(tmp_path: Path) -> None:
    rows: list[Json] = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call("")]},
        {"role": "tool", "tool_call_id": "", "content": "r"},
    ]
    drafts = drafts_of(rows)
    (opened,) = of_type(drafts, OpenSession)
    assert opened.coverage == "conversation"
    ids = [m.blocks[0].tool_id for m in of_type(drafts, AppendMessage)]
    assert ids == ["", "call-1", "call-1"]


def test_a_longer_copy_of_a_cassette_adds_only_what_is_new() -> None:
    path = FIXTURES / "openai-responses-compact.yaml"
    document = yaml.safe_load(path.read_bytes())
    short = {**document, "interactions": document["interactions"][:2]}
    fold = OpenAIFold("main")
    one = fold.feed(Record(offset=0, data=yaml.safe_dump(short).encode()))
    two = fold.feed(Record(offset=0, data=path.read_bytes()))
    whole = OpenAIFold("main").feed(Record(offset=0, data=path.read_bytes()))
    assert [*one.drafts, *two.drafts] == list(whole.drafts)


@settings(max_examples=25)
@given(bodies=st.lists(made.chat_bodies | made.response_bodies, max_size=5), data=st.data())
def test_any_requests_in_any_order_are_rendered_as_sent(
    bodies: list[Json], data: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    grown = []
    for body in bodies:
        listed = body.get("messages", body.get("input"))
        if not isinstance(listed, list if "messages" in body else list | str):
            continue  # no request of these APIs
        grown.append(body)
        if isinstance(listed, list) and listed:
            kept = data.draw(st.lists(st.sampled_from(listed), max_size=6))
            grown.append({**body, "messages" if "messages" in body else "input": kept})
    folder = tmp_path_factory.mktemp("any")
    rows = [pair(body, said(n, {"content": "ok"})) for n, body in enumerate(grown)]
    path = folder / "t.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    with Ledger.open(folder / "t.db") as ledger:
        import_file(ledger, path, format_name="openai")
        taken = Taken(ledger)
        assert taken.requests == grown
        for session, version, _ in taken.calls:
            assert check_openai(session.render(version).body) == ()
