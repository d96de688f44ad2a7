"""What a program may give to a session: it is refused whole, or kept and readable for ever."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger import BadInput, ConflictError, Ledger, LedgerError, Session
from ctxledger.ledger.content import to_json, tool_from
from ctxledger.ledger.drafts import SetTools
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.rolling_back import apply_rollback, plan_rollback

from .story import open_ledger


def say(session: Session, text: str) -> None:
    session.append({"role": "user", "content": text})


def said(session: Session) -> list[str]:
    return [entry.text for entry in session.window().entries]


REFUSED: dict[str, Callable[[Session], Any]] = {
    "origin": lambda s: s.append({"role": "user", "content": "x"}, origin="boss"),  # type: ignore[arg-type]
    "nan": lambda s: s.append({"role": "user", "content": [{"type": "n", "x": float("nan")}]}),
    "bytes": lambda s: s.append({"role": "user", "content": [{"type": "text", "text": b"x"}]}),
    "no object": lambda s: s.append({"role": "user", "content": ["x"]}),
    "system": lambda s: s.set_system([{"type": "text", "text": {1, 2}}]),
    "no system": lambda s: s.set_system(["x"]),  # type: ignore[list-item]
    "tools": lambda s: s.set_tools([{"name": "x", "input_schema": object()}]),
    "no tools": lambda s: s.set_tools(["x"]),  # type: ignore[list-item]
    "limit": lambda s: s.ledger.session("other", limit_tokens="200k"),  # type: ignore[arg-type]
    "flag": lambda s: s.ledger.session("other", limit_tokens=2.5),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_could_never_be_read_again_is_refused_and_leaves_nothing(name: str) -> None:
    with open_ledger() as ledger:
        session = ledger.session("work")
        say(session, "before")
        head = ledger.store.head()
        with pytest.raises(BadInput):
            REFUSED[name](session)
        assert ledger.store.head() == head
        say(session, "after")
        assert said(session) == ["before", "after"]
        assert ledger.store.session_id("other") is None
        assert verify(ledger.store).ok


@pytest.mark.parametrize(
    "usage",
    [{"input_tokens": "12"}, {"output_tokens": 2.5}, {"input_tokens": 2**70}, {"input_tokens": -1}],
)
def test_an_answer_with_odd_numbers_does_no_harm(usage: dict[str, Any]) -> None:
    with open_ledger() as ledger:
        session = ledger.session("work", model="m")
        say(session, "question")
        answer = {"id": "a", "content": [{"type": "text", "text": "yes"}], "usage": usage}
        try:
            with session.call() as call:
                call.complete(answer)
        except BadInput:
            pass
        say(session, "next")
        assert said(session)[-1] == "next"
        assert [stored.version for stored in session.events()] == list(
            range(1, session.version + 1)
        )


ODD_IDS = ("x", "", ".", "2.", "2.0.0", "².0", "٢.٠", "-1.0", "9" * 30 + ".0", "9" * 5000 + ".0")


@pytest.mark.parametrize("item", ODD_IDS, ids=range(len(ODD_IDS)))
def test_no_text_is_mistaken_for_an_item(item: str) -> None:
    with open_ledger() as ledger:
        session = ledger.session("work")
        say(session, "one")
        with pytest.raises(BadInput, match="There is no item"):
            session.item_block(item)


@pytest.mark.parametrize("item", ["o1/²", "o1/" + "9" * 5000, "9" * 5000 + ".0", "²/0", "/", "o1/"])
def test_a_line_that_names_no_item_is_quarantined_and_the_rest_goes_on(
    tmp_path: Path, item: str
) -> None:
    lines = (
        {"id": "o1", "role": "user", "content": "one"},
        {"type": "evict", "items": [item]},
        {"type": "note", "kind": "k", "text": "t", "source": item},
        {"id": "o2", "role": "user", "content": "two"},
    )
    (tmp_path / "S.jsonl").write_text("".join(to_json(line) + "\n" for line in lines))
    with open_ledger() as ledger:
        assert import_file(ledger, tmp_path / "S.jsonl").quarantined == 1
        assert said(ledger.find("S")) == ["one", "two"]


ODD_REFERENCES = (
    "²",
    "c²",
    "9" * 30,
    "9" * 5000,
    "c" + "9" * 5000,
    "head~" + "9" * 5000,
    "@" * 200,
)


@pytest.mark.parametrize("reference", ODD_REFERENCES, ids=range(len(ODD_REFERENCES)))
def test_no_text_breaks_the_reader_of_references(reference: str) -> None:
    with open_ledger() as ledger:
        session = ledger.session("work")
        say(session, "one")
        for use in (session.resolve, session.rollback):
            with pytest.raises(LedgerError):
                use(reference)


def test_a_roll_back_that_was_planned_for_another_head_conflicts_whatever_the_handle(
    tmp_path: Path,
) -> None:
    with Ledger.open(tmp_path / "l.db") as one, Ledger.open(tmp_path / "l.db") as two:
        first = one.session("work", concurrent=True)
        for text in ("one", "two"):
            say(first, text)
        plan = plan_rollback(first, to="2")
        second = two.session("work", concurrent=True)
        say(second, "three")
        with pytest.raises(ConflictError) as conflict:
            apply_rollback(first, plan)
        assert (conflict.value.expected, conflict.value.actual) == (3, 4)
        say(first, "four")
        assert said(first) == said(second) == ["one", "two", "three", "four"]
        assert verify(one.store).ok


def test_a_plan_that_went_stale_leaves_the_handle_as_it_was() -> None:
    with open_ledger() as ledger:
        session = ledger.session("work")
        say(session, "one")
        plan = plan_rollback(session, to="1")
        say(session, "two")
        with pytest.raises(ConflictError):
            apply_rollback(session, plan)
        say(session, "three")
        assert said(session) == ["one", "two", "three"]


def test_what_failed_is_forgotten_even_if_somebody_else_takes_its_version(tmp_path: Path) -> None:
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    with Ledger.open(tmp_path / "l.db") as one, Ledger.open(tmp_path / "l.db") as two:
        first = one.session("work")
        say(first, "one")

        def set_tools_and_fail() -> None:
            with first.writing():
                draft = SetTools(session="work", tools=tuple(map(tool_from, tools)))
                one.writer.write(draft, is_local=True)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            set_tools_and_fail()
        say(two.session("work"), "two")
        assert first.refresh() == 3
        first.set_tools(tools)
        assert [e.role for e in first.window().entries] == ["tools", "user", "user"]


def test_steps_back_count_window_changes_and_not_calls() -> None:
    with open_ledger() as ledger:
        session = ledger.session("work", model="m")
        say(session, "one")
        say(session, "two")
        with pytest.raises(ZeroDivisionError), session.call():
            raise ZeroDivisionError
        assert session.version == 5
        assert [session.resolve(f"head{step}") for step in ("", "^", "~2", "^^")] == [5, 2, 1, 1]
