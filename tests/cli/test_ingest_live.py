"""ingest of a live pipe and of a growing file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from ctxledger.ledger import BadInput, Ledger, LedgerBusy

Run = Callable[..., Result]
FIXTURE = Path(__file__).parents[1] / "fixtures" / "claude-code-interrupts.jsonl"
PATIENCE_S = 20.0


def line(number: int) -> bytes:
    return (
        json.dumps({"role": "user", "content": f"message {number}", "id": f"u{number}"}).encode()
        + b"\n"
    )


def events_in(db: Path) -> int:
    """Committed events, as another process sees them."""
    if not db.exists() or not db.stat().st_size:
        return 0
    try:
        with Ledger.open(db, "read") as ledger:
            return len(list(ledger.db.rows("SELECT 1 FROM events")))
    except (LedgerBusy, BadInput):
        return 0  # it is being made at this moment


def wait_for(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_done():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


@pytest.fixture
def start(db: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the program on the ledger of the test; killed at its end."""
    started: list[subprocess.Popen[bytes]] = []

    def run_beside(*args: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "ctxledger.cli", *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "CTXLEDGER_DB": str(db)},
        )
        started.append(process)
        return process

    yield run_beside
    for process in started:
        process.kill()
        process.communicate()


# -- a pipe ---------------------------------------------------------------------------------------


def test_a_pipe_is_like_the_file(run: Run, start: Callable[..., subprocess.Popen[bytes]]) -> None:
    stdout, stderr = start("ingest", "-", "--json").communicate(FIXTURE.read_bytes(), PATIENCE_S)
    assert json.loads(stdout)["sessions"][0]["version"] == 58, stderr
    piped = run("log", "@", "--json").stdout
    assert piped == run("log", FIXTURE, "--json").stdout
    exported = start("export", "@", "--format", "original").communicate(timeout=PATIENCE_S)[0]
    assert exported == FIXTURE.read_bytes()


def test_what_was_piped_is_committed_when_the_writer_pauses_and_survives_a_kill(
    start: Callable[..., subprocess.Popen[bytes]], db: Path
) -> None:
    process = start("ingest", "-", "--session", "live")
    assert process.stdin is not None
    sent = 0
    for count in (1, 2, 7, 40):
        half = line(1000 + count)
        process.stdin.write(b"".join(line(sent + n) for n in range(count)) + half[:10])
        process.stdin.flush()
        sent += count
        wait_for(lambda: events_in(db) == sent + 1)  # noqa: B023 (called at once)
        process.stdin.write(half[10:])
        sent += 1
    process.stdin.flush()
    wait_for(lambda: events_in(db) == sent + 1)
    process.kill()
    process.wait()
    with Ledger.open(db, "read") as ledger:
        assert len(ledger.find("live").structure().entries) == sent


def test_a_named_pipe_is_read_as_it_comes(
    start: Callable[..., subprocess.Popen[bytes]], db: Path, tmp_path: Path
) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    process = start("ingest", path)
    with path.open("wb", buffering=0) as file:
        file.write(line(1))
        wait_for(lambda: events_in(db) == 2)
    assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_pipe_with_everything_committed(
    start: Callable[..., subprocess.Popen[bytes]], db: Path, number: signal.Signals
) -> None:
    process = start("ingest", "-")
    assert process.stdin is not None
    process.stdin.write(line(1) + line(2) + b'{"half')
    process.stdin.flush()
    wait_for(lambda: events_in(db) == 3)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert b"6 bytes at the end are a half record" in stderr
    assert b"Traceback" not in stderr


@pytest.mark.parametrize(
    ("sent", "words"), [(b"", b"Nothing came"), (b"hello\n", b"none of the formats")]
)
def test_a_pipe_of_nothing_we_know(
    start: Callable[..., subprocess.Popen[bytes]], sent: bytes, words: bytes
) -> None:
    process = start("ingest", "-")
    _, stderr = process.communicate(sent, PATIENCE_S)
    assert (process.returncode, words in stderr) == (2, True)


def test_two_formats_in_one_pipe(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = start("ingest", "-", "--json")
    other = FIXTURE.read_bytes().splitlines(keepends=True)[1]
    stdout, stderr = process.communicate(line(1) + other + line(2), PATIENCE_S)
    assert process.returncode == 1
    assert b"wrong_format" in stderr
    assert sum(s["messages"] for s in json.loads(stdout)["sessions"]) == 2


# -- a growing file -------------------------------------------------------------------------------


def test_follow_takes_what_is_appended_and_leaves_half_lines(
    start: Callable[..., subprocess.Popen[bytes]], db: Path, tmp_path: Path
) -> None:
    path = tmp_path / "growing.jsonl"
    process = start("ingest", "--follow", path)
    with path.open("wb", buffering=0) as file:
        file.write(line(1) + line(2)[:9])
        wait_for(lambda: events_in(db) == 2)
        file.write(line(2)[9:])
        wait_for(lambda: events_in(db) == 3)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert b"growing" in stdout


def test_follow_reads_a_replaced_file_from_its_start_and_nothing_twice(
    start: Callable[..., subprocess.Popen[bytes]], db: Path, tmp_path: Path
) -> None:
    path = tmp_path / "rotated.jsonl"
    path.write_bytes(line(1))
    process = start("ingest", "--follow", path)
    wait_for(lambda: events_in(db) == 2)
    with path.open("ab", buffering=0) as old:
        path.rename(tmp_path / "rotated.jsonl.1")
        old.write(line(2))
        new = tmp_path / "new"
        new.write_bytes(line(3))
        new.rename(path)
        wait_for(lambda: events_in(db) == 4)
    with path.open("ab") as file:
        file.write(line(4))
    wait_for(lambda: events_in(db) == 5)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert b"was replaced" in stderr
    with Ledger.open(db, "read") as ledger:
        texts = [entry.text for entry in ledger.find("rotated").window().entries]
    assert texts == [f"message {n}" for n in (1, 2, 3, 4)]


def test_follow_reports_a_file_that_shrinks_and_goes_on(
    start: Callable[..., subprocess.Popen[bytes]], db: Path, tmp_path: Path
) -> None:
    path = tmp_path / "shrinking.jsonl"
    path.write_bytes(line(1) + line(2))
    process = start("ingest", "--follow", path)
    wait_for(lambda: events_in(db) == 3)
    path.write_bytes(line(3))
    wait_for(lambda: events_in(db) == 4)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert b"shrank" in stderr


def test_follow_waits_for_a_file_that_is_not_there_yet(
    start: Callable[..., subprocess.Popen[bytes]], db: Path, tmp_path: Path
) -> None:
    path = tmp_path / "later.jsonl"
    process = start("ingest", "--follow", path)
    assert process.stderr is not None
    assert b"Following" in process.stderr.readline()
    assert b"waiting for it" in process.stderr.readline()
    path.write_bytes(line(1))
    wait_for(lambda: events_in(db) == 2)
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE_S)
    assert process.returncode == 0


@pytest.mark.parametrize("is_longer", [False, True])
def test_follow_sees_a_file_that_was_cut_and_written_anew_between_two_looks(
    start: Callable[..., subprocess.Popen[bytes]], db: Path, tmp_path: Path, is_longer: bool
) -> None:
    path = tmp_path / "anew.jsonl"
    path.write_bytes(line(1) + line(2))
    process = start("ingest", "--follow", path)
    wait_for(lambda: events_in(db) == 3)
    path.write_bytes(b"".join(map(line, (3, 4, 5) if is_longer else (3, 4))))
    wait_for(lambda: events_in(db) == (6 if is_longer else 5))
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert b"was rewritten" in stderr


@pytest.mark.parametrize(
    ("first", "events"),
    [
        (b"\n", 2),
        (b"starting the agent ...\n", 3),
        (b'{"content":"' + b"long " * 500_000 + b'","role":"user"}\n', 3),
    ],
)
def test_follow_waits_until_the_format_can_be_told(
    start: Callable[..., subprocess.Popen[bytes]],
    db: Path,
    tmp_path: Path,
    first: bytes,
    events: int,
) -> None:
    path = tmp_path / "slow.jsonl"
    path.write_bytes(first[:300_000])
    process = start("ingest", "--follow", path)
    time.sleep(0.6)
    with path.open("ab") as file:
        file.write(first[300_000:] + line(1))
    wait_for(lambda: events_in(db) == events)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (0, 1)


def test_follow_says_how_much_of_a_half_first_line_is_left(
    start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    path = tmp_path / "half.jsonl"
    path.write_bytes(line(1)[:9])
    process = start("ingest", "--follow", path)
    assert process.stderr is not None
    assert b"Following" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, b"9 bytes at the end" in stderr) == (0, True)


def test_follow_tells_once_that_a_file_shrank_to_what_is_known(
    start: Callable[..., subprocess.Popen[bytes]], db: Path, tmp_path: Path
) -> None:
    path = tmp_path / "prefix.jsonl"
    path.write_bytes(line(1) + line(2))
    process = start("ingest", "--follow", path)
    wait_for(lambda: events_in(db) == 3)
    path.write_bytes(line(1))
    time.sleep(1.5)
    path.write_bytes(line(1) + line(3))
    wait_for(lambda: events_in(db) == 4)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert stderr.count(b"shrank") == 1
