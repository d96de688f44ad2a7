"""Files that are no ledger, cannot be written, or do not fit on the disk."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctxledger.ledger import (
    BadInput,
    CorruptLedger,
    ForeignLedger,
    Ledger,
    LedgerError,
)
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.storage.connection import APPLICATION_ID, SCHEMA_VERSION

from .harness import RECORDING, child, in_child, make_ledger, open_ledger, say

OTHER_USER = 65534


def other_programs(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE notes(text)")
    db.commit()
    db.close()


def newer(path: Path) -> None:
    make_ledger(path, None)
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    db.close()


def damaged_first_page(path: Path) -> None:
    make_ledger(path, None)
    data = bytearray(path.read_bytes())
    data[100:1000] = bytes(900)
    path.write_bytes(data)


FOREIGN: dict[str, tuple[Callable[[Path], object], type[LedgerError], str]] = {
    "folder": (Path.mkdir, BadInput, "is a folder"),
    "100 random bytes": (
        lambda p: p.write_bytes(bytes(range(3, 103))), ForeignLedger, "is not a ledger"
    ),
    "a recording": (
        lambda p: p.write_bytes(RECORDING.read_bytes()), ForeignLedger, "is not a ledger"
    ),
    "another program's": (other_programs, ForeignLedger, "another program's"),
    "a newer one": (newer, ForeignLedger, "newer ctxledger"),
    "first page gone": (damaged_first_page, CorruptLedger, "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["read", "write", "auto"])
@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(
    tmp_path: Path, name: str, mode: str
) -> None:
    make, kind, words = FOREIGN[name]
    path = tmp_path / "file.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(kind, match=words) as caught:
        open_ledger(path, mode)
    assert type(caught.value) is kind
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert (path.read_bytes() if path.is_file() else None) == before
    # SQLite's read-only mode leaves its own empty files beside a database in WAL mode.
    beside = {p.name: p.stat().st_size for p in tmp_path.iterdir() if p != path}
    assert beside in ({}, {"file.db-wal": 0, "file.db-shm": 32768})


@pytest.mark.parametrize("make", [lambda _: None, Path.touch], ids=["missing", "empty"])
def test_there_is_nothing_to_read_yet(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "none.db"
    make(path)
    with pytest.raises(BadInput):
        open_ledger(path, "read")
    assert (path.stat().st_size if path.exists() else 0) == 0
    with open_ledger(path) as ledger:  # to write, both become a ledger
        assert say(ledger.session("s"), "hello") == 2


def test_a_header_of_ours_without_tables_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "hollow.db"
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA application_id={APPLICATION_ID}")
    db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    db.close()
    for mode in ("read", "write"):
        with pytest.raises(LedgerError) as caught:
            open_ledger(path, mode)
        assert caught.value.exit_code in (2, 3)


def test_files_are_private_under_a_generous_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        path = tmp_path / "new" / "folder" / "ledger.db"
        ledger = open_ledger(path)
        say(ledger.session("s"), "secret")
        for suffix in ("", "-wal", "-shm"):
            assert stat.S_IMODE(Path(f"{path}{suffix}").stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        ledger.close()
    finally:
        os.umask(before)


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that other users may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="ctxledger-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_other_user(work: Callable[[], object]) -> object:
    """Run in a child that may not write what this user owns (file modes do it without root)."""

    def change_user() -> object:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(OTHER_USER, OTHER_USER, OTHER_USER)
            os.setresuid(OTHER_USER, OTHER_USER, OTHER_USER)
        return work()

    return in_child(change_user)


def read_and_write(path: Path) -> list[object]:
    """(messages read, messages read with `auto`, what an attempt to write says)."""
    out: list[object] = []
    for mode in ("read", "auto"):
        try:
            with open_ledger(path, mode) as ledger:
                out.append(len(ledger.session("work").window().entries))
        except LedgerError as error:
            out.append([type(error).__name__, error.message])
    try:
        with open_ledger(path) as ledger:
            out.append(say(ledger.session("work"), "more"))
    except LedgerError as error:
        out.append([type(error).__name__, error.message])
    return out


@pytest.mark.parametrize("folder_mode", [0o555, 0o755])
def test_a_read_only_ledger_can_be_read(shared_folder: Path, folder_mode: int) -> None:
    path = shared_folder / "ledger.db"
    make_ledger(path, None)
    path.chmod(0o444)
    before = path.read_bytes()
    shared_folder.chmod(folder_mode)
    with open_ledger(path, "read") as ledger:
        expected = len(ledger.session("work").window().entries)
    read, auto, written = as_other_user(lambda: read_and_write(path))  # type: ignore[misc]
    assert (read, auto) == (expected, expected)
    assert written[0] == "StorageFailed"
    assert str(path) in written[1]
    assert path.read_bytes() == before


def test_a_read_only_folder_with_a_log_is_read_with_the_log(shared_folder: Path) -> None:
    path = shared_folder / "ledger.db"
    make_ledger(path, None)

    def write_on() -> int:
        session = Ledger.open(path).session("work")
        say(session, "only in the log")
        return len(session.window().entries)

    expected = in_child(write_on)
    Path(f"{path}-shm").unlink()
    path.chmod(0o444)
    Path(f"{path}-wal").chmod(0o444)
    shared_folder.chmod(0o555)
    assert as_other_user(lambda: read_and_write(path)[:2]) == [expected, expected]
    assert sorted(p.name for p in shared_folder.iterdir()) == ["ledger.db", "ledger.db-wal"]


def test_a_ledger_one_may_not_read_gives_one_line(shared_folder: Path) -> None:
    path = shared_folder / "ledger.db"
    make_ledger(path, None)
    path.chmod(0)
    shared_folder.chmod(0o555)
    for outcome in as_other_user(lambda: read_and_write(path)):  # type: ignore[attr-defined]
        assert outcome[0] == "StorageFailed"
        assert "\n" not in outcome[1]


def test_the_ledger_does_not_take_itself_in(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    with open_ledger(path) as ledger:
        say(ledger.session("s"), "x")
        for own in (path, Path(f"{path}-wal"), link):
            with pytest.raises(BadInput, match="the ledger itself"):
                import_file(ledger, own)


def test_a_recording_whose_name_is_no_utf8_is_taken_in(tmp_path: Path) -> None:
    recording = Path(os.fsdecode(os.fsencode(tmp_path) + b"/re\xffcording.jsonl"))
    shutil.copy(RECORDING, recording)
    with open_ledger() as ledger:
        report = import_file(ledger, recording)
        assert report.new_records > 0
        assert import_file(ledger, recording).new_records == 0
        (source,) = ledger.sources.all()
        assert source.name.endswith("re?cording.jsonl")


def test_a_forked_child_may_not_use_the_parents_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, None)
    ledger = Ledger.open(path)
    session = ledger.session("work")

    def use_it() -> list[str]:
        said = []
        for use in (lambda: say(session, "x"), session.window, lambda: list(session.events())):
            try:
                use()
            except BadInput as error:
                said.append(error.message)
        ledger.close()
        return said

    with child(lambda _send: use_it()) as forked:
        said = forked.result()
    assert len(said) == 3
    assert all("fork" in line for line in said)
    assert say(session, "the parent goes on") == session.version
    assert verify(ledger.store).ok
    ledger.close()


def test_a_reader_that_looks_while_it_is_being_made_finds_nothing_yet_or_a_ledger(
    tmp_path: Path,
) -> None:
    for number in range(15):
        path = tmp_path / f"{number}.db"

        def make(path: Path = path) -> int:
            with Ledger.open(path) as ledger:
                return say(ledger.session("s"), "hello")

        with child(lambda _send, make=make: make()) as made:
            events = 0
            deadline = time.monotonic() + 20
            while not events and time.monotonic() < deadline:
                try:
                    with open_ledger(path, "read") as ledger:
                        events = len(list(ledger.db.rows("SELECT 1 FROM events")))
                except BadInput:  # no file yet, or an empty one; anything else is a defect
                    continue
            assert events in (1, 2)
            assert made.result() == 2
