"""Every recorded request comes out as it went in."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxledger.ledger.content import block_value, digest_of, from_json, tool_value
from ctxledger.ledger.render.base import Placed
from ctxledger.ledger.render.marks import marked_items
from ctxledger.ledger.render.recorded import SplitRequest, render_recorded, split_request

MARK = {"type": "ephemeral"}

words = st.text(max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
marks = st.fixed_dictionaries({}, optional={"cache_control": st.just(MARK) | st.none()})
kinds = st.sampled_from(
    ["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "tool_result",
     "web_search_tool_result", "image", "document", "compaction", "unknown", "x y", "tool"]
)  # fmt: skip
fields = st.dictionaries(
    st.sampled_from(["text", "thinking", "signature", "id", "name", "input", "tool_use_id",
                     "content", "is_error", "source", "citations", "caller", "type2"]),
    json_values, max_size=5,
)  # fmt: skip
blocks = st.builds(lambda kind, rest, mark: {"type": kind, **rest, **mark}, kinds, fields, marks)
real_blocks = st.one_of(
    st.builds(lambda text, mark: {"type": "text", "text": text, **mark}, words, marks),
    st.builds(
        lambda id_, content: {"type": "tool_result", "tool_use_id": id_, "content": content},
        st.sampled_from(["toolu_1", "toolu_2", "", "~x", "a b"]),
        words | st.lists(st.builds(lambda t, m: {"type": "text", "text": t, **m}, words, marks)),
    ),
    st.builds(
        lambda id_, value: {"type": "tool_use", "id": id_, "name": "run", "input": value},
        st.sampled_from(["toolu_1", "toolu_2", ""]),
        st.dictionaries(words, json_values, max_size=2),
    ),
)  # fmt: skip
contents = words | st.lists(real_blocks, max_size=3) | st.lists(blocks, max_size=3)
roles = st.sampled_from(["user", "assistant", "system"])
messages = st.lists(st.builds(lambda r, c: {"role": r, "content": c}, roles, contents), max_size=5)
odd_messages = st.lists(json_values, max_size=3) | json_values
tools = st.lists(
    st.builds(lambda name, rest, mark: {"name": name, **rest, **mark}, words,
              st.dictionaries(words, json_values, max_size=2), marks), max_size=3,
)  # fmt: skip
bodies = st.fixed_dictionaries(
    {"model": words, "messages": messages | odd_messages},
    optional={
        "system": words | st.lists(real_blocks | blocks, max_size=3) | json_values,
        "tools": tools | json_values,
        "max_tokens": st.integers(), "thinking": json_values, "metadata": json_values,
    },
)  # fmt: skip


def window_of(split: SplitRequest) -> list[Placed]:
    """The entries that a window would hold at the call."""
    placed = [Placed(f"1.{i}", "verbatim", "", "tools", b) for i, b in enumerate(split.tools)]
    placed += [Placed(f"2.{i}", "verbatim", "", "system", b) for i, b in enumerate(split.system)]
    for at, message in enumerate(split.messages):
        placed += [
            Placed(f"{3 + at}.{i}", "verbatim", f"m{at}", message.role, block)
            for i, block in enumerate(message.blocks)
        ]
    return placed


def rebuilt(body: dict[str, Any]) -> dict[str, Any]:
    split = split_request(body)
    return render_recorded(window_of(split), split.params, split.marks)


@given(bodies)
def test_any_body_is_rendered_as_it_was_sent(body: dict[str, Any]) -> None:
    before = copy.deepcopy(body)
    again = rebuilt(body)
    assert again == before
    assert digest_of(again) == digest_of(before), "also 1 and true, 1 and 1.0 stay apart"
    assert body == before, "the body given is left alone"


@pytest.mark.parametrize(
    "odd",
    [
        {"messages": [{"role": "user", "content": 7}]},
        {"messages": [{"role": "user", "content": []}]},
        {"messages": [{"role": "user", "content": None}]},
        {"messages": [{"role": "user", "content": "x", "name": "ann"}]},
        {"messages": ["hello"]},
        {"messages": [{"role": "user"}]},
        {"messages": None},
        {"messages": [], "system": 3},
        {"messages": [], "tools": [3]},
        {"messages": [{"role": "user", "content": [{"type": "unknown", "a": 1}]}]},
        {},
    ],
)
def test_a_shape_that_cannot_be_split_is_kept_whole(odd: dict[str, Any]) -> None:
    body = {"model": "m", **odd}
    assert rebuilt(body) == body


def test_cache_marks_and_shapes_belong_to_the_call_and_not_to_the_content() -> None:
    plain = {
        "system": "be brief",
        "tools": [{"name": "run", "input_schema": {"properties": {"cache_control": {}}}}],
        "messages": [{"role": "user", "content": "hi"}],
    }
    marked = {
        "system": [{"type": "text", "text": "be brief", "cache_control": MARK}],
        "tools": [{**plain["tools"][0], "cache_control": MARK}],  # type: ignore[dict-item]
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    }
    one, two = split_request(plain), split_request(marked)
    assert (one.system, one.tools, one.messages) == (two.system, two.tools, two.messages)
    assert one.marks != two.marks
    assert "cache_control" in tool_value(two.tools[0])["input_schema"]["properties"]
    assert [path for path, _ in marked_items(two.marks)] == [["system", 0], ["tools", 0]]
    assert rebuilt(plain) == plain
    assert rebuilt(marked) == marked


def test_a_mark_inside_a_result_is_found_and_a_tool_input_is_data() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "run", "input": {"cache_control": MARK}}
    part = {"type": "text", "text": "out", "cache_control": MARK}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [part]}
    body = {"messages": [
        {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]},
    ]}  # fmt: skip
    split = split_request(body)
    assert block_value(split.messages[0].blocks[0]) == call
    assert block_value(split.messages[1].blocks[0])["content"] == [{"type": "text", "text": "out"}]
    assert list(marked_items(split.marks)) == [(["messages", 1, 0, "content", 0], MARK)]
    assert rebuilt(body) == body


def test_an_ordinary_long_conversation_has_short_marks() -> None:
    body = {
        "model": "m", "max_tokens": 5,
        "messages": [
            {"role": role, "content": text}
            for text in map(str, range(200)) for role in ("user", "assistant")
        ],
    }  # fmt: skip
    split = split_request(body)
    assert from_json(split.marks) == {"messages": 400, "text": "string"}
    assert from_json(split.params) == {"model": "m", "max_tokens": 5}


def test_neighbouring_messages_of_one_role_stay_apart() -> None:
    body = {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}
    assert rebuilt(body) == body


def test_a_call_without_a_recorded_request_still_renders() -> None:
    split = split_request({"messages": [{"role": "user", "content": "a"}]})
    body = render_recorded(window_of(split), "", "")
    assert body == {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}


def test_a_number_that_json_cannot_write_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        split_request({"messages": [], "temperature": float("nan")})
