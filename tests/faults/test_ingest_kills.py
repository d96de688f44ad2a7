"""An import killed at any moment: events, bytes and records agree, and importing again ends it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from ctxledger.ledger import Ledger, ingest
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.verify import verify

from .harness import RECORDING, Child, in_child, open_ledger


def import_in_small_steps(path: Path, recording: Path, step: int, die_after: int = -1) -> None:
    """Import, committing every `step` records; `die_after` commits end the process."""
    ledger = open_ledger(path)
    ingest.COMMIT_RECORDS = step
    commit = ingest.SourceReader.commit
    commits = 0

    def commit_and_die(reader: ingest.SourceReader) -> None:
        nonlocal commits
        if commits == die_after:
            os._exit(9)
        commit(reader)
        commits += 1

    ingest.SourceReader.commit = commit_and_die  # type: ignore[method-assign]
    import_file(ledger, recording)
    ledger.close()


def facts(path: Path) -> list[object]:
    """What an import left behind, without salts: windows at each version, records, bytes."""
    out: list[object] = []
    with open_ledger(path, "read") as ledger:
        assert verify(ledger.store).problems == ()
        for session, name in ledger.store.session_names():
            head = ledger.store.head_version(session)
            windows = [ledger.store.window(session, v).digest() for v in range(head + 1)]
            types = [type(stored.event).__name__ for stored in ledger.store.read(session)]
            out.append((name, windows, types))
        for source in ledger.sources.all():
            out.append((source.length, source.format, list(ledger.sources.rows(source.id))))
            out.append(b"".join(ledger.sources.read(source.id)))
    return out


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    path = tmp_path_factory.mktemp("whole") / "ledger.db"
    with open_ledger(path) as ledger:
        import_file(ledger, RECORDING)
    return facts(path)


@pytest.mark.parametrize("step", [1, 5])
def test_after_each_commit_a_killed_import_can_be_completed(
    tmp_path: Path, whole: list[object], step: int
) -> None:
    commits = -(-len(RECORDING.read_bytes().splitlines()) // step)
    for die_after in range(0, commits, 4):
        path = tmp_path / f"{die_after}.db"
        with Killed(lambda at=die_after, to=path: import_in_small_steps(to, RECORDING, step, at)):
            pass
        left = facts(path)
        if die_after == 0:
            assert left == []
        else:
            assert RECORDING.read_bytes().startswith(left[-1])  # type: ignore[arg-type]
        with open_ledger(path) as ledger:
            import_file(ledger, RECORDING)
        assert facts(path) == whole


class Killed:
    """A child that must die by itself, without ending well."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._child = Child(lambda _: work())

    def __enter__(self) -> None:
        assert list(self._child.rest()) == []
        assert self._child.join() == 9

    def __exit__(self, *_: object) -> None:
        self._child.kill()


def kill_imports(folder: Path, kills: int, whole: list[object], seed: int = 7) -> int:
    """Kill imports at random moments, import again; gives how often something was half done."""
    random = Random(seed)
    started = time.monotonic()
    in_child(lambda: import_in_small_steps(folder / "timed.db", RECORDING, 2))
    whole_s = time.monotonic() - started
    partial = 0
    for number in range(kills):
        path = folder / f"k{number}.db"
        killed = Child(lambda _, to=path: import_in_small_steps(to, RECORDING, 2))
        time.sleep(random.uniform(0, whole_s))
        os.kill(killed.pid, signal.SIGKILL)
        killed.kill()
        if path.exists() and path.stat().st_size:
            with Ledger.open(path) as ledger:
                assert verify(ledger.store).problems == ()
                count = ledger.store.head().size
            partial += count > 0
        with open_ledger(path) as ledger:
            import_file(ledger, RECORDING)
        assert facts(path) == whole
        for file in folder.glob(f"k{number}.db*"):
            file.unlink()
    return partial


def test_a_killed_import_is_completed_by_importing_again(
    tmp_path: Path, whole: list[object]
) -> None:
    assert kill_imports(tmp_path, 12, whole) > 0


def test_importing_again_adds_nothing(tmp_path: Path, whole: list[object]) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        import_file(ledger, RECORDING)
        head = ledger.store.head()
        report = import_file(ledger, RECORDING)
        assert (report.is_known, report.new_records) == (True, 0)
        assert ledger.store.head() == head
    assert facts(path) == whole
