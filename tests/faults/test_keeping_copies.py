"""`backup`, `prune` and `doctor` on ledgers in use, killed, damaged or somebody else's."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from ctxledger.ledger import BadInput, ConflictError, CorruptLedger, Ledger
from ctxledger.ledger.caches.emptying import drop_caches
from ctxledger.ledger.integrity import backups
from ctxledger.ledger.integrity.backups import Done, back_up, check_backup, note_done
from ctxledger.ledger.integrity.doctor import Check, examine, file_system, has_repair
from ctxledger.ledger.integrity.pruning import plan_pruning, write_pruned
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.storage.connection import Connection

from .harness import Child, child, make_ledger, open_ledger, say
from .killing import append_until_killed, assert_holds
from .test_opening import FOREIGN


def test_a_backup_among_four_writers_holds_all_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, None)
    writers = [Child(lambda send: append_until_killed(path, "busy", send)) for _ in range(4)]
    try:
        for number in range(3):
            acked = dict(writer.next() for writer in writers for _ in range(5))
            target = tmp_path / f"copy{number}.db"
            with open_ledger(path) as ledger:
                made = back_up(ledger.store, target, at_us=1)
            assert made.checked.ok
            assert stat.S_IMODE(target.stat().st_mode) == 0o600
            with open_ledger(target, "read") as copy:
                assert_holds(copy.session("busy"), acked)
    finally:
        for writer in writers:
            writer.kill()


@pytest.mark.parametrize("step", ["copy_into", "check_backup", "refuse_damaged"])
def test_a_killed_backup_leaves_no_file_and_can_be_done_again(tmp_path: Path, step: str) -> None:
    path, target = tmp_path / "ledger.db", tmp_path / "copy.db"
    head = make_ledger(path, None)

    def killed(_send: object) -> None:
        original = getattr(backups, step)

        def last(*arguments: object) -> None:
            original(*arguments)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(backups, step, last)
        back_up(open_ledger(path).store, target, at_us=1)

    with child(killed) as started:
        assert started.join() == -signal.SIGKILL
    assert not target.exists()
    with open_ledger(path) as ledger:
        assert back_up(ledger.store, target, at_us=1).head == head
    assert [p.name for p in tmp_path.iterdir() if "part" in p.name] == []


@pytest.mark.parametrize("suffix", ["", "-wal", "-journal"])
def test_a_backup_overwrites_nothing(tmp_path: Path, suffix: str) -> None:
    make_ledger(tmp_path / "ledger.db", None)
    taken = tmp_path / f"copy.db{suffix}"
    taken.write_text("mine", "utf-8")
    with open_ledger(tmp_path / "ledger.db") as ledger, pytest.raises(BadInput, match="already"):
        back_up(ledger.store, tmp_path / "copy.db", at_us=1)
    assert taken.read_text("utf-8") == "mine"


def changed(path: Path, session: str) -> None:
    db = Connection(str(path))
    db.execute("DROP TRIGGER events_no_update")
    db.execute(
        "UPDATE events SET actor = 'x' WHERE position = (SELECT max(position) FROM events WHERE"
        " session = (SELECT id FROM session_rows WHERE name = ?))",
        (session,),
    )
    db.close()


def test_a_damaged_ledger_gives_no_backup_and_its_sound_sessions_can_be_saved(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path)
    changed(path, "other")
    with open_ledger(path, "read") as ledger:
        with pytest.raises(CorruptLedger, match="does not verify"):
            back_up(ledger.store, tmp_path / "copy.db", at_us=1)
        store = ledger.store
        ids = {name: session for session, name in store.session_names()}
        windows = {n: ledger.find(n).window() for n in ids if n != "other"}
        lost = plan_pruning(store, [next(i for n, i in ids.items() if n not in ("work", "other"))])
        with pytest.raises(CorruptLedger, match="was changed"):  # never washed clean
            write_pruned(store, lost, tmp_path / "bad.db", entropy=os.urandom)
        plan = plan_pruning(store, [ids["other"]])
        write_pruned(store, plan, tmp_path / "sound.db", entropy=os.urandom)
    found = {check.name: check for check in examine(path, now_us=1)}["contents"]
    assert not found.is_ok
    assert "damaged: other" in found.value
    assert "prune --session" in found.advice
    with open_ledger(tmp_path / "sound.db", "read") as saved:
        assert verify(saved.store).ok
        assert {name: saved.find(name).window() for name in windows} == windows
    assert not {"copy.db", "bad.db"} & {p.name for p in tmp_path.iterdir()}


def test_what_a_fork_needs_cannot_be_left_out(tmp_path: Path) -> None:
    make_ledger(tmp_path / "ledger.db")
    with open_ledger(tmp_path / "ledger.db") as ledger:
        work = ledger.session("work")
        with pytest.raises(ConflictError, match="other goes on from it"):
            plan_pruning(ledger.store, [work.id])
        both = [work.id, ledger.session("other").id]
        plan = plan_pruning(ledger.store, both)
        made = write_pruned(ledger.store, plan, tmp_path / "new.db", entropy=os.urandom)
        assert made.head.size == ledger.store.head().size - plan.events_left
        (kept,) = plan.kept.values()
        export = list(ledger.sources.read(1))
        with open_ledger(tmp_path / "new.db") as fresh:
            assert fresh.find(kept).window() == ledger.find(kept).window()
            assert list(fresh.sources.read(1)) == export
            assert say(fresh.find(kept), "on") == ledger.find(kept).version + 1


def test_caches_that_were_emptied_come_back(tmp_path: Path) -> None:
    make_ledger(tmp_path / "ledger.db")
    with open_ledger(tmp_path / "ledger.db") as ledger:
        before = ledger.session("work").window()
        drop_caches(ledger.store)
        assert verify(ledger.store).ok
        assert ledger.session("work").window() == before


def of(path: Path) -> dict[str, Check]:
    return {check.name: check for check in examine(path, now_us=10**15)}


@pytest.mark.parametrize("name", [*FOREIGN, "missing"])
def test_doctor_says_what_a_broken_file_is(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file.db"
    words = "no ledger"
    if name in FOREIGN:
        make, _, words = FOREIGN[name]
        make(path)
    found = of(path)["ledger"]
    assert (found.is_ok, bool(found.advice)) == (False, True)
    assert words in found.value


def test_doctor_finds_open_modes_and_a_cut_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, None)
    path.chmod(0o644)
    assert "chmod 600" in of(path)["mode"].advice
    path.chmod(0o600)
    assert all(check.is_ok for check in of(path).values())
    with open_ledger(path) as ledger:
        head = ledger.store.head()
        note_done(ledger.store, backups.LAST_VERIFIED, Done(1, head.size, head.hash))
        made = back_up(ledger.store, tmp_path / "copy.db", at_us=1)
        assert check_backup(tmp_path / "copy.db").head == made.head
    assert of(path)["last verified"].is_ok
    with Ledger.open(path) as ledger:
        note_done(ledger.store, backups.LAST_VERIFIED, Done(1, head.size + 1, head.hash))
    assert not of(path)["last verified"].is_ok


def test_releases_with_the_repair_are_told_from_others() -> None:
    assert [has_repair(v) for v in ((3, 40, 1), (3, 44, 6), (3, 50, 6), (3, 51, 2))] == [
        False, True, False, False,
    ]  # fmt: skip
    assert all(has_repair(v) for v in ((3, 50, 7), (3, 51, 3), (3, 53, 0)))


def test_the_file_system_is_the_one_mounted_last_and_nearest() -> None:
    mounts = [
        "1 0 0:1 / / rw - ext4 /dev/a rw",
        "2 1 0:2 / /home rw - nfs4 server:/home rw",
        "3 1 0:3 / /home/me/a\\040b rw,shared - tmpfs tmpfs rw",
        "4 1 0:4 / / rw - btrfs /dev/b rw",
        "broken",
    ]
    kinds = [file_system(Path(p), mounts) for p in ("/x", "/home/x", "/home/me/a b/x", "/homely")]
    assert kinds == ["btrfs", "nfs4", "tmpfs", "btrfs"]
    assert file_system(Path("/x"), []) == ""
