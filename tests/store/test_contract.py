"""What every store must do; run on a file and in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctxledger.ledger import (
    BadInput,
    ConflictError,
    CorruptLedger,
    Ledger,
    StorageFailed,
    UnknownReference,
)
from ctxledger.ledger.drafts import ChangePhase as PhaseDraft
from ctxledger.ledger.event_codec import encode
from ctxledger.ledger.events import (
    Delta,
    ItemPinned,
    MessageAppended,
    PhaseChanged,
    RolledBack,
    SessionOpened,
)
from ctxledger.ledger.storage.bodies import REDACTED, SHARED_BYTES_MIN
from ctxledger.ledger.storage.chain import link
from ctxledger.ledger.storage.codec import pack_event
from ctxledger.ledger.storage.store import Store
from ctxledger.ledger.window import Entry, Window


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    path = str(tmp_path / "ledger.db") if request.param == "file" else ":memory:"
    ticks = iter(range(10**6))
    salts = iter(range(10**6))
    made = Store(
        path, clock_us=lambda: next(ticks), entropy=lambda n: next(salts).to_bytes(n, "big")
    )
    yield made
    made.close()


def opened(store: Store, name: str = "s", **more: object) -> int:
    event = SessionOpened(name=name, format="api", coverage="exact", **more)  # type: ignore[arg-type]
    with store.transaction():
        return store.open_session(event, "api")


def message(version: int) -> MessageAppended:
    return MessageAppended(messages=(), delta=Delta(append=(f"{version}.0",)))


def add(store: Store, session: int, count: int, expected: int | None = None) -> int:
    with store.transaction():
        first = store.head_version(session) + 1
        events = [(message(first + n), "user") for n in range(count)]
        return store.append(session, expected, events)


def test_versions_and_positions_have_no_gaps(store: Store) -> None:
    one, two = opened(store), opened(store, "t")
    assert add(store, one, 3) == 4
    assert add(store, two, 2) == 3
    assert add(store, one, 1) == 5
    rows = list(store.db.rows("SELECT position, session, version FROM events ORDER BY position"))
    assert [row[0] for row in rows] == list(range(1, 9))
    assert [row[2] for row in rows if row[1] == one] == [1, 2, 3, 4, 5]
    assert store.head().size == 8


def test_an_expected_version_that_is_not_the_head_conflicts(store: Store) -> None:
    session = opened(store)
    add(store, session, 2, expected=1)
    with pytest.raises(ConflictError) as caught:
        add(store, session, 1, expected=1)
    assert (caught.value.expected, caught.value.actual) == (1, 3)
    assert store.head_version(session) == 3


def test_a_name_is_taken_once(store: Store) -> None:
    session = opened(store)
    with pytest.raises(ConflictError):
        opened(store)
    assert store.session_id("s") == session
    assert store.session_id("other") is None
    assert store.session_names() == [(session, "s")]


def fail_in_a_transaction(store: Store, session: int) -> None:
    with store.transaction():
        store.append(session, None, [(message(2), "user")])
        store.bodies.put(b"x")
        store.open_session(SessionOpened(name="t", format="api", coverage="exact"), "api")
        assert store.session_id("t") is not None
        raise ZeroDivisionError


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    session = opened(store)
    head = store.head()
    with pytest.raises(ZeroDivisionError):
        fail_in_a_transaction(store, session)
    assert store.head() == head
    assert store.session_id("t") is None
    assert store.db.row("SELECT count(*) FROM bodies") == (0,)
    assert add(store, session, 1) == 2


def test_reading_by_range_type_and_direction(store: Store) -> None:
    session = opened(store)
    add(store, session, 3)
    with store.transaction():
        store.append(session, None, [(PhaseChanged(name=b"k" * 16), "user")])
    add(store, session, 1)

    def versions(*bounds: int, **how: object) -> list[int]:
        return [stored.version for stored in store.read(session, *bounds, **how)]  # type: ignore[arg-type]

    assert versions() == [1, 2, 3, 4, 5, 6]
    assert versions(2) == [3, 4, 5, 6]
    assert versions(2, 4) == [3, 4]
    assert versions(is_reverse=True) == [6, 5, 4, 3, 2, 1]
    assert versions(types=("phase_changed",)) == [5]
    assert versions(4, 4) == []
    assert store.read_one(session, 5).event == PhaseChanged(name=b"k" * 16)
    assert list(store.read_many(session, [6, 2, 99])) == [2, 6]
    assert [s.position for s in store.read_after(4, 1)] == [5]
    assert [s.version for s in store.marks(session, "phase_changed")] == [5]
    with pytest.raises(UnknownReference):
        store.read_one(session, 7)
    with pytest.raises(UnknownReference):
        store.head_version(99)


def test_events_come_back_with_clock_and_actor(store: Store) -> None:
    session = opened(store)
    with store.transaction():
        store.append(session, 1, [(ItemPinned(items=("1.0",), at_ms=7), "maria")])
    stored = store.read_one(session, 2)
    assert (stored.actor, stored.event.at_ms, stored.session) == ("maria", 7, session)
    assert stored.recorded_at > store.read_one(session, 1).recorded_at


def test_each_hash_covers_the_one_before(store: Store) -> None:
    session = opened(store)
    add(store, session, 2)
    columns = "position, session, version, recorded_at, type, actor, data, hash"
    previous = store.origin()
    for row in store.db.rows(f"SELECT {columns} FROM events ORDER BY position"):
        previous = link(previous, *row[:7])
        assert previous == row[7]
    assert store.head().hash == previous.hex()
    assert store.head().origin == store.origin().hex()


def test_the_stored_bytes_hold_no_contents(store: Store) -> None:
    secret = b"the secret that must be erasable"
    session = opened(store)
    with store.transaction():
        key = store.bodies.put(secret)
        store.append(session, None, [(PhaseChanged(name=key), "user")])
    rows = list(store.db.rows("SELECT * FROM events"))
    assert secret not in repr(rows).encode()
    assert pack_event(encode(PhaseChanged(name=key))) == rows[-1][6]


def test_equal_large_contents_are_stored_once_and_small_ones_are_salted(store: Store) -> None:
    large, small = b"l" * SHARED_BYTES_MIN, b"s" * (SHARED_BYTES_MIN - 1)
    with store.transaction():
        keys = [store.bodies.put(data) for data in (large, large, small, small, b"")]
    assert keys[0] == keys[1]
    assert keys[2] != keys[3]
    assert store.bodies.get_many(keys) == dict(
        zip(keys, (large, large, small, small, b""), strict=True)
    )
    with pytest.raises(CorruptLedger, match="missing"):
        store.bodies.get(b"n" * 16)


def test_redacted_contents_read_as_such_and_are_not_shared_again(store: Store) -> None:
    large = b"l" * SHARED_BYTES_MIN
    with store.transaction():
        key = store.bodies.put(large)
        store.db.execute("UPDATE bodies SET data = NULL, salt = NULL, lookup = NULL")
    assert store.bodies.get(key) == REDACTED
    with store.transaction():
        assert store.bodies.put(large) != key


def test_windows_come_from_the_nearest_snapshot(store: Store) -> None:
    session = opened(store)
    add(store, session, 10)
    assert store.windows.changes_since_snapshot(session) == 10
    true = store.window(session, 6)
    with store.transaction():
        store.windows.keep(session, true)
    assert store.windows.changes_since_snapshot(session) == 5
    assert store.window(session, 6) == true
    assert [e.key for e in store.window(session, 8).entries] == [f"{v}.0" for v in range(2, 9)]
    with store.transaction():  # a wrong one shows that it is used, and another version's is not
        store.windows.keep(session, Window(6, (Entry("5.0"),)))
    assert [e.key for e in store.window(session, 7).entries] == ["5.0", "7.0"]
    with store.transaction():
        store.db.execute("UPDATE snapshots SET projector = projector + 1")
    assert store.window(session, 6) == true


def test_a_fork_goes_on_from_a_version_of_its_parent(store: Store) -> None:
    parent = opened(store)
    add(store, parent, 4)
    fork = opened(store, "fork", relation="fork", parent=parent, parent_version=3)
    assert store.head_version(fork) == 4
    add(store, fork, 2)
    add(store, parent, 1)
    grandchild = opened(store, "grand", relation="fork", parent=fork, parent_version=2)
    sessions = [stored.session for stored in store.read(fork)]
    assert sessions == [parent] * 3 + [fork] * 3
    assert [stored.version for stored in store.read(fork)] == [1, 2, 3, 4, 5, 6]
    assert [e.key for e in store.window(fork, 6).entries] == ["2.0", "3.0", "5.0", "6.0"]
    assert [stored.session for stored in store.read(grandchild)] == [parent, parent, grandchild]
    assert [s.version for s in store.read(fork, is_reverse=True)] == [6, 5, 4, 3, 2, 1]
    assert store.windows.change_before(fork, 6, 3) == 2


def test_a_change_before_counts_window_changes_only(store: Store) -> None:
    session = opened(store)
    add(store, session, 2)
    with store.transaction():
        store.append(session, None, [(PhaseChanged(name=b"k" * 16), "user")])
        store.append(session, None, [(RolledBack(number=1, delta=Delta()), "operator")])
    assert [store.windows.change_before(session, 5, n) for n in range(1, 5)] == [4, 2, 1, 0]
    assert store.windows.first_of_last_changes_by(session, "operator") == 5


WRITES: dict[str, Callable[[Ledger], object]] = {
    "execute": lambda ledger: ledger.db.execute("DELETE FROM snapshots"),
    "append": lambda ledger: ledger.session("s").append({"role": "user", "content": "x"}),
    "open": lambda ledger: ledger.session("new"),
}


@pytest.mark.parametrize("how", WRITES)
def test_a_reader_cannot_write(tmp_path: Path, how: str) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        ledger.session("s")
    with Ledger.open(path, "read") as ledger:
        head = ledger.store.head()
        with pytest.raises(StorageFailed):
            WRITES[how](ledger)
        assert ledger.store.head() == head


def test_two_handles_in_one_process_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as one, Ledger.open(path) as two:
        first = one.session("s")
        second = two.session("s")
        assert first.id == second.id
        first.append({"role": "user", "content": "x"})
        assert two.store.head_version(second.id) == 2
        assert two.store.head() == one.store.head()


def test_a_ledger_opened_again_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        session = ledger.session("s", title="T")
        session.append({"role": "user", "content": "hello"})
        head, window = ledger.store.head(), session.window()
    assert not Path(f"{path}-wal").exists()
    with Ledger.open(path) as ledger:
        assert ledger.store.head() == head
        assert ledger.session("s").window() == window


def test_a_draft_for_a_session_that_is_not_open_is_refused() -> None:
    draft = PhaseDraft(session="nobody", name="build")
    with Ledger.open() as ledger, ledger.store.transaction(), pytest.raises(BadInput):
        ledger.writer.write(draft)
