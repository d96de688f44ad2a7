"""Forks: a session of its own that goes on from a version of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxledger.ledger import BadInput, ConflictError, Ledger
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.session import Session


def said(session: Session, at: str = "head") -> list[str]:
    return [entry.text for entry in session.window(at).entries]


def parent_of(ledger: Ledger) -> Session:
    session = ledger.session("main", model="m")
    for text in ("one", "two", "three"):
        session.append({"role": "user", "content": text})
    return session


def test_a_fork_sees_what_the_parent_saw_and_neither_sees_the_others_later_items() -> None:
    with Ledger.open() as ledger:
        parent = parent_of(ledger)
        child = ledger.fork(parent, "3")
        child.append({"role": "user", "content": "mine"})
        parent.append({"role": "user", "content": "theirs"})
        assert said(child) == ["one", "two", "mine"]
        assert said(parent) == ["one", "two", "three", "theirs"]
        assert said(child, "2") == ["one"]
        assert (child.name, child.version) == ("main.fork1", 5)
        assert child.item_block("2.0").text == "one"
        dropped = [entry.key for entry in child.diff(3, "head").added]
        assert dropped == ["5.0"]
        assert verify(ledger.store).ok


def test_a_fork_of_a_fork_and_a_roll_back_in_the_parent() -> None:
    with Ledger.open() as ledger:
        parent = parent_of(ledger)
        child = ledger.fork(parent, "4", name="child")
        child.append({"role": "user", "content": "four"})
        grandchild = ledger.fork(child, "5", name="grandchild")
        grandchild.append({"role": "user", "content": "five"})
        parent.rollback(to="2")
        child.rollback(to="3")
        assert said(parent) == ["one"]
        assert said(child) == ["one", "two"]
        assert said(grandchild) == ["one", "two", "three", "five"]
        assert verify(ledger.store).ok


def test_names_of_forks_and_what_is_refused() -> None:
    with Ledger.open() as ledger:
        parent = parent_of(ledger)
        assert [ledger.fork(parent, 2).name for _ in range(3)] == [
            "main.fork1",
            "main.fork2",
            "main.fork3",
        ]
        with pytest.raises(ConflictError):
            ledger.fork(parent, 2, name="main")
        with pytest.raises(BadInput):
            ledger.fork(parent, 0)


def test_a_fork_survives_a_rebuild_and_a_new_process(tmp_path: Path) -> None:
    from ctxledger.ledger.caches.catchup import rebuild

    with Ledger.open(tmp_path / "l.db") as ledger:
        child = ledger.fork(parent_of(ledger), "3", name="child")
        child.append({"role": "user", "content": "mine"})
        rebuild(ledger.store)
    with Ledger.open(tmp_path / "l.db", "read") as ledger:
        assert said(ledger.find("child")) == ["one", "two", "mine"]
