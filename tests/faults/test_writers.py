"""Several processes on one ledger, and some of them killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

from ctxledger.ledger import ConflictError, Ledger, LedgerBusy
from ctxledger.ledger.integrity.verify import verify

from .harness import child, make_ledger, open_ledger, say
from .killing import kill_writers

Send = Callable[[object], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "ledger.db"
    make_ledger(made, None)
    return made


def hold_and_stop(path: Path, send: Send) -> None:
    ledger = Ledger.open(path)
    with ledger.store.transaction():
        send("held")
        os.kill(os.getpid(), signal.SIGSTOP)


def test_a_stopped_lock_holder_costs_writers_five_seconds_and_readers_nothing(path: Path) -> None:
    with child(lambda send: hold_and_stop(path, send)) as holder:
        assert holder.next() == "held"
        with Ledger.open(path) as ledger:
            session = ledger.session("work")
            version = session.version
            started = time.monotonic()
            shown = len(session.window().entries)
            assert time.monotonic() - started < 1
            started = time.monotonic()
            with pytest.raises(LedgerBusy, match="locked by another process") as caught:
                say(session, "wait")
            assert time.monotonic() - started < 6
            assert caught.value.exit_code == 4
            assert len(session.window().entries) == shown
            holder.kill()
            started = time.monotonic()
            assert say(session, "free again") == version + 1
            assert time.monotonic() - started < 1


def test_a_stale_handle_conflicts_and_nothing_is_written(path: Path) -> None:
    with Ledger.open(path) as one, Ledger.open(path) as two:
        first, second = one.session("work"), two.session("work")
        version = say(first, "first")
        with pytest.raises(ConflictError) as caught:
            say(second, "second")
        assert (caught.value.expected, caught.value.actual) == (version - 1, version)
        assert one.store.head_version(first.id) == version
        second.refresh()
        assert say(second, "second, after looking") == version + 1


def append_some(path: Path, count: int, *, is_concurrent: bool) -> list[int]:
    """Versions of `count` messages; a stale handle looks again and repeats."""
    ledger = Ledger.open(path)
    session = ledger.session("work", concurrent=is_concurrent)
    versions = []
    while len(versions) < count:
        try:
            versions.append(say(session, f"{os.getpid()} {len(versions)}"))
        except ConflictError:
            session.refresh()
    ledger.close()
    return versions


@pytest.mark.parametrize("is_concurrent", [True, False])
def test_four_processes_append_fifty_each_without_gaps(path: Path, *, is_concurrent: bool) -> None:
    with Ledger.open(path) as ledger:
        before = ledger.session("work").version
    with ExitStack() as stack:
        group = [
            stack.enter_context(child(lambda _: append_some(path, 50, is_concurrent=is_concurrent)))
            for _ in range(4)
        ]
        given = sorted(version for member in group for version in member.result())
    if not is_concurrent:
        assert given == list(range(before + 1, before + 201))
    with Ledger.open(path) as ledger:
        session = ledger.session("work")
        assert session.version == before + 200
        texts = [entry.block.text for entry in session.window().entries][-200:]
        assert len(set(texts)) == 200
        for writer in {text.split()[0] for text in texts}:
            mine = [int(text.split()[1]) for text in texts if text.startswith(writer)]
            assert mine == list(range(50))
        assert verify(ledger.store).ok


def test_concurrent_handles_learn_the_version_of_their_own_message(path: Path) -> None:
    with Ledger.open(path) as one, Ledger.open(path) as two:
        first = one.session("work", concurrent=True)
        second = two.session("work", concurrent=True)
        versions = [say(handle, "x") for handle in (first, second, first, second, second, first)]
        assert versions == list(range(versions[0], versions[0] + 6))


def test_acknowledged_events_survive_kill_9(path: Path) -> None:
    random = Random(5)
    assert kill_writers(path, 30, 1, lambda: random.uniform(0, 0.03)) >= 30


def test_other_writers_go_on_when_some_are_killed(path: Path) -> None:
    random = Random(6)
    assert kill_writers(path, 5, 4, lambda: random.uniform(0.01, 0.06)) >= 5


def write_many(path: Path, count: int, send: Send) -> None:
    session = Ledger.open(path).session("work", concurrent=True)
    send("ready")
    for number in range(count):
        say(session, f"{number}")


def test_a_reader_sees_one_consistent_state_while_others_write(path: Path) -> None:
    with (
        child(lambda send: write_many(path, 300, send)) as writer,
        open_ledger(path, "read") as led,
    ):
        assert writer.next() == "ready"
        session = led.session("work")
        seen = []
        while len(seen) < 20 or seen[-1] < 300:
            with led.db.reading():
                head = led.store.head()
                versions = [stored.version for stored in session.events()]
                assert versions == list(range(1, len(versions) + 1))
                shown = session.window().entries
                assert led.store.head() == head
                assert len(shown) <= len(versions)
            seen.append(sum(entry.block.text.isdigit() for entry in shown))
        assert seen == sorted(seen)
        assert len(set(seen)) > 2


def write_and_fold(path: Path, rounds: int, send: Send) -> int:
    """Append and checkpoint in turns, as fast as it goes."""
    ledger = Ledger.open(path)
    session = ledger.session("work", concurrent=True)
    folded = 0
    send("ready")
    for number in range(rounds):
        say(session, f"{number} " + "w" * 500)
        try:
            ledger.db.checkpoint()
            folded += 1
        except LedgerBusy:
            pass
    os._exit(0) if folded else os._exit(3)


def race_checkpoints(path: Path, rounds: int, appends: int) -> None:
    """Checkpoints of two processes against their writes: the WAL-reset fault of SQLite."""
    for _ in range(rounds):
        with (
            child(lambda send: write_and_fold(path, appends, send)) as one,
            child(lambda send: write_and_fold(path, appends, send)) as two,
        ):
            assert (one.next(), two.next()) == ("ready", "ready")
            assert list(one.rest()) == list(two.rest()) == []
            assert (one.join(), two.join()) == (0, 0)
    with Ledger.open(path) as ledger:
        outcome = verify(ledger.store)
        assert outcome.problems == ()
        assert ledger.session("work").version > 2 * rounds * appends


def test_racing_checkpoints_lose_nothing(path: Path) -> None:
    race_checkpoints(path, 20, 8)
