"""Traffic of OpenAI's APIs: every call's request is rendered as it was sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxledger.ledger import Ledger
from ctxledger.ledger.drafts import (
    AppendMessage,
    CompleteCall,
    OpenSession,
    RewriteWindow,
    SetTools,
)
from ctxledger.ledger.formats.base import Record
from ctxledger.ledger.formats.openai import OpenAIFold
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.render.openai_rules import check_openai

from ..render import openai_bodies as made
from .openai_traffic import (
    FIXTURES,
    Json,
    call,
    drafts_of,
    of_type,
    pair,
    rendered,
    responded,
    said,
    sent_in,
    text_item,
)
from .traffic import Taken


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


def test_other_endpoints_are_outside_and_headers_are_not_kept() -> None:
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


def test_messages_without_requests_are_a_conversation() -> None:
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
