"""Lineages of forks: nothing of a failed transaction stays, and no circle is followed."""

from __future__ import annotations

import msgspec
import pytest

from ctxledger.ledger import CorruptLedger
from ctxledger.ledger.drafts import OpenSession
from ctxledger.ledger.events import SessionOpened
from ctxledger.ledger.storage.store import Store

from ..story import open_ledger

PLAIN = SessionOpened(name="plain", format="api", coverage="exact")


def opened(store: Store, event: SessionOpened) -> int:
    with store.transaction():
        return store.open_session(event, "api")


def test_a_session_that_was_never_opened_leaves_no_lineage() -> None:
    with open_ledger() as ledger:
        store = ledger.store
        parent = opened(store, PLAIN)

        def open_and_fail() -> None:
            with store.transaction():
                other = store.open_session(msgspec.structs.replace(PLAIN, name="other"), "api")
                assert len(store.lineage(other)) == 1
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            open_and_fail()
        fork = msgspec.structs.replace(
            PLAIN, name="fork", relation="fork", parent=parent, parent_version=1
        )
        session = opened(store, fork)
        assert [part.session for part in store.lineage(session)] == [parent, session]


@pytest.mark.parametrize("parent", [2, 7])
def test_a_fork_of_itself_or_of_a_later_session_is_damage(parent: int) -> None:
    with open_ledger() as ledger:
        opened(ledger.store, PLAIN)
        fork = msgspec.structs.replace(
            PLAIN, name="fork", relation="fork", parent=parent, parent_version=1
        )
        session = opened(ledger.store, fork)
        with pytest.raises(CorruptLedger):
            ledger.store.lineage(session)


def test_a_fork_of_a_session_of_ours_goes_on_from_its_head() -> None:
    with open_ledger() as ledger:
        parent = ledger.session("parent")
        parent.append({"role": "user", "content": "one"})
        parent.append({"role": "user", "content": "two"})
        parent.rollback(to="2")
        with ledger.store.transaction():
            ledger.writer.write(
                OpenSession(session="child", format="api", parent="parent", relation="fork")
            )
        assert [e.text for e in ledger.find("child").window().entries] == ["one"]
