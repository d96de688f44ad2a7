"""Every recorded OpenAI request comes out as it went in."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ctxledger.ledger.content import digest_of, from_json, to_json
from ctxledger.ledger.render.base import Placed
from ctxledger.ledger.render.openai_chat import message_of_piece, piece_of_message
from ctxledger.ledger.render.openai_items import item_of_piece, piece_of_item
from ctxledger.ledger.render.openai_parts import arguments_of_input, input_of_arguments
from ctxledger.ledger.render.openai_recorded import (
    SplitCall,
    raw_of,
    render_openai,
    split_openai,
    with_call_id,
)

from . import openai_bodies as made

Json = dict[str, Any]


def window_of(call: SplitCall) -> list[Placed]:
    """The entries that a window would hold at the call."""
    parts = call.parts
    placed = [Placed(f"1.{i}", "verbatim", "", "tools", b) for i, b in enumerate(parts.tools)]
    placed += [Placed(f"2.{i}", "verbatim", "", "system", b) for i, b in enumerate(parts.system)]
    for at, message in enumerate(parts.messages):
        assert message.blocks
        placed += [
            Placed(f"{3 + at}.{i}", "verbatim", f"m{at}", message.role, block)
            for i, block in enumerate(message.blocks)
        ]
    return placed


@given(made.chat_bodies | made.response_bodies)
def test_a_body_comes_back(body: Json) -> None:
    call = split_openai(body)
    if call.is_exact:
        back = render_openai(window_of(call), call.parts.params, to_json(call.shape))
        assert digest_of(back) == digest_of(body)


@given(st.lists(made.chat_messages, max_size=6), st.lists(made.items, max_size=6))
def test_lists_of_messages_and_items_are_always_split(chat: list[Any], items: list[Any]) -> None:
    assert split_openai({"model": "m", "messages": chat}).is_exact
    assert split_openai({"model": "m", "input": items}).is_exact


@given(made.chat_messages)
def test_a_message_comes_back(raw: Any) -> None:
    piece = piece_of_message(raw)
    back = message_of_piece(piece.role, piece.blocks, piece.wire)
    assert digest_of(back) == digest_of(raw)


@given(made.items)
def test_an_item_comes_back(raw: Any) -> None:
    piece = piece_of_item(raw)
    back = item_of_piece(piece.role, piece.blocks, piece.wire)
    assert digest_of(back) == digest_of(raw)


@given(made.arguments | made.values)
def test_arguments_come_back(arguments: Any) -> None:
    value, extras = input_of_arguments(arguments)
    assert digest_of(arguments_of_input(value, extras)) == digest_of(arguments)


def test_blocks_have_the_shape_of_the_ledger() -> None:
    call = split_openai(
        {"model": "m", "messages": [
            {"role": "developer", "content": "rules"},
            {"role": "user", "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}]},
            {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [
                {"id": "call_1a2b", "type": "function",
                 "function": {"name": "f", "arguments": "{\"a\": 1}"}}]},
            {"role": "tool", "tool_call_id": "call_1a2b", "content": "r"},
        ], "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}
    )  # fmt: skip
    assert [(b.type, b.text, b.meta) for b in call.parts.system] == [
        ("text", "rules", '{"role":"developer"}')
    ]
    assert [[b.type for b in m.blocks] for m in call.parts.messages] == [
        ["text", "image"], ["thinking", "tool_use"], ["tool_result"],
    ]  # fmt: skip
    assert [m.role for m in call.parts.messages] == ["user", "assistant", "tool"]
    assert from_json(call.parts.messages[1].blocks[1].text) == {"a": 1}
    assert from_json(call.parts.tools[0].text) == {"name": "f", "input_schema": {}}
    assert call.parts.tools[0].tool_name == "f"


def test_what_the_model_did_not_see_makes_no_other_message() -> None:
    """Ids and shapes differ between an answer and its copy in the next request."""
    said: Json = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
                  "content": [{"type": "output_text", "text": "4", "annotations": []}]}  # fmt: skip
    sent = {"role": "assistant", "content": "4"}
    assert piece_of_item(said).blocks == piece_of_item(sent).blocks
    assert piece_of_item(said).wire != piece_of_item(sent).wire


def test_a_minted_call_id_hides_nothing() -> None:
    for given_id in ({"id": ""}, {"id": "call_0"}, {}):
        call: Json = {**given_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        body = {"messages": [{"role": "assistant", "tool_calls": [call]}], "model": "m"}
        split = split_openai(body)
        (placed,) = window_of(split)
        block = with_call_id(placed.block, "call-7")
        assert block.tool_id == "call-7"
        assert raw_of(block) == raw_of(placed.block)
        named = Placed("3.0", "verbatim", "m0", "assistant", block)
        assert render_openai([named], split.parts.params, to_json(split.shape)) == body
