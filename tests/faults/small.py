"""The faults again, more often: `python tests/faults/small.py --kills 200 --flips 2000`.

Without options it takes about a minute on two cores. As root it also fills a small tmpfs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.faults import test_damage, test_ingest_kills, test_writers
from tests.faults.harness import RECORDING, make_ledger, open_ledger, say
from tests.faults.killing import kill_writers

from ctxledger.ledger import Ledger, StorageFailed
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.verify import verify


def flips(folder: Path, count: int, seed: int) -> str:
    path = folder / "ledger.db"
    make_ledger(path, test_damage.small_recording(folder))
    changed, missed = test_damage.flip_bits(path, folder, count, seed)
    assert missed == [], missed
    return f"{count} bits flipped, {changed} changed something, all of them reported"


def wals(folder: Path, count: int, seed: int) -> str:
    lost, silent = test_damage.damage_wals(folder, count, seed)
    return f"{count} damaged WALs, {lost} lost events, all seen with a head ({silent} only so)"


def pages(folder: Path, count: int, seed: int) -> str:
    changed, missed = test_damage.restore_pages(folder, count, seed)
    assert missed == [], missed
    return f"{count} foreign pages, {changed} changed something, all of them reported"


def kills(folder: Path, count: int, seed: int) -> str:
    random = Random(seed)
    path = folder / "ledger.db"
    make_ledger(path, None)
    one = kill_writers(path, count, 1, lambda: random.uniform(0, 0.05))
    four = kill_writers(path, count // 4, 4, lambda: random.uniform(0.01, 0.06))
    return f"{count} + {count // 4} x 4 writers killed, {one} + {four} acknowledged, none lost"


def imports(folder: Path, count: int, seed: int) -> str:
    whole = folder / "whole.db"
    with open_ledger(whole) as ledger:
        import_file(ledger, RECORDING)
    partial = test_ingest_kills.kill_imports(folder, count, test_ingest_kills.facts(whole), seed)
    return f"{count} imports killed, {partial} half done, all completed by importing again"


def races(folder: Path, count: int, _seed: int) -> str:
    path = folder / "ledger.db"
    make_ledger(path, None)
    test_writers.race_checkpoints(path, count, 12)
    return f"{count} rounds of racing checkpoints, nothing lost"


def full_disks(folder: Path, count: int, _seed: int) -> str:
    """A tmpfs of 192 kB and more, filled, then made larger."""
    if os.geteuid() != 0:
        return "no tmpfs without root: not done"
    disk = folder / "disk"
    disk.mkdir()
    for number in range(count):
        size = f"size={192 + 16 * number}k"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", disk], check=True)
        try:
            fill_disk(disk)
        finally:
            subprocess.run(["umount", disk], check=True)
    return f"{count} full disks: refused, readable, resumed"


def fill_disk(disk: Path) -> None:
    path = disk / "ledger.db"
    with Ledger.open(path) as ledger:
        session = ledger.session("work", concurrent=True)
        acked = 1
        refused = ""
        while not refused:
            try:
                acked = say(session, f"{acked} " + "y" * (acked * 97 % 2500))
            except StorageFailed as error:
                refused = error.message
        assert "full" in refused, refused
        assert session.version == acked == len(session.window().entries) + 1
        subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
        assert say(session, "room again") == acked + 1
        assert verify(ledger.store).problems == ()


RUNS = {
    "flips": (flips, 1000),
    "wals": (wals, 150),
    "pages": (pages, 300),
    "kills": (kills, 200),
    "imports": (imports, 30),
    "races": (races, 50),
    "full-disks": (full_disks, 20),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, (_, default) in RUNS.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    parser.add_argument("--seed", type=int, default=1)
    options = vars(parser.parse_args())
    for name, (run, _) in RUNS.items():
        count = options[name.replace("-", "_")]
        if count:
            started = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                outcome = run(Path(folder), count, options["seed"])
            print(f"{time.monotonic() - started:6.1f} s  {outcome}", flush=True)


if __name__ == "__main__":
    main()
