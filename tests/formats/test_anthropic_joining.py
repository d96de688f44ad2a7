"""Which session a request joins, and what a changed past becomes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    ExtendMessage,
    Keep,
    NewBlocks,
    OpenSession,
    RewriteWindow,
    SetSystem,
    StartCall,
)
from ctxledger.ledger.formats.anthropic import AnthropicFold
from ctxledger.ledger.formats.base import Record

Json = dict[str, Any]
Rebuild = Callable[[Iterable[AnyDraft]], list[Json]]
TOOLS = [{"name": "Bash", "input_schema": {}}, {"name": "Read", "input_schema": {}}]
REMINDER = {"type": "text", "text": "<system-reminder>rules</system-reminder>"}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def user(*parts: str | Json) -> Json:
    return {"role": "user", "content": [text(p) if isinstance(p, str) else p for p in parts]}


def said(words: str) -> Json:
    return {"role": "assistant", "content": [text(words)]}


def agent(*messages: Json, **fields: Any) -> Json:
    return {"model": "m", "max_tokens": 9, "system": "You are the agent.", "tools": TOOLS,
            "messages": list(messages), **fields}  # fmt: skip


def helper(words: str, system: str = "Name the topic.", **fields: Any) -> Json:
    return {"model": "small", "max_tokens": 9, "system": system,
            "messages": [{"role": "user", "content": words}], **fields}  # fmt: skip


class Traffic:
    """Pairs fed to one fold; answers get the ids msg_1, msg_2 ..."""

    def __init__(self) -> None:
        self.fold = AnthropicFold("main")
        self.sent: list[Json] = []
        self.drafts: list[AnyDraft] = []

    def call(self, body: Json, answer: str | list[Json] | None = None, client: str = "") -> None:
        body = json.loads(json.dumps(body))
        self.sent.append(body)
        response: Json = {"status_code": 500, "body": None}
        if answer is not None:
            blocks = [text(answer)] if isinstance(answer, str) else answer
            response = {"status_code": 200, "body": {
                "type": "message", "role": "assistant", "id": f"msg_{len(self.sent)}",
                "content": blocks, "usage": {"input_tokens": 1}, "stop_reason": "end_turn",
            }}  # fmt: skip
        request = {"method": "POST", "url": "https://api.anthropic.com/v1/messages",
                   "headers": {"user-agent": client}, "body": body}  # fmt: skip
        row = {"request": request, "response": response}
        self.drafts += self.fold.feed(Record(offset=0, data=b"", value=row)).drafts

    @property
    def sessions(self) -> list[str]:
        """The session of each call."""
        return [draft.session for draft in self.drafts if isinstance(draft, StartCall)]

    def of_type(self, kind: type) -> list[Any]:
        return [draft for draft in self.drafts if isinstance(draft, kind)]


@pytest.fixture
def traffic() -> Traffic:
    return Traffic()


def test_helper_calls_are_side_sessions_of_their_own(traffic: Traffic, rebuild: Rebuild) -> None:
    quota = {"model": "small", "max_tokens": 1, "messages": [{"role": "user", "content": "quota"}]}
    prefill = {"role": "assistant", "content": "{"}
    topic = {**helper("fix the bug"), "messages": [user("fix the bug"), prefill]}
    traffic.call(quota, "#")
    traffic.call(topic, "}", client="claude-cli/1.0")
    traffic.call(agent(user(REMINDER, "fix the bug")), "done")
    traffic.call(
        {**topic, "messages": [user("now the docs"), prefill]}, "}", client="claude-cli/1.0"
    )
    traffic.call(agent(user(REMINDER, "fix the bug"), said("done"), user("now the docs")), "ok")
    summariser = {
        "model": "m",
        "max_tokens": 9,
        "system": "Summarise conversations.",
        "messages": [user(REMINDER, "fix the bug"), said("done"), user("Sum up.")],
    }
    traffic.call(summariser, "They fixed it.")
    assert traffic.sessions == [
        "main.side1", "main.side2", "main", "main.side3", "main", "main.side4",
    ]  # fmt: skip
    sides = [d for d in traffic.of_type(OpenSession) if d.session != "main"]
    assert {(d.relation, d.parent) for d in sides} == {("side", "main")}
    assert not traffic.of_type(RewriteWindow)
    assert rebuild(traffic.drafts) == traffic.sent


def test_one_instruction_and_other_questions_are_not_one_session(traffic: Traffic) -> None:
    for words in ("ls", "rm -r build", "git push"):
        traffic.call(agent(user("Policy: judge this command.", words), tools=[]), "safe")
    assert traffic.sessions == ["main", "main.side1", "main.side2"]


def test_a_subagent_with_the_same_preamble_is_not_the_agent(traffic: Traffic) -> None:
    traffic.call(agent(user(REMINDER, "build it")), "first")
    traffic.call(agent(user(REMINDER, "build it"), said("first"), user("go on")), "second")
    traffic.call(agent(user(REMINDER, "find the tests"), system="You are a searcher."), "found")
    traffic.call(agent(user(REMINDER, "find the docs"), system="You are a searcher."), "found")
    assert traffic.sessions == ["main", "main", "main.side1", "main.side2"]


def test_a_chat_without_tools_goes_on_when_its_system_prompt_changes(traffic: Traffic) -> None:
    chat = agent(user("a"), tools=[])
    traffic.call(chat, "b")
    traffic.call({**chat, "system": "New.", "messages": [user("a"), said("b"), user("c")]}, "d")
    assert traffic.sessions == ["main", "main"]
    assert len(traffic.of_type(SetSystem)) == 2


def test_requests_alone_still_grow_one_session(rebuild: Rebuild) -> None:
    fold, drafts = AnthropicFold("main"), []
    bodies = [
        agent(user("a")),
        agent(user("a"), said("b"), user("c")),
        agent(user("a"), said("b"), user("c"), said("d"), user("e")),
    ]
    for body in bodies:
        drafts += fold.feed(Record(offset=0, data=b"", value=body)).drafts
    assert {draft.session for draft in drafts} == {"main"}
    assert [d.message for d in drafts if isinstance(d, AppendMessage)] == [
        "q1.0", "q2.1", "q2.2", "q3.3", "q3.4",
    ]  # fmt: skip
    assert rebuild(drafts) == bodies


def test_bodies_that_alternate_are_calls_and_their_answers(rebuild: Rebuild) -> None:
    answer = {"type": "message", "role": "assistant", "id": "msg_a", "content": [text("b")]}
    rows = [agent(user("a")), answer, agent(user("a"), said("b"), user("c"))]
    fold, drafts = AnthropicFold("main"), []
    for row in rows:
        drafts += fold.feed(Record(offset=0, data=b"", value=row)).drafts
    assert [d.message for d in drafts if isinstance(d, AppendMessage)] == ["q1.0", "msg_a", "q2.2"]
    assert rebuild(drafts) == [rows[0], rows[2]]


def test_an_equal_request_after_an_error_is_a_retry(traffic: Traffic) -> None:
    traffic.call(agent(user("a")))
    traffic.call(agent(user("a")), "b")
    traffic.call(agent(user("a")), "c")
    assert [d.is_retry for d in traffic.of_type(StartCall)] == [False, True, False]
    assert [d.message for d in traffic.of_type(AppendMessage)] == ["q1.0", "msg_2", "msg_3"]
    (again,) = traffic.of_type(RewriteWindow)
    assert (again.cause, again.parts) == ("rewind", (Keep("q1.0"),))


def test_a_rewind_keeps_the_prefix_and_a_return_brings_the_answers_back(
    traffic: Traffic, rebuild: Rebuild
) -> None:
    traffic.call(agent(user("a")), "b")
    traffic.call(agent(user("a"), said("b"), user("c")), "d")
    traffic.call(agent(user("a"), said("b"), user("other")), "e")
    traffic.call(agent(user("a"), said("b"), user("c"), said("d"), user("f")), "g")
    first, second = traffic.of_type(RewriteWindow)
    assert (first.cause, first.parts) == ("rewind", (Keep("q1.0"), Keep("msg_1")))
    assert second.parts == (Keep("q1.0"), Keep("msg_1"), Keep("q2.2"), Keep("msg_2"))
    assert traffic.sessions == ["main"] * 4
    assert rebuild(traffic.drafts) == traffic.sent


def test_an_echo_that_differs_from_the_answer_is_an_echo(
    traffic: Traffic, rebuild: Rebuild
) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    traffic.call(agent(user("a")), [text("I run it.  "), {**call, "caller": {"type": "direct"}}])
    echo = {"role": "assistant", "content": [text("I run it."), call]}
    traffic.call(agent(user("a"), echo, user(result)), "done")
    (rewrite,) = traffic.of_type(RewriteWindow)
    assert rewrite.cause == "echo"
    assert rewrite.parts[0] == Keep("q1.0")
    assert [p.message for p in rewrite.parts[1:]] == ["msg_1"]
    assert [d.message for d in traffic.of_type(AppendMessage)] == ["q1.0", "msg_1", "q2.2", "msg_2"]
    assert rebuild(traffic.drafts) == traffic.sent


def test_a_null_field_of_an_answer_is_no_difference(traffic: Traffic, rebuild: Rebuild) -> None:
    traffic.call(agent(user("a")), [{"type": "text", "text": "b", "citations": None}])
    with_null = {"role": "assistant", "content": [{"type": "text", "text": "b", "citations": None}]}
    traffic.call(agent(user("a"), said("b"), user("c")), "d")
    traffic.call(agent(user("a"), with_null, user("c"), said("d"), user("e")), "f")
    assert not traffic.of_type(RewriteWindow)
    assert rebuild(traffic.drafts) == traffic.sent


def test_a_cleared_result_and_a_moving_reminder_are_edits(
    traffic: Traffic, rebuild: Rebuild
) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 50}
    turn = {"role": "assistant", "content": [call]}
    traffic.call(agent(user("a")), [call])
    traffic.call(agent(user("a"), turn, user(result, REMINDER)), "b")
    cleared = {**result, "content": "[cleared]"}
    traffic.call(agent(user("a"), turn, user(cleared), said("b"), user("c", REMINDER)), "d")
    (rewrite,) = traffic.of_type(RewriteWindow)
    assert rewrite.cause == "edit"
    new = [part for part in rewrite.parts if isinstance(part, NewBlocks)]
    assert [(part.message, len(part.blocks)) for part in new] == [("q2.2", 1)]
    assert rebuild(traffic.drafts) == traffic.sent


def test_a_late_block_of_the_last_message_extends_it(traffic: Traffic, rebuild: Rebuild) -> None:
    traffic.call(agent(user("a")))
    traffic.call(agent(user("a", REMINDER)), "b")
    assert [(d.message, len(d.blocks)) for d in traffic.of_type(ExtendMessage)] == [("q1.0", 1)]
    assert rebuild(traffic.drafts) == traffic.sent


def test_a_summary_in_place_of_the_history_is_an_edit_of_the_session(
    traffic: Traffic, rebuild: Rebuild
) -> None:
    traffic.call(agent(user(REMINDER, "a")), "b")
    traffic.call(agent(user(REMINDER, "a"), said("b"), user("c")), "d")
    summary = "This session is being continued from a previous conversation: a, b, c, d."
    traffic.call(agent(user(REMINDER, summary), user("go on")), "e")
    (rewrite,) = traffic.of_type(RewriteWindow)
    assert rewrite.cause == "edit"
    assert traffic.sessions == ["main"] * 3
    assert rebuild(traffic.drafts) == traffic.sent


def test_a_new_conversation_after_clear_is_no_rewrite(traffic: Traffic) -> None:
    traffic.call(agent(user(REMINDER, "a")), "b")
    traffic.call(agent(user(REMINDER, "a"), said("b"), user("c")), "d")
    traffic.call(agent(user(REMINDER, "something else")), "e")
    assert traffic.sessions == ["main", "main", "main.side1"]


def test_a_reused_answer_id_names_another_message(traffic: Traffic, rebuild: Rebuild) -> None:
    traffic.call(agent(user("a")), "b")
    traffic.sent.clear()
    traffic.call(agent(user("a"), said("b"), user("c")), "d")
    assert [d.message for d in traffic.of_type(AppendMessage)] == [
        "q1.0", "msg_1", "q2.2", "msg_1.2",
    ]  # fmt: skip
    assert rebuild(traffic.drafts)[1:] == traffic.sent


BLOCKS = st.sampled_from(
    [text("a"), text("b"), text("c"), REMINDER,
     {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}},
     {"type": "tool_result", "tool_use_id": "t1", "content": "r"}]
)  # fmt: skip
CONTENTS = st.sampled_from(["a", "b", ""]) | st.lists(BLOCKS, max_size=3)
MESSAGES = st.lists(
    st.builds(lambda r, c: {"role": r, "content": c}, st.sampled_from(["user", "assistant"]),
              CONTENTS), min_size=1, max_size=6,
)  # fmt: skip


@settings(max_examples=200)
@given(st.lists(st.tuples(MESSAGES, st.none() | st.sampled_from("abc")), max_size=6))
def test_any_sequence_of_requests_is_rebuilt(
    rebuild: Rebuild, calls: list[tuple[list[Json], str | None]]
) -> None:
    traffic = Traffic()
    for messages, answer in calls:
        traffic.call(agent(*messages), answer)
    assert rebuild(traffic.drafts) == traffic.sent
