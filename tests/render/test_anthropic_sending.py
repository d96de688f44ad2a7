"""Any window becomes a request that the Messages API accepts; the judge is the rule table.

One file because every test sends its window through the same judge.
"""

from __future__ import annotations

import base64
import copy
import json
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxledger.ledger.blocks import in_place_of
from ctxledger.ledger.content import Block, block_from, tool_from
from ctxledger.ledger.render.anthropic import Rendering, render_for_sending
from ctxledger.ledger.render.anthropic_rules import blocks_of, check_request
from ctxledger.ledger.render.anthropic_table import RULES
from ctxledger.ledger.render.base import Placed

Json = dict[str, Any]
Case = Callable[[str], Json]
MODEL = "claude-sonnet-5"


def placed_from(body: Json) -> list[Placed]:
    """A window that shows what a body holds, one version a message, marks left in the blocks."""
    placed = [
        Placed(f"1.{i}", "verbatim", "", "tools", tool_from(tool))
        for i, tool in enumerate(body.get("tools", []))
    ]
    placed += [
        Placed(f"2.{i}", "verbatim", "", "system", block_from(raw, "system"))
        for i, raw in enumerate(body.get("system", []))
    ]
    for version, message in enumerate(body["messages"], 3):
        content = message["content"]
        raws = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for index, raw in enumerate(raws):
            block = block_from(raw, "human" if message["role"] == "user" else "assistant")
            item = f"{version}.{index}"
            placed.append(Placed(item, "verbatim", f"m{version}", message["role"], block))
    return placed


def send(placed: list[Placed], **options: Any) -> Rendering:
    before = copy.deepcopy(placed)
    rendering = render_for_sending(placed, **{"model": MODEL, "max_tokens": 4096, **options})
    assert placed == before, "contents are never changed"
    assert check_request(rendering.body) == ()
    return rendering


def codes(rendering: Rendering) -> set[str]:
    return {repair.code for repair in rendering.repairs}


def evicted(placed: list[Placed], tool_id: str) -> list[Placed]:
    stub = Block(type="text", text="[evicted: 5.0]", origin="system")
    return [
        Placed(e.item, "placeholder", e.message, e.role, in_place_of(e.block, stub))
        if e.block.tool_id == tool_id and e.block.type.endswith("tool_result")
        else e
        for e in placed
    ]


def test_k02_01_a_cut_between_call_and_result(case: Case) -> None:
    given_case = case("k02-01")
    messages = given_case["input"]["messages"][-3:]
    naive = check_request({"model": MODEL, "max_tokens": 1, "messages": messages})
    assert given_case["expect"]["naive_result_violations"][0] in {v.code for v in naive}
    rendering = send(placed_from({"messages": messages}))
    assert rendering.body["messages"] in given_case["expect"]["acceptable"]
    assert codes(rendering) == {"orphan_tool_result", "leading_assistant"}


def test_k02_02_one_of_two_parallel_results_evicted(case: Case) -> None:
    placed = placed_from(case("k02-02")["input"])
    rendering = send(evicted(placed, "toolu_1"))
    results = rendering.body["messages"][2]["content"]
    assert [r["tool_use_id"] for r in results] == ["toolu_1", "toolu_2"]
    assert results[0]["content"] == "[evicted: 5.0]"
    assert results[1] == case("k02-02")["input"]["messages"][2]["content"][1]
    assert rendering.repairs == ()


def test_k02_04_user_text_with_an_orphan_result(case: Case) -> None:
    given_case = case("k02-04")
    found = check_request({"model": MODEL, "max_tokens": 1, **given_case["input"]})
    wanted = given_case["expect"]["violations"][0]
    assert [(v.code, v.message, v.id) for v in found] == [tuple(wanted.values())]
    rendering = send(placed_from(given_case["input"]))
    assert rendering.body["messages"] in given_case["expect"]["acceptable"]


def test_k02_05_reused_ids_are_paired_turn_by_turn() -> None:
    messages: list[Json] = []
    for turn in (1, 2):
        call = {"type": "tool_use", "id": "call_0", "name": "f", "input": {"k": turn}}
        result = {"type": "tool_result", "tool_use_id": "call_0", "content": f"r{turn}"}
        messages += [
            {"role": "user", "content": str(turn)},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    sent = send(placed_from({"messages": messages})).body["messages"]
    pairs = [(sent[i]["content"][0], sent[i + 1]["content"][0]) for i in (1, 3)]
    assert [(call["input"]["k"], result["content"]) for call, result in pairs] == [
        (1, "r1"), (2, "r2"),
    ]  # fmt: skip
    assert all(call["id"] == result["tool_use_id"] for call, result in pairs)
    assert pairs[0][0]["id"] == "call_0"


def test_k02_07_thinking_with_an_unanswered_call(case: Case) -> None:
    given_case = case("k02-07")
    messages = [*given_case["input"]["messages"], given_case["input"]["steps"][0]["message"]]
    rendering = send(placed_from({"messages": messages}))
    assert rendering.body["messages"] == given_case["expect"]["acceptable"][0]
    assert codes(rendering) == {"missing_tool_result"}


@pytest.mark.parametrize("left", ["", " ", "\n\t"])
def test_k02_08_a_message_that_is_empty_after_an_eviction(case: Case, left: str) -> None:
    body = copy.deepcopy(case("k02-08")["input"])
    body["messages"][2]["content"][0]["text"] = left
    rendering = send(placed_from(body))
    assert [m["role"] for m in rendering.body["messages"]] == ["user", "assistant", "user"]
    assert "empty_text" in codes(rendering)


def test_k02_10_five_cache_marks(case: Case) -> None:
    given_case = case("k02-10")
    body = given_case["input"]
    (found,) = check_request({"model": MODEL, "max_tokens": 1, **body})
    wanted = given_case["expect"]["violations"][0]
    assert (found.code, found.count, found.limit) == tuple(wanted.values())
    sent = send(placed_from(body)).body
    assert "cache_control" in sent["messages"][-1]["content"][0]
    assert "cache_control" not in sent["messages"][0]["content"]
    assert json.dumps(sent).count("cache_control") == 4
    texts = [str(m["content"]) for m in sent["messages"]]
    assert ["q1" in texts[0], "q2" in texts[2], "q3" in texts[4]] == [True] * 3


def test_k02_11_server_tool_blocks_keep_their_place(case: Case) -> None:
    given_case = case("k02-11")
    placed = placed_from(given_case["input"])
    sent = send(placed).body["messages"]
    assert sent[1] == given_case["input"]["messages"][1]
    assert [b["type"] for b in sent[1]["content"]] == given_case["expect"][
        "block_order_after_project"
    ]
    after = send(evicted(placed, "srvtoolu_1"))
    kinds = [b["type"] for b in after.body["messages"][1]["content"]]
    assert kinds == ["text", "tool_use"], "call and result leave together, and the thinking"
    assert codes(after) == {"server_tool_pair", "thinking_left_out"}


def png(width: int, height: int) -> Json:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    data = base64.b64encode(head + bytes(10)).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def test_k02_13_many_images_lower_the_size_of_each(case: Case) -> None:
    limits = case("k02-13")["input"]["limits"]
    assert limits == {name: getattr(RULES, name) for name in limits}
    messages: list[Json] = []
    for size in [(800, 600)] * 20 + [(2400, 1200)]:
        messages += [
            {"role": "user", "content": [png(*size)]},
            {"role": "assistant", "content": "k"},
        ]
    body = {"messages": messages[:-1]}
    (found,) = check_request({"model": MODEL, "max_tokens": 1, **body})
    wanted = case("k02-13")["expect"]["violations"][0]
    assert (found.code, found.image) == tuple(wanted.values())
    rendering = send(placed_from(body))
    (repair,) = rendering.repairs
    assert (repair.code, repair.item) == (wanted["code"], "3.0")
    assert "item 43.0" in repair.detail, "the repair names the image that is too large"
    assert rendering.body["messages"][-1]["content"][0] == png(2400, 1200)


def test_k13_02_a_signature_that_is_not_one(case: Case) -> None:
    content = case("k13-02")["input"]["events"][0]["content"]
    body = {
        "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": content}]
    }
    rendering = send(placed_from(body))
    assert rendering.body["messages"][1] == {"role": "assistant", "content": [content[1]]}


def turn(*blocks: Json, role: str = "assistant") -> Json:
    return {"role": role, "content": list(blocks)}


HI = {"role": "user", "content": "hi"}
TEXT = {"type": "text", "text": "t"}
THOUGHT = {"type": "thinking", "thinking": "p", "signature": "SIG"}
CALL = {"type": "tool_use", "id": "t1", "name": "run", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "r"}


def test_thinking_of_another_model_is_left_out_and_an_alias_is_the_same_model() -> None:
    body = {"messages": [HI, turn(THOUGHT, TEXT), HI]}
    placed = placed_from(body)
    block = block_from(THOUGHT, "assistant", meta='{"model":"claude-sonnet-4-20250514"}')
    placed[1] = Placed("4.0", "verbatim", "m4", "assistant", block)
    assert send(placed, model="claude-sonnet-4-0").repairs == ()
    assert codes(send(placed, model="claude-opus-5")) == {"thinking_left_out"}


def test_thinking_older_than_the_brief_before_it_is_left_out() -> None:
    brief = Block(type="text", text="[record] ...", origin="summary")
    old = placed_from({"messages": [HI, turn(THOUGHT, TEXT), HI]})
    placed = [Placed("9.0", "brief", "m9", "user", brief), *old[1:]]
    assert "thinking_left_out" in codes(send(placed))
    newer = [Placed("2.0", "brief", "m2", "user", brief), *old[1:]]
    assert "thinking_left_out" not in codes(send(newer))


def test_thinking_is_turned_off_when_the_open_turn_lost_it() -> None:
    unsigned = {"type": "thinking", "thinking": "p"}
    body = {"messages": [HI, turn(unsigned, CALL), turn(RESULT, role="user")]}
    params = json.dumps({"thinking": {"type": "enabled", "budget_tokens": 2000}, "temperature": 1})
    rendering = send(placed_from(body), params=params)
    assert codes(rendering) == {"thinking_left_out", "thinking_turned_off"}
    assert "thinking" not in rendering.body
    assert rendering.body["temperature"] == 1


def test_a_late_result_goes_to_its_call_and_results_come_first() -> None:
    body = {
        "messages": [HI, turn(CALL), turn(TEXT, role="user"), turn(TEXT), turn(RESULT, role="user")]
    }
    rendering = send(placed_from(body))
    assert rendering.body["messages"][2]["content"] == [RESULT, TEXT]
    assert "moved_tool_result" in codes(rendering)
    body = {"messages": [HI, turn(CALL), turn(TEXT, RESULT, role="user")]}
    assert send(placed_from(body)).body["messages"][2]["content"] == [RESULT, TEXT]


def test_results_with_empty_ids_are_paired_in_order() -> None:
    calls = [{**CALL, "id": "", "input": {"u": u}} for u in "ab"]
    results = [{**RESULT, "tool_use_id": "", "content": f"r{u}"} for u in "ab"]
    sent = send(placed_from({"messages": [HI, turn(*calls), turn(*results, role="user")]})).body
    by_id = {r["tool_use_id"]: r["content"] for r in sent["messages"][2]["content"]}
    assert [by_id[c["id"]] for c in sent["messages"][1]["content"]] == ["ra", "rb"]


def test_a_window_that_begins_inside_a_tool_loop_keeps_it() -> None:
    body = {"messages": [turn(CALL), turn(RESULT, role="user"), turn(TEXT), HI]}
    sent = send(placed_from(body)).body["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "user", "assistant", "user"]
    assert sent[1]["content"] == [CALL]


def test_only_old_models_may_be_asked_to_go_on() -> None:
    placed = placed_from({"messages": [HI, turn(TEXT)]})
    assert send(placed, model="claude-sonnet-4-5-20250929").repairs == ()
    assert codes(send(placed, model="claude-opus-4-6")) == {"user_message_added"}


def test_nobody_begins_the_answer_of_a_model_that_thinks_first() -> None:
    placed = placed_from({"messages": [HI, turn(TEXT)]})
    thinking = json.dumps({"thinking": {"type": "enabled", "budget_tokens": 2000}})
    rendering = send(placed, model="claude-sonnet-4-5-20250929", params=thinking)
    assert codes(rendering) == {"user_message_added"}


@pytest.mark.parametrize(
    ("names", "is_kept"), [([], False), (["other"], False), (["other", "run"], True)]
)
def test_a_tool_is_chosen_only_where_it_is_defined(names: list[str], is_kept: bool) -> None:
    placed = placed_from({"messages": [HI], "tools": [{"name": name} for name in names]})
    rendering = send(placed, params=json.dumps({"tool_choice": {"type": "tool", "name": "run"}}))
    assert ("tool_choice" in rendering.body) == is_kept
    assert codes(rendering) == (set() if is_kept else {"tool_choice_left_out"})


def test_a_mark_for_an_hour_behind_a_short_one_is_a_short_one() -> None:
    long, short = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}
    parts = [{**TEXT, "cache_control": mark} for mark in (long, short, long)]
    rendering = send(placed_from({"messages": [turn(*parts, role="user")]}))
    marks = [part["cache_control"] for part in rendering.body["messages"][0]["content"]]
    assert marks == [long, short, short]
    assert codes(rendering) == {"cache_ttl_order"}


def test_a_server_call_waits_for_its_result_only_in_the_newest_turn() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    waiting = [HI, turn(search, CALL), turn(RESULT, role="user")]
    assert send(placed_from({"messages": waiting})).repairs == ()
    later = send(placed_from({"messages": [*waiting, turn(TEXT), HI]}))
    assert codes(later) == {"server_tool_pair"}


def test_a_compaction_block_is_text_unless_the_request_asks_for_compaction() -> None:
    block = {"type": "compaction", "content": "what happened"}
    placed = placed_from({"messages": [HI, turn(block, TEXT), HI]})
    edit = {"context_management": {"edits": [{"type": "compact_20260112"}]}}
    assert send(placed, params=json.dumps(edit)).body["messages"][1]["content"][0] == block
    assert codes(send(placed)) == {"compaction_as_text"}


def test_an_empty_window_is_still_a_request() -> None:
    assert len(send([]).body["messages"]) == 1


IDS = st.sampled_from(["t1", "t2", "", "a b"])
ANY_BLOCK = st.one_of(
    st.builds(lambda t: {"type": "text", "text": t}, st.sampled_from(["", " ", "x", "y "])),
    st.builds(
        lambda i, v: {**CALL, "id": i, "input": v}, IDS, st.sampled_from([{}, {"a": 1}, "cut"])
    ),
    st.builds(
        lambda i, c: {**RESULT, "tool_use_id": i, "content": c}, IDS,
        st.sampled_from(
            ["r", "", [], {"a": 1}, [TEXT, {"type": "text", "text": ""}], [png(9000, 1)]]
        ),
    ),
    st.sampled_from([
        THOUGHT, {"type": "thinking", "thinking": "p"}, {"type": "redacted_thinking", "data": "D"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {**TEXT, "cache_control": {"type": "ephemeral"}}, png(800, 600), png(2400, 100),
        {"type": "compaction", "content": "s"}, {"type": "compaction", "content": None},
        {"type": "strange", "x": 1}, {"nothing": 1}, {**CALL, "name": "a.b"},
    ]),
)  # fmt: skip
ANY_BODY = st.fixed_dictionaries(
    {
        "messages": st.lists(
            st.builds(
                lambda r, c: {"role": r, "content": c},
                st.sampled_from(["user", "assistant", "system", "tool", "developer"]),
                st.lists(ANY_BLOCK, max_size=4),
            ),
            max_size=8,
        ),
        "tools": st.lists(st.builds(lambda n: {"name": n}, st.sampled_from(["a", "a.b", "c"]))),
        "system": st.lists(ANY_BLOCK.filter(lambda b: b.get("type") == "text"), max_size=3),
    }
)
PARAMS = st.sampled_from(["", '{"thinking":{"type":"enabled","budget_tokens":1024},"stream":true}',
                          '{"thinking":{"type":"enabled","budget_tokens":9000}}'])  # fmt: skip


@settings(max_examples=400)
@given(ANY_BODY, PARAMS, st.sampled_from([MODEL, "claude-3-5-haiku-20241022"]))
def test_any_window_is_rendered_valid(body: Json, params: str, model: str) -> None:
    rendering = send(placed_from(body), params=params, model=model)
    again = send(placed_from(rendering.body), params=params, model=model)
    once, twice = ([blocks_of(m) for m in r.body["messages"]] for r in (rendering, again))
    assert once == twice, "a valid request needs no repair"


def test_null_fields_of_a_tool_definition_are_left_out_and_listed() -> None:
    tool = tool_from({"name": "plan", "description": None, "input_schema": {"type": "object"}})
    question = block_from({"type": "text", "text": "hi"}, "human")
    placed = [
        Placed("1.0", "verbatim", "", "tools", tool),
        Placed("2.0", "verbatim", "m2", "user", question),
    ]
    rendering = render_for_sending(placed, model="claude-sonnet-5", max_tokens=10)
    assert rendering.body["tools"] == [{"name": "plan", "input_schema": {"type": "object"}}]
    assert [repair.code for repair in rendering.repairs] == ["null_tool_field"]
    assert check_request(rendering.body) == ()
    broken = rendering.body | {"tools": [{"name": "plan", "description": None}]}
    assert [v.code for v in check_request(broken)] == ["null_tool_field"]
