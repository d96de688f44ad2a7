"""Which argument is the session."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxledger.cli.arguments import (
    command_line,
    looks_like_item,
    looks_like_reference,
    split_session,
    with_ledger,
)
from ctxledger.cli.context import Context
from ctxledger.ledger import BadInput, Ledger


@pytest.fixture
def context(tmp_path: Path) -> Context:
    path = tmp_path / "l.db"
    with Ledger.open(path) as ledger:
        for name in ("auth", "42"):
            ledger.session(name).append({"role": "user", "content": "hi"})
    return Context(db=str(path))


@pytest.mark.parametrize(
    "text", ["42", "head", "c1", "e3^", "call7~2", "head~3^", "@2026-11-30T14:00"]
)
def test_references_look_like_references(text: str) -> None:
    assert looks_like_reference(text)


@pytest.mark.parametrize("text", ["@", "auth", "53ea1606", "a1", "42.1", "c1.jsonl", ""])
def test_sessions_do_not(text: str) -> None:
    assert not looks_like_reference(text)


def test_items_look_like_items() -> None:
    assert looks_like_item("42.1")
    assert not looks_like_item("42")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), ("", ())),
        (("c1",), ("", ("c1",))),
        (("c1", "c2"), ("", ("c1", "c2"))),
        (("auth",), ("auth", ())),
        (("auth", "c1"), ("auth", ("c1",))),
        (("auth", "1", "2"), ("auth", ("1", "2"))),
        (("c1", "1", "2"), ("c1", ("1", "2"))),
        (("42",), ("42", ())),
        (("41", "42"), ("", ("41", "42"))),
    ],
)
def test_the_first_is_the_session_unless_it_can_only_be_a_reference(
    context: Context, arguments: tuple[str, ...], expected: tuple[str, tuple[str, ...]]
) -> None:
    assert split_session(context, arguments, 2) == expected
    context.close()


def test_a_file_is_a_session_whatever_its_name(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c1").write_text("", "utf-8")
    assert split_session(context, ("c1", "c2"), 2) == ("c1", ("c2",))
    context.close()


def test_too_many_are_refused(context: Context) -> None:
    with pytest.raises(BadInput, match="too many"):
        split_session(context, ("a", "b", "c", "d"), 2)


def test_commands_repeat_the_ledger_that_was_named() -> None:
    assert command_line(Context(), "rollback", "a b", "r1") == "ctxledger rollback 'a b' r1"
    named = Context(db="my ledger.db")
    assert with_ledger(named, "ctxledger head") == "ctxledger head --db 'my ledger.db'"
    assert with_ledger(named, "") == ""
