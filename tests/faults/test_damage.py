"""Bits, pages and logs that are not what was written: reported, never a crash."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from ctxledger.ledger import CorruptLedger, Ledger, LedgerError
from ctxledger.ledger.integrity.verify import Verification, verify
from ctxledger.ledger.storage.chain import Head
from ctxledger.ledger.storage.codec import pack
from ctxledger.ledger.storage.sources import RecordRow

from .harness import (
    checked,
    contents,
    files_of,
    fill,
    in_child,
    is_reported,
    make_ledger,
    open_ledger,
    put_files,
    say,
)


def flip_bits(path: Path, folder: Path, flips: int, seed: int = 1) -> tuple[int, list[int]]:
    """Flip one bit at a time; gives how many changed contents, and which of them no one saw."""
    random = Random(seed)
    data = path.read_bytes()
    before = contents(path)
    assert not is_reported(path)
    target = folder / "flipped.db"
    changed, missed = 0, []
    for _ in range(flips):
        place = random.randrange(len(data) * 8)
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        put_files(target, {"": bytes(flipped)})
        if contents(target) != before:
            changed += 1
            put_files(target, {"": bytes(flipped)})
            if not is_reported(target):
                missed.append(place)
    return changed, missed


def small_recording(folder: Path) -> Path:
    """The lines of the recording that are small, so that flips hit more than pictures."""
    from .harness import RECORDING

    lines = RECORDING.read_bytes().splitlines(keepends=True)
    target = folder / "small.jsonl"
    target.write_bytes(b"".join(line for line in lines if len(line) < 3000))
    return target


def test_every_flipped_bit_that_changes_something_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, small_recording(tmp_path))
    changed, missed = flip_bits(path, tmp_path, 300)
    assert missed == []
    assert changed > 60


def crashed_ledger(path: Path) -> Head:
    """A closed ledger, and 20 more messages that are only in its WAL; gives the head."""
    make_ledger(path, None)

    def write_on() -> list[object]:
        ledger = Ledger.open(path)
        for number in range(20):
            say(ledger.session("work", concurrent=True), f"in the log {number} " + "z" * 200)
        head = ledger.store.head()
        return [head.origin, head.size, head.hash]

    return Head(*in_child(write_on))


def damage_wal(wal: bytes, random: Random) -> bytes | None:
    """One of: cut, one bit flipped, a piece zeroed, gone."""
    way = random.randrange(4)
    place = random.randrange(len(wal))
    if way == 0:
        return wal[:place]
    if way == 1:
        return wal[:place] + bytes([wal[place] ^ 1 << random.randrange(8)]) + wal[place + 1 :]
    if way == 2:
        end = min(len(wal), place + 512)
        return wal[:place] + bytes(end - place) + wal[end:]
    return None


def damage_wals(folder: Path, rounds: int, seed: int = 2) -> tuple[int, int]:
    """(how often events were lost, how often only the saved head showed it)."""
    path = folder / "crashed.db"
    head = crashed_ledger(path)
    files = files_of(path)
    assert len(files["-wal"]) > 20_000
    random = Random(seed)
    target = folder / "damaged.db"
    lost_count = silent = 0
    for _ in range(rounds):
        wal = damage_wal(files["-wal"], random)
        damaged = {"": files[""]} | ({"-wal": wal} if wal is not None else {})
        put_files(target, damaged)
        outcome = checked(target, head)
        events = outcome.events if isinstance(outcome, Verification) else -1
        lost = events != head.size
        assert lost == is_reported(target, head), outcome
        if lost and isinstance(outcome, Verification):
            words = f"the log ends at {events}, the saved head says {head.size}"
            assert words in [problem.problem for problem in outcome.problems]
        lost_count += lost
        put_files(target, damaged)
        silent += lost and not is_reported(target)
    return lost_count, silent


def test_what_a_damaged_wal_lost_shows_against_the_saved_head(tmp_path: Path) -> None:
    lost, silent = damage_wals(tmp_path, 40)
    assert lost > 20
    assert silent > 20, "SQLite serves a shorter history in silence: why heads are saved"


def test_an_undamaged_wal_gives_everything(tmp_path: Path) -> None:
    path = tmp_path / "crashed.db"
    head = crashed_ledger(path)
    outcome = checked(path, head)
    assert isinstance(outcome, Verification)
    assert outcome.ok
    assert outcome.events == head.size


def restore_pages(folder: Path, rounds: int, seed: int = 3) -> tuple[int, list[int]]:
    """Put single pages of an older state (or of elsewhere, or zeros) into a file.

    Returns:
        (how many changed contents, those that `verify` with a head did not report).
    """
    path = folder / "ledger.db"
    make_ledger(path, None)
    old = path.read_bytes()
    with open_ledger(path, seed="more") as ledger:
        for number in range(40):
            say(ledger.session("work"), f"newer {number}")
        fill_more(ledger)
        head = ledger.store.head()
    new = path.read_bytes()
    before = contents(path)
    assert not is_reported(path, head)
    size = int.from_bytes(new[16:18], "big")
    random = Random(seed)
    target = folder / "restored.db"
    changed, missed = 0, []
    for _ in range(rounds):
        page = random.randrange(len(new) // size)
        other = random.randrange(len(new) // size)
        source = random.choice((old, new, bytes(len(new))))
        from_page = page if source is old else other
        piece = source[from_page * size : (from_page + 1) * size]
        if len(piece) < size or piece == new[page * size : (page + 1) * size]:
            continue
        damaged = {"": new[: page * size] + piece + new[(page + 1) * size :]}
        put_files(target, damaged)
        if contents(target) != before:
            changed += 1
            put_files(target, damaged)
            if not is_reported(target, head):
                missed.append(page)
    return changed, missed


def fill_more(ledger: Ledger) -> None:
    session = ledger.session("second")
    for number in range(10):
        say(session, f"second {number}")


def test_a_page_of_an_older_file_is_reported(tmp_path: Path) -> None:
    changed, missed = restore_pages(tmp_path, 150)
    assert missed == []
    assert changed > 50


@pytest.mark.parametrize("kept", [0.25, 0.5, 0.9])
def test_a_file_cut_short_is_reported_and_what_is_left_is_read(tmp_path: Path, kept: float) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path)
    data = path.read_bytes()
    put_files(path, {"": data[: int(len(data) * kept)]})
    assert is_reported(path)


def test_reading_a_damaged_ledger_ends_in_an_error_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, None)
    data = path.read_bytes()
    random = Random(4)
    target = tmp_path / "flipped.db"
    errors = 0
    for _ in range(60):
        flipped = bytearray(data)
        for _ in range(40):
            place = random.randrange(4096, len(data))
            flipped[place] ^= 1 << random.randrange(8)
        put_files(target, {"": bytes(flipped)})
        try:
            with open_ledger(target, "read") as ledger:
                session = ledger.find("work")
                list(session.events())
                session.window("c1^")
                verify(ledger.store)
        except LedgerError:
            errors += 1
    assert errors > 20


def test_a_damaged_snapshot_never_hides_the_window(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        fill(ledger, None)
        session = ledger.session("work")
        shown = [e.block.text for e in session.window().entries]
        with ledger.store.transaction():
            assert ledger.db.execute("UPDATE snapshots SET data = x'0203'").rowcount
        assert [e.block.text for e in session.window().entries] == shown
        assert not verify(ledger.store).ok


def test_changed_contents_are_never_shown(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, None)
    with open_ledger(path) as ledger, ledger.store.transaction():
        ledger.db.execute("DROP TRIGGER bodies_only_redacted")
        forged = pack(b"never touch production")
        ledger.db.execute("UPDATE bodies SET data = ? WHERE salt IS NOT NULL", (forged,))
    with open_ledger(path, "read") as ledger:
        session = ledger.session("work")
        shown = [entry.block.text for entry in session.window().entries]
        assert len(shown) > 5
        assert not any("production" in text for text in shown)
        with pytest.raises(CorruptLedger, match="were changed"):
            session.item_block("2.0")


def test_a_damaged_frame_is_not_packed_again_as_if_it_were_whole(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path)
    with open_ledger(path) as ledger:
        (source,) = ledger.sources.all()
        with ledger.store.transaction():
            ledger.db.execute("UPDATE chunks SET data = ?", (pack(b"other bytes"),))
        row = RecordRow(source.length, 1, b"k", b"d", "outside")
        with pytest.raises(CorruptLedger, match="is damaged at byte 0"), ledger.store.transaction():
            ledger.sources.append(source.id, source.length, b"x", [row])
        with pytest.raises(CorruptLedger, match="is damaged at byte 0"):
            list(ledger.sources.read(source.id))
