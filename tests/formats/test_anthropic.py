"""Traffic of the Messages API: every call's request can be rebuilt from the drafts before it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ctxledger.ledger.content import Block, digest_of
from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    CompleteCall,
    ExtendMessage,
    Keep,
    OpenSession,
    QuarantineRecord,
    RewriteWindow,
    SetSystem,
    SetTools,
    StartCall,
)
from ctxledger.ledger.formats.anthropic import AnthropicFold
from ctxledger.ledger.formats.base import Fed, Record
from ctxledger.ledger.render.base import Placed
from ctxledger.ledger.render.recorded import render_recorded

FIXTURES = Path(__file__).parents[1] / "fixtures"
Json = dict[str, Any]


class SessionModel:
    """A session's window, kept the simplest way: what the drafts say, done to lists."""

    def __init__(self) -> None:
        self.system: tuple[Block, ...] = ()
        self.tools: tuple[Block, ...] = ()
        self.known: dict[str, list[Block]] = {}
        self.roles: dict[str, str] = {}
        self.window: list[tuple[str, int]] = []

    def introduce(self, message: str, role: str, blocks: Iterable[Block]) -> list[tuple[str, int]]:
        assert self.roles.setdefault(message, role) == role
        known = self.known.setdefault(message, [])
        first = len(known)
        known.extend(blocks)
        return [(message, place) for place in range(first, len(known))]

    def take(self, draft: AnyDraft) -> None:
        if isinstance(draft, SetSystem):
            self.system = draft.blocks
        elif isinstance(draft, SetTools):
            self.tools = draft.tools
        elif isinstance(draft, AppendMessage):
            assert draft.message
            assert draft.message not in self.known, "message ids are unique in a session"
            self.window += self.introduce(draft.message, draft.role, draft.blocks)
        elif isinstance(draft, ExtendMessage):
            role = self.roles[draft.message]
            self.window += self.introduce(draft.message, role, draft.blocks)
        elif isinstance(draft, RewriteWindow):
            self.rewrite(draft)

    def rewrite(self, draft: RewriteWindow) -> None:
        window: list[tuple[str, int]] = []
        for part in draft.parts:
            if isinstance(part, Keep):
                places = range(len(self.known[part.message]))
                last = None if part.count < 0 else part.first + part.count
                window += [(part.message, place) for place in places[part.first : last]]
            else:
                window += self.introduce(part.message, part.role, part.blocks)
        self.window = window

    def placed(self) -> list[Placed]:
        placed = [Placed("", "verbatim", "", "tools", block) for block in self.tools]
        placed += [Placed("", "verbatim", "", "system", block) for block in self.system]
        return placed + [
            Placed("", "verbatim", message, self.roles[message], self.known[message][place])
            for message, place in self.window
        ]


def rebuilt_requests(drafts: Iterable[AnyDraft]) -> list[Json]:
    """Each call's request, rendered from the window that the drafts before it make."""
    sessions: dict[str, SessionModel] = {}
    bodies = []
    for draft in drafts:
        model = sessions.setdefault(draft.session, SessionModel())
        model.take(draft)
        if isinstance(draft, StartCall) and draft.digest:
            body = render_recorded(model.placed(), draft.params, draft.marks)
            assert digest_of(body) == draft.digest
            bodies.append(body)
    return bodies


def read_file(path: Path) -> Fed:
    return AnthropicFold("main").feed(Record(offset=0, data=path.read_bytes()))


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


def sent_in(path: Path) -> list[Json]:
    """The requests of a cassette, read without the code under test."""
    document = yaml.safe_load(path.read_bytes())
    requests = document.get("requests") or [i["request"] for i in document["interactions"]]
    return [r.get("parsed_body") or json.loads(r["body"]) for r in requests]


@pytest.mark.parametrize("name", ["agent-loop", "thinking-stream"])
def test_requests_of_a_bundled_cassette_are_rebuilt(name: str) -> None:
    path = FIXTURES / f"anthropic-{name}.yaml"
    assert rebuilt_requests(read_file(path).drafts) == sent_in(path)


def test_every_recorded_request_is_rebuilt(recordings: Path) -> None:
    paths = sorted((recordings / "anthropic").glob("*.yaml"))
    assert paths
    for path in paths:
        assert rebuilt_requests(read_file(path).drafts) == sent_in(path), path.name


def test_the_provider_compaction_drops_all_before_it_from_the_next_call(recordings: Path) -> None:
    drafts = read_file(recordings / "anthropic" / "compaction-end-to-end.yaml").drafts
    first, second = of_type(drafts, CompleteCall)
    assert (first.dropped_before, [u.kind for u in first.iterations]) == (
        "", ["compaction", "message"],
    )  # fmt: skip
    assert [usage.context_tokens for usage in first.iterations] == [55196, 220]
    answer = of_type(drafts, AppendMessage)[1]
    assert [(b.type, b.origin) for b in answer.blocks] == [
        ("compaction", "summary"), ("text", "assistant"),
    ]  # fmt: skip
    assert (second.dropped_before, second.dropped_before_block) == (answer.message, 0)
    assert second.usage.context_tokens == 239


def test_an_agent_loop_is_one_session_that_only_grows() -> None:
    drafts = read_file(FIXTURES / "anthropic-agent-loop.yaml").drafts
    (opened,) = of_type(drafts, OpenSession)
    assert (opened.session, opened.coverage, opened.relation) == ("main", "exact", "")
    assert [m.role for m in of_type(drafts, AppendMessage)] == [
        "user", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert not of_type(drafts, RewriteWindow)
    assert len(of_type(drafts, SetTools)) == 1
    ids = [m.message for m in of_type(drafts, AppendMessage)]
    assert ids[0] == "q1.0"
    assert ids[1].startswith("msg_01Cb")
    assert ids[2] == "q2.2"
    assert [b.origin for b in of_type(drafts, AppendMessage)[2].blocks] == ["tool"]


def test_a_stream_is_put_together_with_its_usage() -> None:
    drafts = read_file(FIXTURES / "anthropic-thinking-stream.yaml").drafts
    answer = of_type(drafts, AppendMessage)[-1]
    assert [b.type for b in answer.blocks] == ["thinking", "text"]
    assert len(json.loads(answer.blocks[0].rest)["signature"]) > 100
    assert json.loads(answer.blocks[0].meta) == {"model": "claude-sonnet-4-20250514"}
    (completed,) = of_type(drafts, CompleteCall)
    assert (completed.outcome, completed.stop_reason) == ("ok", "end_turn")
    assert (completed.usage.input_tokens, completed.usage.output_tokens) == (43, 282)


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
    cut = STREAM[: STREAM.index('\\u00e9')] + "\n"
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


def test_bodies_may_be_text_bytes_or_gzip() -> None:
    packed = gzip.compress(json.dumps(reply("yo", 1)).encode())
    cassette = {
        "requests": [{"method": "POST", "uri": "https://x/v1/messages",
                      "body": json.dumps(REQUEST).encode()}],
        "responses": [{"status": {"code": 200}, "body": {"string": packed}}],
    }  # fmt: skip
    fed = AnthropicFold("main").feed(Record(offset=0, data=yaml.safe_dump(cassette).encode()))
    assert [m.role for m in of_type(fed.drafts, AppendMessage)] == ["user", "assistant"]
    assert rebuilt_requests(fed.drafts) == [REQUEST]


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


def test_a_longer_copy_of_a_cassette_adds_only_what_is_new() -> None:
    document = yaml.safe_load((FIXTURES / "anthropic-agent-loop.yaml").read_bytes())
    short = {key: document[key][:1] for key in ("requests", "responses")}
    fold = AnthropicFold("main")
    one = fold.feed(Record(offset=0, data=yaml.safe_dump(short).encode()))
    two = fold.feed(Record(offset=0, data=yaml.safe_dump(document).encode()))
    assert [*one.drafts, *two.drafts] == list(read_file(FIXTURES / "anthropic-agent-loop.yaml").drafts)
    assert fold.feed(Record(offset=0, data=yaml.safe_dump(document).encode())).drafts == ()


def test_cleared_tool_uses_are_the_oldest_that_may_be_cleared() -> None:
    messages: list[Json] = [{"role": "user", "content": "go"}]
    for number, name in enumerate(["read", "memory", "read", "read", "read", "read"], 1):
        call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "x"}
        messages += [{"role": "assistant", "content": [call]}]
        messages += [{"role": "user", "content": [result]}]
    edit = {"type": "clear_tool_uses_20250919", "exclude_tools": ["memory"],
            "keep": {"type": "tool_uses", "value": 2}}  # fmt: skip
    applied = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2,
               "cleared_input_tokens": 50}  # fmt: skip
    row = {
        "request": {"body": {**REQUEST, "messages": messages,
                             "context_management": {"edits": [edit]}}},
        "response": {"body": reply("ok", 1, context_management={"applied_edits": [applied]})},
    }  # fmt: skip
    (completed,) = of_type(drafts_of(read_rows([row])), CompleteCall)
    assert completed.cleared_tool_ids == ("t1", "t3")
    assert json.loads(completed.edits) == [applied]
