"""What the fault tests share: ledgers to damage, child processes to kill, bytes to flip.

Children are forked from a process that has no ledger open; they end with `os._exit`, so a
child never closes what it holds, as after a crash.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any

from ctxledger.ledger import CorruptLedger, Ledger, LedgerError, Session
from ctxledger.ledger.content import Block
from ctxledger.ledger.drafts import AnyDraft, EvictItems, ImportCompaction, OpenSession
from ctxledger.ledger.events import ContentRedacted
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.verify import Verification, verify
from ctxledger.ledger.storage.chain import Head
from ctxledger.ledger.storage.codec import unpack

FIXTURES = Path(__file__).parents[1] / "fixtures"
RECORDING = FIXTURES / "claude-code-interrupts.jsonl"
START_US = 1_790_000_000_000_000


def fixed_entropy(seed: str = "") -> Callable[[int], bytes]:
    """Random-looking bytes, the same in each run."""
    numbers = count()
    return lambda size: blake2b(f"{seed}{next(numbers)}".encode(), digest_size=size).digest()


def fixed_clock() -> Callable[[], int]:
    """A clock that goes on by a millisecond at each look."""
    ticks = count()
    return lambda: START_US + 1000 * next(ticks)


def open_ledger(path: Path | str = ":memory:", mode: Any = "write", seed: str = "") -> Ledger:
    return Ledger.open(path, mode, clock_us=fixed_clock(), entropy=fixed_entropy(seed))


def text_block(text: str, origin: Any = "human") -> Block:
    return Block(type="text", text=text, origin=origin)


def write(session: Session, *drafts: AnyDraft) -> None:
    """Take drafts into a session, in one transaction."""
    with session.writing():
        for draft in drafts:
            session.ledger.writer.write(draft)


def say(session: Session, text: str) -> int:
    return session.append({"role": "user", "content": text})


def redact(session: Session, item: str) -> None:
    """Remove an item's contents, and say so."""
    version, _, index = item.partition(".")
    event = session.store.read_one(session.id, int(version)).event
    key = event.messages[0].blocks[int(index)].body  # type: ignore[union-attr]
    with session.writing():
        session.store.db.execute(
            "UPDATE bodies SET data = NULL, salt = NULL, lookup = NULL WHERE key = ?", (key,)
        )
        event = ContentRedacted(bodies=(key,), items=(item,), reason="secret")
        session.ledger.writer.append(session.id, [event], "operator")


def fill(ledger: Ledger, recording: Path | None) -> None:
    """A session with one of everything, a fork of it, and an imported recording."""
    session = ledger.session("work", title="Some work", model="m-1", limit_tokens=1000)
    for number in range(8):
        say(session, f"message {number} " + ("long " * 300 if number == 3 else ""))
    write(session, EvictItems(session="work", items=("4.0",), placeholder="[gone]"))
    keep = tuple(
        stored.event.messages[0].message  # type: ignore[union-attr]
        for stored in session.events(after=6, types=("message_appended",))
    )
    brief = (text_block("a brief", "summary"),)
    write(
        session, ImportCompaction(session="work", message="b", role="user", blocks=brief, keep=keep)
    )
    session.rollback("c1", reason="it lost the rule")
    redact(session, "3.0")
    with ledger.store.transaction():
        ledger.writer.write(
            OpenSession(session="other", format="api", relation="fork", parent="work")
        )
    other = ledger.session("other")
    say(other, "in the fork")
    if recording is not None:
        import_file(ledger, recording)


def make_ledger(path: Path, recording: Path | None = RECORDING) -> Head:
    """Write the ledger of `fill` to a file, close it, and give its head."""
    with open_ledger(path) as ledger:
        fill(ledger, recording)
        return ledger.store.head()


def checked(path: Path, head: Head | None = None) -> Verification | LedgerError:
    """What a user learns from `verify` on a file: the outcome, or why it cannot be opened."""
    try:
        with open_ledger(path, "read") as ledger:
            return verify(ledger.store, saved_head=head)
    except LedgerError as error:
        return error


def is_reported(path: Path, head: Head | None = None) -> bool:
    outcome = checked(path, head)
    return isinstance(outcome, LedgerError) or not outcome.ok


QUERIES = (
    "SELECT * FROM events ORDER BY position",
    "SELECT id, key, salt, size, lookup, unpacked(data) FROM bodies ORDER BY id",
    "SELECT * FROM sources ORDER BY id",
    (
        "SELECT source, offset, length, records, digest, rows, unpacked(data) FROM chunks"
        " ORDER BY source, offset"
    ),
    "SELECT * FROM records ORDER BY source, offset",
    "SELECT session, version FROM events ORDER BY session, version",
    "SELECT key FROM bodies ORDER BY key",
    "SELECT lookup FROM bodies WHERE lookup IS NOT NULL ORDER BY lookup",
    "SELECT head FROM sources ORDER BY head",
    "SELECT key FROM records ORDER BY key",
    "SELECT session, version FROM records WHERE events > 0 ORDER BY session, version",
)


def contents(path: Path) -> list[object]:
    """What plain SQLite gives for everything of value in a file, errors included.

    Packed contents count as what they unpack to: zstandard has bits that mean nothing.
    """
    out: list[object] = []
    connection = sqlite3.connect(path)
    connection.create_function("unpacked", 1, _unpacked)
    try:
        for query in QUERIES:
            try:
                out.append(connection.execute(query).fetchall())
            except (sqlite3.Error, UnicodeDecodeError, MemoryError) as error:
                out.append(type(error).__name__)
    finally:
        connection.close()
    return out


def _unpacked(packed: Any) -> Any:
    try:
        return unpack(packed)
    except (CorruptLedger, TypeError):
        return packed


def files_of(path: Path) -> dict[str, bytes]:
    """Bytes of a database that this process does not have open, and of its WAL."""
    return {
        suffix: file.read_bytes()
        for suffix in ("", "-wal")
        if (file := Path(f"{path}{suffix}")).exists()
    }


def put_files(path: Path, files: dict[str, bytes]) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    for suffix, data in files.items():
        Path(f"{path}{suffix}").write_bytes(data)


class Child:
    """A forked process that runs a function and sends JSON lines through a pipe."""

    def __init__(self, work: Callable[[Callable[[object], None]], object]) -> None:
        """Args:
        work: gets a function that sends one value; what it returns is sent last.
        """
        self._reader, writer = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._reader)
            code = 1
            try:
                send = lambda value: os.write(writer, json.dumps(value).encode() + b"\n")  # noqa: E731
                send(work(send))
                code = 0
            except BaseException:  # noqa: BLE001
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writer)
        self._pending = b""
        self._status: int | None = None

    def next(self) -> Any:
        """The next value sent; EOFError when the child is gone."""
        while b"\n" not in self._pending:
            data = os.read(self._reader, 65536)
            if not data:
                raise EOFError
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return json.loads(line)

    def rest(self) -> Iterator[Any]:
        """All whole values until the child ends."""
        with suppress(EOFError):
            while True:
                yield self.next()

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def join(self) -> int:
        """Wait for the end; gives the exit code, negative for a signal."""
        if self._status is None:
            _, status = os.waitpid(self.pid, 0)
            self._status = os.waitstatus_to_exitcode(status)
            os.close(self._reader)
        return self._status

    def kill(self) -> None:
        if self._status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.join()

    def result(self) -> Any:
        """The last value sent, when the child ended well."""
        values = list(self.rest())
        assert self.join() == 0, "the child failed, see its output"
        return values[-1]


@contextmanager
def child(work: Callable[[Callable[[object], None]], object]) -> Iterator[Child]:
    """A child that is gone at the end, whatever happens."""
    started = Child(work)
    try:
        yield started
    finally:
        started.kill()


def in_child(work: Callable[[], object]) -> Any:
    """Run a function in a child that then ends without closing anything, and give its result."""
    with child(lambda _send: work()) as started:
        return started.result()
