"""Responses that go on from earlier ones: chains, references, compactions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ctxledger.ledger.drafts import (
    ImportCompaction,
    OpenSession,
    RewriteWindow,
    StartCall,
)

from .openai_traffic import (
    RESPONSES,
    Json,
    drafts_of,
    of_type,
    pair,
    responded,
    session_of,
    text_item,
)


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


def test_items_with_empty_ids_are_no_references(tmp_path: Path) -> None:
    body = {"model": "m", "input": [{"role": "user", "content": "q", "id": ""}]}
    session_of([pair(body, responded(1, text_item(1, "a"))), pair(body)], tmp_path)
