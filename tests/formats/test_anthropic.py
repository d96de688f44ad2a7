"""Traffic of the Messages API: every call's request can be rebuilt from the drafts before it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    CompleteCall,
    OpenSession,
    RewriteWindow,
    SetTools,
)
from ctxledger.ledger.formats.anthropic import AnthropicFold
from ctxledger.ledger.formats.base import Fed, Record

FIXTURES = Path(__file__).parents[1] / "fixtures"
Json = dict[str, Any]
Rebuild = Callable[[Iterable[AnyDraft]], list[Json]]


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
def test_requests_of_a_bundled_cassette_are_rebuilt(name: str, rebuild: Rebuild) -> None:
    path = FIXTURES / f"anthropic-{name}.yaml"
    assert rebuild(read_file(path).drafts) == sent_in(path)


def test_every_recorded_request_is_rebuilt(recordings: Path, rebuild: Rebuild) -> None:
    paths = sorted((recordings / "anthropic").glob("*.yaml"))
    assert paths
    for path in paths:
        assert rebuild(read_file(path).drafts) == sent_in(path), path.name


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


def test_a_longer_copy_of_a_cassette_adds_only_what_is_new() -> None:
    document = yaml.safe_load((FIXTURES / "anthropic-agent-loop.yaml").read_bytes())
    short = {key: document[key][:1] for key in ("requests", "responses")}
    fold = AnthropicFold("main")
    one = fold.feed(Record(offset=0, data=yaml.safe_dump(short).encode()))
    two = fold.feed(Record(offset=0, data=yaml.safe_dump(document).encode()))
    assert [*one.drafts, *two.drafts] == list(
        read_file(FIXTURES / "anthropic-agent-loop.yaml").drafts
    )
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
