"""The native grammar: what each line says. One file because each type has one short test."""

from __future__ import annotations

from typing import Any

import pytest

from ctxledger.ledger.content import Block, block_value
from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    ChangePhase,
    CompleteCall,
    EvictItems,
    ExtendMessage,
    ImportCompaction,
    Keep,
    NewBlocks,
    Note,
    OpenSession,
    ReinjectItems,
    RewriteWindow,
    SetSystem,
    SetTools,
    StartCall,
    Usage,
)
from ctxledger.ledger.formats.base import Fed, Record
from ctxledger.ledger.formats.native import NativeFold

HELLO = {"role": "user", "content": "hello"}


def feed(*lines: object) -> list[Fed]:
    fold = NativeFold("main")
    return [fold.feed(Record(offset=0, data=b"", value=line)) for line in lines]


def draft_of(line: dict[str, Any]) -> AnyDraft:
    """The draft of a line that follows a first message."""
    fed = feed(HELLO, line)[1]
    assert fed.kind == "window"
    (draft,) = fed.drafts
    return draft


def text(words: str, origin: str) -> Block:
    return Block(type="text", text=words, origin=origin)  # type: ignore[arg-type]


def test_the_first_line_opens_its_session_once() -> None:
    first, second = feed(HELLO, HELLO)
    assert first.drafts[0] == OpenSession(session="main", format="native")
    assert len(second.drafts) == 1
    assert feed({"type": "call", "call": "c", "model": "m"})[0].drafts[0] == OpenSession(
        session="main", format="native", model="m"
    )


def test_message_with_text() -> None:
    line = {"id": "u1", "at": "2030-01-01T00:00:00Z", "actor": "cron", **HELLO}
    assert draft_of(line) == AppendMessage(
        session="main",
        at_ms=1_893_456_000_000,
        actor="cron",
        role="user",
        message="u1",
        blocks=(text("hello", "human"),),
    )


@pytest.mark.parametrize(
    ("role", "origin"),
    [
        ("user", "human"),
        ("assistant", "assistant"),
        ("tool", "tool"),
        ("system", "system"),
        ("developer", "system"),
        ("observer", "harness"),
    ],
)
def test_the_role_is_kept_and_gives_the_origin(role: str, origin: str) -> None:
    draft = draft_of({"type": "message", "role": role, "content": "x"})
    assert isinstance(draft, AppendMessage)
    assert (draft.role, draft.blocks[0].origin) == (role, origin)


def test_message_with_blocks_keeps_them_equal() -> None:
    blocks = [
        {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "r"}]},
        {"type": "made_up", "field": [1]},
    ]
    draft = draft_of({"role": "user", "content": blocks})
    assert isinstance(draft, AppendMessage)
    assert [block_value(block) for block in draft.blocks] == blocks
    assert [block.origin for block in draft.blocks] == ["human", "tool", "human"]


def test_origin_and_meta_for_all_blocks_or_one_for_each() -> None:
    two = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    same = draft_of({"role": "user", "content": two, "origin": "hook", "meta": {"exit": 1}})
    each = draft_of(
        {"role": "user", "content": two, "origin": ["hook", None], "meta": [None, {"exit": 1}]}
    )
    assert isinstance(same, AppendMessage)
    assert isinstance(each, AppendMessage)
    assert [(b.origin, b.meta) for b in same.blocks] == [("hook", '{"exit":1}')] * 2
    assert [(b.origin, b.meta) for b in each.blocks] == [("hook", ""), ("human", '{"exit":1}')]


def test_late_blocks_extend_an_earlier_message() -> None:
    assert draft_of({"message": "u1", "role": "assistant", "content": "more"}) == ExtendMessage(
        session="main", message="u1", blocks=(text("more", "assistant"),)
    )
    assert draft_of(
        {"type": "message", "message": "u1", "origin": "hook", "content": "more"}
    ) == ExtendMessage(session="main", message="u1", blocks=(text("more", "hook"),))


def test_system_and_tools() -> None:
    assert draft_of({"type": "system", "content": "be brief"}) == SetSystem(
        session="main", blocks=(text("be brief", "system"),)
    )
    assert draft_of({"type": "system", "content": []}) == SetSystem(session="main", blocks=())
    draft = draft_of({"type": "tools", "tools": [{"name": "read", "input_schema": {}}]})
    assert isinstance(draft, SetTools)
    assert [tool.tool_name for tool in draft.tools] == ["read"]


def test_call_and_result() -> None:
    assert draft_of(
        {"type": "call", "call": "r1", "model": "m", "params": {"max_tokens": 5}, "retry": True}
    ) == StartCall(session="main", call="r1", model="m", params='{"max_tokens":5}', is_retry=True)
    usage = {
        "input_tokens": 1,
        "cache_read_input_tokens": 2,
        "cache_creation_input_tokens": 3,
        "output_tokens": 4,
        "iterations": [{"type": "compaction", "input_tokens": 9}],
    }
    assert draft_of(
        {
            "type": "result",
            "call": "r1",
            "usage": usage,
            "stop_reason": "end_turn",
            "edits": [{"type": "clear"}],
            "latency_ms": 12,
        }
    ) == CompleteCall(
        session="main",
        call="r1",
        stop_reason="end_turn",
        latency_ms=12,
        edits='[{"type":"clear"}]',
        usage=Usage(input_tokens=1, cache_read_tokens=2, cache_write_tokens=3, output_tokens=4),
        iterations=(Usage(input_tokens=9, kind="compaction"),),
    )


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({}, "ok"),
        ({"error": "timeout"}, "error"),
        ({"error": {"type": "overloaded"}}, "error"),
        ({"stop_reason": "refusal"}, "refused"),
        ({"stop_reason": "max_tokens"}, "cut_off"),
        ({"outcome": "overflow", "error": "too long"}, "overflow"),
    ],
)
def test_the_outcome_of_a_result(fields: dict[str, Any], outcome: str) -> None:
    draft = draft_of({"type": "result", "call": "r1", **fields})
    assert isinstance(draft, CompleteCall)
    assert draft.outcome == outcome


def test_evict_and_reinject() -> None:
    assert draft_of(
        {"type": "evict", "items": ["42.1", "u1/0"], "placeholder": "[gone]", "reason": "old"}
    ) == EvictItems(session="main", items=("42.1", "u1/0"), placeholder="[gone]", reason="old")
    assert draft_of({"type": "reinject", "items": ["42.1"], "after": "50.0"}) == ReinjectItems(
        session="main", items=("42.1",), after="50.0"
    )
    assert draft_of({"type": "reinject", "text": "never push"}) == ReinjectItems(
        session="main", text="never push"
    )


def test_compact_with_a_text_with_columns_and_with_blocks() -> None:
    def blocks_of(brief: object) -> tuple[Block, ...]:
        draft = draft_of({"type": "compact", "id": "b1", "sources": ["u1/0"], "brief": brief})
        assert isinstance(draft, ImportCompaction)
        assert (draft.message, draft.role, draft.sources) == ("b1", "user", ("u1/0",))
        return draft.blocks

    assert blocks_of("so far: nothing") == (text("so far: nothing", "summary"),)
    assert blocks_of({"Goal": "ship", "Done": ["a", "b"]}) == (
        text("Goal: ship\nDone: a\nDone: b", "summary"),
    )
    assert blocks_of([{"type": "text", "text": "x"}]) == (text("x", "summary"),)


def test_compact_without_sources_stands_for_all() -> None:
    draft = draft_of({"type": "compact", "brief": "b", "reason": "auto", "tokens_before": 7})
    assert isinstance(draft, ImportCompaction)
    assert (draft.sources, draft.reason, draft.tokens_before) == (None, "auto", 7)


def test_note_and_phase() -> None:
    assert draft_of(
        {
            "type": "note",
            "kind": "constraint",
            "text": "never push",
            "status": "active",
            "source": "u1/0",
            "pin": True,
        }
    ) == Note(
        session="main",
        kind="constraint",
        text="never push",
        status="active",
        source="u1/0",
        is_pinned=True,
    )
    assert draft_of({"type": "phase", "name": "testing"}) == ChangePhase(
        session="main", name="testing"
    )


def test_rewrite_names_what_stays_and_what_is_new() -> None:
    parts = [
        {"message": "u1", "first": 1, "count": 2},
        {"message": "u2"},
        {"message": "n1", "role": "user", "content": "again"},
    ]
    assert draft_of({"type": "rewrite", "parts": parts, "cause": "rewind"}) == RewriteWindow(
        session="main",
        cause="rewind",
        is_inferred=False,
        parts=(Keep("u1", 1, 2), Keep("u2"), NewBlocks("n1", "user", (text("again", "human"),))),
    )


def test_a_session_line_names_the_session_of_the_lines_behind_it() -> None:
    header = {
        "type": "session",
        "name": "work",
        "title": "T",
        "model": "m",
        "limit": 200_000,
        "folder": "/x",
        "branch": "b",
        "coverage": "exact",
    }
    opened, message, other, again = feed(header, HELLO, {"session": "side", **HELLO}, HELLO)
    assert opened.drafts == (
        OpenSession(
            session="work",
            format="native",
            title="T",
            model="m",
            limit_tokens=200_000,
            folder="/x",
            branch="b",
            coverage="exact",
        ),
    )
    assert [draft.session for draft in message.drafts] == ["work"]
    assert [draft.session for draft in other.drafts] == ["side", "side"]
    assert [draft.session for draft in again.drafts] == ["work"]


def test_a_session_with_a_parent_is_a_fork_unless_it_says_otherwise() -> None:
    fork, subagent = feed(
        {"type": "session", "name": "f", "parent": "p", "parent_message": "u1"},
        {"type": "session", "name": "s", "parent": "p", "relation": "subagent"},
    )
    assert fork.drafts == (
        OpenSession(session="f", format="native", relation="fork", parent="p", parent_message="u1"),
    )
    assert isinstance(subagent.drafts[0], OpenSession)
    assert subagent.drafts[0].relation == "subagent"


@pytest.mark.parametrize(
    ("at", "at_ms"),
    [
        ("2030-01-01T01:00:00+01:00", 1_893_456_000_000),
        ("2030-01-01", 1_893_456_000_000),
        (1_893_456_000_000, 1_893_456_000_000),
        (1.5, 1),
        ("yesterday", None),
        (-1, None),
        (True, None),
        (10**20, None),
        ("9999-12-31T23:59:59-23:59", None),
        ([], None),
    ],
)
def test_at_is_iso_or_milliseconds_and_never_costs_the_line(at: object, at_ms: int | None) -> None:
    assert draft_of({"at": at, **HELLO}).at_ms == at_ms


def test_the_key_is_the_id() -> None:
    fold = NativeFold("main")
    values: list[object] = [{"id": "u1"}, {"id": 7}, {"id": True}, {"id": None}, {}, [1], None]
    keys = [fold.key(Record(offset=0, data=b"", value=value)) for value in values]
    assert keys == ["u1", "7", "", "", "", "", ""]
