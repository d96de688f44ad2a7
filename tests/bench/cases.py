"""What is measured. Each function gives results; sizes are arguments so that CI runs small."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import zstandard

from ctxledger.ledger import Ledger
from ctxledger.ledger.blocks import keys_in
from ctxledger.ledger.caches.catchup import catch_up
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.rolling_back import apply_rollback, plan_rollback
from ctxledger.ledger.session import Session
from ctxledger.ledger.views.contents import load_items

from .ledgers import long_session
from .measure import Result, percentile, ratio, seconds

T = TypeVar("T")
TURN_TEXT = "the quick brown fox jumps over the lazy dog, and reads file_{n}.py again. " * 6


def _turn(n: int) -> dict[str, str]:
    return {"role": "assistant" if n % 2 else "user", "content": TURN_TEXT.format(n=n)}


@contextmanager
def _plain_sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE turns(id INTEGER PRIMARY KEY, data TEXT)")
    yield connection
    connection.close()


def disk(recordings: list[Path], folder: Path) -> list[Result]:
    """Bytes on disk / raw, everything included: index, caches, source bytes."""
    worst, where = 0.0, ""
    for file in recordings:
        path = folder / f"{file.stem}.db"
        with Ledger.open(path) as ledger:
            import_file(ledger, file)
            catch_up(ledger.store)
            for _, name in ledger.store.session_names():
                ledger.find(name).window()
        share = path.stat().st_size / file.stat().st_size
        if share > worst:
            worst, where = share, file.name
    return [Result("bytes on disk / raw, worst recording", worst, "", 0.6, where)]


def append(turns: int, folder: Path) -> list[Result]:
    """A turn at the end against one at the start, and against a plain INSERT."""
    times: list[float] = []
    with Ledger.open(folder / "append.db") as ledger:
        session = ledger.session("append")
        for n in range(turns):
            start = time.perf_counter()
            session.append(_turn(n))
            times.append(time.perf_counter() - start)
    block = max(50, turns // 20)
    early, late = times[4 : 4 + block], times[-block:]
    growth = percentile(late, 0.5) / percentile(early, 0.5)

    def run_pair(number: int) -> tuple[float, float]:
        """Median seconds of an append and of an INSERT, one after the other on the same disk."""
        ours: list[float] = []
        plain: list[float] = []
        with (
            Ledger.open(folder / f"pair{number}.db") as ledger,
            _plain_sqlite(folder / f"plain{number}.db") as connection,
        ):
            session = ledger.session("pair")
            for n in range(300):
                start = time.perf_counter()
                session.append(_turn(n))
                middle = time.perf_counter()
                connection.execute("INSERT INTO turns(data) VALUES (?)", (json.dumps(_turn(n)),))
                ours.append(middle - start)
                plain.append(time.perf_counter() - middle)
        return percentile(ours, 0.5), percentile(plain, 0.5)

    pairs = [run_pair(number) for number in range(7)]
    against = percentile([ours / plain for ours, plain in pairs], 0.5)
    return [
        Result(
            f"append at turn {turns} / at turn 4",
            growth,
            "",
            1.2,
            f"{percentile(late, 0.5) * 1e6:.0f} us a turn, FULL",
        ),
        Result("append / plain sqlite3 INSERT, FULL", against, "", 1.8, "median of 7 pairs"),
    ]


def windows(versions: int, folder: Path) -> list[Result]:
    """Rebuilding, comparing and rolling back a 360-item window among many versions."""
    path = folder / "long.db"
    name = long_session(path, versions)
    random.seed(1)
    with Ledger.open(path) as ledger:
        session = ledger.find(name)
        places = [random.randint(1, session.version) for _ in range(400)]
        rounds = [_times(lambda v: ledger.store.window(session.id, v), places) for _ in range(3)]
        structure = [min(times) for times in zip(*rounds, strict=True)]
        session.window(session.version)
        contents = ratio(lambda: _contents(session), _decode_only(session), 9, time.process_time)
        pairs = list(zip(places[:100], places[100:200], strict=True))
        diffs = _times(lambda pair: session.diff(pair[0], pair[1]), pairs)
        undo, undo_bytes = _roll_backs(ledger, session)
    with _plain_sqlite(folder / "commits.db") as connection:
        insert = seconds(lambda: connection.execute("INSERT INTO turns(data) VALUES ('')"), 99)
    return [
        Result(
            f"rebuild a window at {versions:,} versions, p99",
            percentile(structure, 0.99) * 1e3,
            "ms",
            1.0,
            f"p50 {percentile(structure, 0.5) * 1e6:.0f} us; each place the best of 3",
        ),
        Result("rebuild with contents / decoding alone", contents, "", 1.5, "processor time"),
        Result(
            "diff of two versions, p99",
            percentile(diffs, 0.99) * 1e3,
            "ms",
            10.0,
            f"p50 {percentile(diffs, 0.5) * 1e3:.2f} ms",
        ),
        Result(
            "roll-back, median",
            undo * 1e3,
            "ms",
            2.0,
            f"FULL; of this disk, a bare INSERT takes {insert * 1e3:.2f} ms",
        ),
        Result("roll-back, stored", undo_bytes / 1000, "kB", 4.0, "event and snapshot"),
    ]


def _times(run: Callable[[T], object], arguments: list[T]) -> list[float]:
    times = []
    for argument in arguments:
        start = time.perf_counter()
        run(argument)
        times.append(time.perf_counter() - start)
    return times


def _contents(session: Session) -> None:
    session.placed(session.store.window(session.id, session.version))


def _decode_only(session: Session) -> Callable[[], object]:
    window = session.store.window(session.id, session.version)
    items = load_items(session.store, session.id, {e.item_id for e in window.entries})
    keys = [key for item in items.values() for key in keys_in(item.block)]
    versions = {int(item.split(".")[0]) for item in items}

    def run() -> None:
        session.store.read_many(session.id, versions)
        session.store.bodies.get_many(keys)

    return run


def _roll_backs(ledger: Ledger, session: Session) -> tuple[float, int]:
    """(median seconds, bytes stored) of undoing the last compaction and undoing that."""
    handles: list[str] = []
    times = []
    for _ in range(9):
        plan = plan_rollback(session, handles)
        start = time.perf_counter()
        number = apply_rollback(session, plan)
        times.append(time.perf_counter() - start)
        handles = [f"r{number}"]
    row = ledger.db.row(
        "SELECT length(data) + (SELECT length(data) FROM snapshots ORDER BY version DESC LIMIT 1)"
        " FROM events ORDER BY position DESC LIMIT 1"
    )
    assert row is not None
    return percentile(times, 0.5), int(row[0])


def imports(recordings: list[Path], folder: Path) -> list[Result]:
    """Importing against a plain script that parses, hashes, compresses and inserts the same."""
    number = iter(range(1000))

    def ours(counter: str = "") -> None:
        for file in recordings:
            with Ledger.open(folder / f"i{next(number)}.db", counter_name=counter) as ledger:
                import_file(ledger, file)
                if counter:
                    for _, name in ledger.store.session_names():
                        ledger.find(name).window()

    def plain() -> None:
        for file in recordings:
            _plain_import(file, folder / f"p{next(number)}.db")

    ours("o200k")  # reads the tokenizer's table
    return [
        Result(
            "import / plain script doing the same",
            ratio(ours, plain),
            "",
            3.0,
            f"{seconds(ours, 3) * 1e3:.0f} ms for {len(recordings)} recordings",
        ),
        Result(
            "import and count / import and len/4",
            ratio(lambda: ours("o200k"), lambda: ours("len4")),
            "",
            2.0,
        ),
    ]


def _plain_import(file: Path, path: Path) -> None:
    """Parse each line, keep line and blocks compressed under a digest, one transaction."""
    pack = zstandard.ZstdCompressor(level=3).compress
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE lines(id INTEGER PRIMARY KEY, uuid TEXT UNIQUE, data BLOB)")
    connection.execute("CREATE TABLE blocks(digest BLOB PRIMARY KEY, line INTEGER, data BLOB)")
    connection.execute("BEGIN")
    for number, line in enumerate(file.read_bytes().split(b"\n")):
        if not line:
            continue
        record = json.loads(line)
        connection.execute(
            "INSERT OR IGNORE INTO lines VALUES (?, ?, ?)", (number, record.get("uuid"), pack(line))
        )
        content = (record.get("message") or {}).get("content") or []
        for block in [content] if isinstance(content, str) else content:
            data = json.dumps(block).encode()
            connection.execute(
                "INSERT OR IGNORE INTO blocks VALUES (?, ?, ?)",
                (blake2b(data, digest_size=16).digest(), number, pack(data)),
            )
    connection.execute("COMMIT")
    connection.close()
