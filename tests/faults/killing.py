"""Writers that append for ever, until they are killed; nothing acknowledged may be lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from ctxledger.ledger import Ledger, Session
from ctxledger.ledger.integrity.verify import verify

from .harness import Child, say


def append_until_killed(path: Path, name: str, send: Callable[[object], None]) -> None:
    """Append for ever and say the version of each message after it is stored."""
    ledger = Ledger.open(path)
    session = ledger.session(name, concurrent=True)
    for number in count():
        text = f"{os.getpid()} {number} " + "x" * (number * 37 % 3000)
        send([say(session, text), text])


def kill_writers(path: Path, kills: int, writers: int, delay_s: Callable[[], float]) -> int:
    """Kill writers at random moments; after each kill everything acknowledged must be there.

    Returns:
        How many events were acknowledged.
    """
    acked: dict[int, str] = {}
    for round_number in range(kills):
        group = [
            Child(lambda send: append_until_killed(path, "work", send)) for _ in range(writers)
        ]
        try:
            acked.update([group[0].next()])
            time.sleep(delay_s())
        finally:
            for member in group:
                os.kill(member.pid, signal.SIGKILL)
        for member in group:
            acked.update(dict(member.rest()))
            member.join()
        with Ledger.open(path) as ledger:
            session = ledger.session("work")
            version = session.version
            assert not set(acked) - set(range(1, version + 1))
            assert say(session, "after the kill") == version + 1
            if round_number % 10 == 9 or round_number == kills - 1:
                assert verify(ledger.store).ok
                assert_holds(session, acked)
    return len(acked)


def assert_holds(session: Session, acked: dict[int, str]) -> None:
    shown = {entry.item: entry.block.text for entry in session.window().entries}
    for version, text in acked.items():
        assert shown[f"{version}.0"] == text
