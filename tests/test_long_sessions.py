"""Long sessions: what is asked for is found by index, and the history is not read through."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxledger.cli.commands.inspect import INDEXED_AT_ONCE_MAX, index
from ctxledger.inspector.feed import Feed
from ctxledger.ledger import BadInput, Ledger, Session, UnknownReference
from ctxledger.ledger.caches.catchup import events_behind
from ctxledger.ledger.drafts import AppendMessage, CompleteCall, StartCall
from ctxledger.ledger.storage import store as store_module
from ctxledger.ledger.writing.writer import CALLS_READ

from .bench.ledgers import long_session

EVENTS = 3_000
DECODED_MAX = 400
"""Events that may be decoded: the newest calls, the deltas behind one snapshot."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "long.db"
    long_session(path, EVENTS)
    with Ledger.open(path, is_durable=False) as ledger:
        for number in range(CALLS_READ + 5):
            with ledger.store.transaction():
                ledger.writer.write(StartCall(session="long", call=f"k{number}"))
    return path


@pytest.fixture
def session(path: Path) -> Iterator[Session]:
    with Ledger.open(path, is_durable=False) as ledger:
        yield ledger.find("long")


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each event that the store decodes."""
    seen: list[int] = []
    decode = store_module.decode

    def counting(data: bytes) -> object:
        seen.append(1)
        return decode(data)

    monkeypatch.setattr(store_module, "decode", counting)
    return seen


@pytest.mark.parametrize("reference", ["call3", "call250", "c1", "c9", "head~2"])
def test_a_reference_is_found_by_index(
    session: Session, decoded: list[int], reference: str
) -> None:
    assert session.resolve(reference) > 0
    assert len(decoded) <= 2


def test_a_handle_gives_its_own_event(session: Session) -> None:
    for number in (1, 9):
        stored = session.store.read_one(session.id, session.resolve(f"c{number}"))
        assert getattr(stored.event, "number", 0) == number
    for wrong in ("c0", "c9999", "call0", "call9999"):
        with pytest.raises(UnknownReference):
            session.resolve(wrong)


def test_a_call_is_appended_without_reading_the_history(
    session: Session, decoded: list[int]
) -> None:
    with session.ledger.store.transaction():
        writer = session.ledger.writer
        called = writer.write(StartCall(session="long", call="new"))
        writer.write(AppendMessage(session="long", role="assistant", blocks=()))
        done = writer.write(CompleteCall(session="long", call="new"))
    assert getattr(done.events[0], "called", 0) == called.first_version
    assert len(decoded) <= DECODED_MAX


def test_a_completion_finds_an_old_call(session: Session) -> None:
    with session.ledger.store.transaction():
        old = session.ledger.writer.write(CompleteCall(session="long", call="k0"))
        none = session.ledger.writer.write(CompleteCall(session="long", call="never"))
    assert getattr(old.events[0], "called", 0) == session.resolve("call1")
    assert getattr(none.events[0], "called", -1) == 0


def test_what_covers_a_compaction_is_found_without_replay(
    session: Session, decoded: list[int]
) -> None:
    with pytest.raises(BadInput, match="covered by a later compaction, c3") as caught:
        session.rollback("c2")
    assert "c2 c3" in caught.value.hint
    assert len(decoded) <= DECODED_MAX


def test_the_item_screen_says_what_took_an_item_away(path: Path, decoded: list[int]) -> None:
    feed = Feed(str(path))
    picture = feed.item(feed.find("long"), "2.0", 5)
    feed.close()
    assert picture.left_at[1] == "c1"
    assert len(decoded) <= DECODED_MAX


@pytest.mark.parametrize("events", [300, INDEXED_AT_ONCE_MAX + 1])
def test_the_inspector_finds_a_full_index(tmp_path: Path, events: int) -> None:
    long_session(tmp_path / "a.db", events)
    with Ledger.open(tmp_path / "a.db") as ledger:
        assert events_behind(ledger.store) == events
        timer = index(ledger)
        assert (timer is not None) == (events > INDEXED_AT_ONCE_MAX)
        if timer is not None:
            timer.join(60)
        assert events_behind(ledger.store) == 0


def test_a_read_only_ledger_is_left_alone(tmp_path: Path) -> None:
    long_session(tmp_path / "a.db", 50)
    with Ledger.open(tmp_path / "a.db", "read") as ledger:
        assert index(ledger) is None
        assert events_behind(ledger.store) == 50
