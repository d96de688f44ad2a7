"""Calls made through the ledger: what was sent, what came back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger import BadInput, Ledger
from ctxledger.ledger.render.anthropic_rules import check_request

ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}}],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 30, "output_tokens": 9, "cache_read_input_tokens": 5},
}


class AnswerObject:
    """As the SDK gives it."""

    def model_dump(self, *, mode: str, exclude_none: bool) -> dict[str, Any]:
        assert (mode, exclude_none) == ("json", True)
        return dict(ANSWER)


def test_a_call_records_the_request_the_answer_and_the_usage() -> None:
    with Ledger.open() as ledger:
        session = ledger.session("run", model="claude-sonnet-5")
        session.set_system("Be careful.")
        session.set_tools([{"name": "read", "input_schema": {"type": "object"}}])
        session.append({"role": "user", "content": "Refactor auth."})
        with session.call(max_tokens=100) as call:
            sent = call.request
            call.complete(AnswerObject())
        assert sent["system"] == [{"type": "text", "text": "Be careful."}]
        assert (sent["model"], sent["max_tokens"]) == ("claude-sonnet-5", 100)
        assert check_request(sent) == ()
        called = next(session.events(types=("model_called",)))
        assert session.render_call(called.version) == sent
        window = session.window()
        assert [entry.type for entry in window.entries] == ["tool", "text", "text", "tool_use"]
        assert window.reported == 35
        with session.call() as second:  # the answer's call has no result: it is repaired
            second.complete(ANSWER | {"id": "msg_2", "content": []})
        assert [repair.code for repair in second.repairs] == ["missing_tool_result"]
        newest = next(session.events(types=("model_called",), is_reverse=True))
        assert session.render_call(newest.version) == second.request


def test_an_exception_in_a_call_is_recorded_and_goes_on() -> None:
    with Ledger.open() as ledger:
        session = ledger.session("run", model="m")
        session.append({"role": "user", "content": "hi"})
        with pytest.raises(ZeroDivisionError), session.call():
            raise ZeroDivisionError
        completed = next(session.events(types=("call_completed",))).event
        assert getattr(completed, "outcome", "") == "error"


def test_an_answer_without_content_is_refused() -> None:
    with Ledger.open() as ledger:
        session = ledger.session("run", model="m")
        session.append({"role": "user", "content": "hi"})
        with pytest.raises(BadInput), session.call() as call:
            call.complete({"error": "overloaded"})


def test_an_answer_is_recorded_although_another_writer_was_faster(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with Ledger.open(path) as ledger, Ledger.open(path) as other:
        session = ledger.session("run", model="m")
        session.append({"role": "user", "content": "hi"})
        with session.call() as call:
            other.find("run").append({"role": "user", "content": "by the way"})
            call.complete(ANSWER)
        assert [entry.type for entry in session.window().entries] == ["text", "text", "tool_use"]
        session.append({"role": "user", "content": "thanks"})
