"""Any window becomes a request that OpenAI's APIs accept; contents are never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxledger.ledger.content import Block, block_from, tool_from
from ctxledger.ledger.render.anthropic_rules import check_request
from ctxledger.ledger.render.base import Placed
from ctxledger.ledger.render.openai import GO_ON, render_for_openai
from ctxledger.ledger.render.openai_parts import Api
from ctxledger.ledger.render.openai_recorded import split_openai
from ctxledger.ledger.render.openai_rules import check_openai
from ctxledger.ledger.render.openai_units import NO_RESULT
from ctxledger.ledger.render.recorded import split_request

from . import openai_bodies as made
from .test_openai_recorded import window_of
from .test_recorded import bodies as anthropic_bodies
from .test_recorded import window_of as anthropic_window_of

Json = dict[str, Any]
APIS: tuple[Api, ...] = ("chat", "responses")


def window(*messages: tuple[str, Json], form: str = "verbatim") -> list[Placed]:
    """A window with one message for each (role, block)."""
    return [
        Placed(f"{at}.0", form, f"m{at}", role, block_from(raw, "human"))
        for at, (role, raw) in enumerate(messages, 1)
    ]


def use(name: str, **more: Any) -> tuple[str, Json]:
    return "assistant", {"type": "tool_use", "id": name, "name": "f", "input": {}, **more}


def result(name: str, content: Any = "r") -> tuple[str, Json]:
    return "tool", {"type": "tool_result", "tool_use_id": name, "content": content}


def says(text: str, role: str = "user") -> tuple[str, Json]:
    return role, {"type": "text", "text": text}


def sent(placed: Sequence[Placed], api: Api = "chat", **more: Any) -> tuple[list[Any], set[str]]:
    rendering = render_for_openai(placed, api=api, model="gpt-5", **more)
    assert check_openai(rendering.body) == ()
    listed = rendering.body["messages" if api == "chat" else "input"]
    return listed, {repair.code for repair in rendering.repairs}


@given(made.chat_bodies | made.response_bodies, st.sampled_from(APIS), st.data())
def test_what_is_left_of_any_openai_window_is_valid(body: Json, api: Api, data: Any) -> None:
    placed = window_of(split_openai(body))
    kept = data.draw(st.lists(st.booleans(), min_size=len(placed), max_size=len(placed)))
    left = [entry for entry, stays in zip(placed, kept, strict=True) if stays]
    rendering = render_for_openai(left, api=api, model="gpt-5", params='{"tool_choice":"auto"}')
    assert check_openai(rendering.body) == ()


@given(anthropic_bodies, st.sampled_from(APIS))
def test_any_anthropic_window_is_valid(body: Json, api: Api) -> None:
    placed = anthropic_window_of(split_request(body))
    assert check_openai(render_for_openai(placed, api=api, model="gpt-5").body) == ()


@pytest.mark.parametrize("api", APIS)
def test_a_valid_window_is_sent_as_it_is(api: Api) -> None:
    body: Json = {
        "model": "gpt-5",
        "messages": [
            {"role": "system", "content": "rules"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": [
                {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "call_b", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_b", "content": "b"},
            {"role": "tool", "tool_call_id": "call_a", "content": "a"},
            {"role": "developer", "content": "be brief"},
            {"role": "user", "content": "next"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    }  # fmt: skip
    rendering = render_for_openai(window_of(split_openai(body)), api=api, model="gpt-5")
    assert rendering.repairs == ()
    if api == "chat":
        assert rendering.body == body
        return
    call: Json = {"type": "function_call", "name": "f", "arguments": "{}"}
    assert rendering.body == {
        "model": "gpt-5", "instructions": "rules",
        "tools": [{"type": "function", "name": "f", "parameters": {}}],
        "input": [
            {"role": "user", "content": "go"},
            {**call, "call_id": "call_a"}, {**call, "call_id": "call_b"},
            {"type": "function_call_output", "call_id": "call_b", "output": "b"},
            {"type": "function_call_output", "call_id": "call_a", "output": "a"},
            {"role": "developer", "content": "be brief"},
            {"role": "user", "content": "next"},
        ],
    }  # fmt: skip
    assert check_openai(rendering.body) == ()


def test_calls_and_results_are_repaired_and_listed() -> None:
    placed = window(
        result("gone"), says("a"), use("c1"), says("b"), result("c1", "late"), use("c2")
    )
    messages, codes = sent(placed)
    assert codes == {"orphan_tool_result", "moved_tool_result", "missing_tool_result"}
    assert [m["role"] for m in messages] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
        "tool",
    ]
    assert (messages[2]["content"], messages[5]["content"]) == ("late", NO_RESULT)


def test_k02_05_ids_used_again_in_a_later_turn_keep_their_results() -> None:
    """A part of case k02-05: the six messages stay, each result with its own call."""
    placed = window(says("1"), use("call_0"), result("call_0", "r1"),
                    says("2"), use("call_0"), result("call_0", "r2"))  # fmt: skip
    for api in APIS:
        listed, codes = sent(placed, api)
        assert codes == {"renamed_tool_id"}
        assert len(listed) == 6
        assert [one.get("output", one.get("content")) for one in listed[2::3]] == ["r1", "r2"]


def test_calls_of_one_answer_are_one_chat_message() -> None:
    placed = window(says("x"), says("calling", "assistant"), use("a1"), use("a2"),
                    result("a1"), result("a2"))  # fmt: skip
    messages, codes = sent(placed)
    assert codes == set()
    assert messages[1]["content"] == "calling"
    assert [call["id"] for call in messages[1]["tool_calls"]] == ["a1", "a2"]


def test_two_answers_without_calls_stay_two_messages() -> None:
    messages, _ = sent(window(says("x"), says("one", "assistant"), says("two", "assistant")))
    assert [m["content"] for m in messages] == ["x", "one", "two"]


def test_pictures_in_results_are_kept() -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="},
    }
    placed = window(says("x"), use("c1"), result("c1", [{"type": "text", "text": "see"}, image]))
    messages, codes = sent(placed)
    assert codes == {"moved_image"}
    assert messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "see"}
    assert messages[3]["content"][1]["image_url"]["url"] == "data:image/png;base64,QQ=="
    items, codes = sent(placed, "responses")
    assert codes == set()
    assert items[2]["output"][1] == {
        "type": "input_image",
        "image_url": "data:image/png;base64,QQ==",
    }


def reasoning(model: str, **more: Any) -> list[Placed]:
    body = {"model": "gpt-5", "input": [
        {"role": "user", "content": "x"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "SECRET"},
        {"role": "assistant", "content": "y", **more},
    ]}  # fmt: skip
    placed = window_of(split_openai(body))
    block = placed[1].block
    meta = block.meta[:-1] + f',"model":"{model}"}}'
    new = Block(type=block.type, text=block.text, origin="assistant", rest=block.rest, meta=meta)
    return [placed[0], Placed("9.0", "verbatim", "m1", "assistant", new), placed[2]]


def test_reasoning_goes_back_to_its_own_model_with_what_followed_it() -> None:
    items, codes = sent(reasoning("gpt-5-2025-08-07"), "responses")
    assert codes == set()
    assert items[1] == {
        "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "SECRET",
    }  # fmt: skip
    for placed in (reasoning("o3"), reasoning("gpt-5")[:2]):
        items, codes = sent(placed, "responses")
        assert codes == {"thinking_left_out"}
        assert "SECRET" not in str(items)
    messages, codes = sent(reasoning("gpt-5"))
    assert codes == {"thinking_left_out"}
    assert [m["content"] for m in messages] == ["x", "y"]


def test_an_opaque_compaction_stays_where_it_can_be_read() -> None:
    cmp = {"type": "compaction", "encrypted_content": "SECRET"}
    placed = [*window(("assistant", cmp), form="opaque"), *window(says("go"))]
    items, codes = sent(placed, "responses")
    assert (items[0], codes) == (cmp, set())
    messages, codes = sent(placed)
    assert ([m["content"] for m in messages], codes) == (["go"], {"unknown_block"})


def test_an_empty_window_asks_to_go_on() -> None:
    for api in APIS:
        assert sent([], api) == ([{"role": "user", "content": GO_ON}], {"user_message_added"})


def test_parameters_stay_but_for_those_of_the_call() -> None:
    params = '{"temperature":0,"stream":true,"previous_response_id":"r","tool_choice":"auto"}'
    placed = window(says("x"))
    body = render_for_openai(placed, api="responses", model="m", params=params).body
    assert body == {"model": "m", "temperature": 0, "input": [{"role": "user", "content": "x"}]}
    body = render_for_openai(placed, api="chat", model="m", max_tokens=5).body
    assert body["max_completion_tokens"] == 5


def test_tools_of_other_providers_are_written_as_functions() -> None:
    tools = [{"name": "a b", "input_schema": {"type": "object"}, "cache": 1},
             {"type": "custom", "name": "c", "input_schema": {}},
             {"type": "web_search_20250305", "name": "w"}]  # fmt: skip
    placed = [Placed(f"1.{n}", "verbatim", "", "tools", tool_from(t)) for n, t in enumerate(tools)]
    rendering = render_for_openai(placed, api="chat", model="m")
    assert rendering.body["tools"] == [
        {"type": "function", "function": {"name": "a_b", "parameters": {"type": "object"}}},
        {"type": "function", "function": {"name": "c", "parameters": {}}},
    ]
    assert {repair.code for repair in rendering.repairs} == {"unknown_tool", "user_message_added"}


@pytest.mark.parametrize(
    ("listed", "code"),
    [
        ([{"role": "tool", "tool_call_id": "x", "content": "r"}], "orphan_tool_result"),
        ([{"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
          {"role": "user", "content": "x"}], "missing_tool_result"),
        ([{"role": "assistant", "tool_calls": [
            {"id": "", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
          {"role": "tool", "tool_call_id": "", "content": "r"}], "bad_tool_id"),
        ([{"role": "assistant", "tool_calls": []}], "empty_tool_calls"),
        ([{"role": "model", "content": "x"}], "bad_role"),
        ([{"role": "user", "content": ""}], "empty_message"),
        ([{"role": "user", "content": [{"type": "tool_use"}]}], "block_not_allowed"),
        ([], "no_messages"),
    ],
)  # fmt: skip
def test_the_judge_sees_what_chat_refuses(listed: list[Json], code: str) -> None:
    found = check_openai({"model": "m", "messages": listed})
    assert code in {violation.code for violation in found}


@pytest.mark.parametrize(
    ("listed", "code"),
    [
        ([{"type": "function_call_output", "call_id": "x", "output": "r"}], "orphan_tool_result"),
        ([{"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"}],
         "missing_tool_result"),
        ([{"type": "reasoning", "id": "r", "summary": []}, {"role": "user", "content": "x"}],
         "reasoning_without_what_followed"),
        ([{"role": "user", "content": [{"type": "text", "text": "x"}]}], "block_not_allowed"),
        ([{"type": "tool_use"}], "block_not_allowed"),
    ],
)  # fmt: skip
def test_the_judge_sees_what_responses_refuses(listed: list[Json], code: str) -> None:
    found = check_openai({"model": "m", "input": listed})
    assert code in {violation.code for violation in found}


@given(made.chat_bodies | made.response_bodies)
def test_windows_of_openai_are_valid_for_anthropic_too(body: Json) -> None:
    from ctxledger.ledger.render.anthropic import render_for_sending

    placed = [e for e in window_of(split_openai(body)) if e.role != "tools"]
    rendering = render_for_sending(placed, model="claude-sonnet-5", max_tokens=9)
    assert check_request(rendering.body) == ()
