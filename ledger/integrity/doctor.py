"""How a ledger file and the place it is in are, and what to do about each finding.

Looks at names, modes and sizes alone; only `Store` opens the file. Knows nothing about terminals.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ..errors import CorruptLedger, ForeignLedger, LedgerError
from ..storage.connection import MEMORY, SCHEMA_VERSION, Connection
from ..storage.store import Store
from .backups import LAST_BACKUP, LAST_VERIFIED, last_done
from .verify import Verification, verify

WAL_BYTES_MAX = 64 * 1024 * 1024
FREE_BYTES_MIN = 256 * 1024 * 1024
REMOTE = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs", "lustre")
"""Beginnings of names of file systems whose locks do not hold between machines."""
FIXED_SQLITE = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
"""Releases with the repair of the WAL-reset fault; and all later ones of the last line."""
NAMED_MAX = 5


class Check(Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    value: str
    is_ok: bool = True
    advice: str = ""
    """What to do; also where nothing is wrong yet."""


def examine(path: Path, *, now_us: int) -> tuple[Check, ...]:
    """Look at a ledger file in all ways; never raises for what is wrong with it."""
    return (*_sqlite(), *_place(path), *_contents(path, now_us))


def has_repair(version: tuple[int, ...]) -> bool:
    """Whether a SQLite release has the repair of the WAL-reset fault."""
    same_line = [fixed for fixed in FIXED_SQLITE if fixed[:2] == version[:2]]
    return version >= (same_line[0] if same_line else FIXED_SQLITE[-1])


def _sqlite() -> Iterator[Check]:
    memory = Connection(MEMORY)
    try:
        version = str((memory.row("SELECT sqlite_version()") or ("0",))[0])
        options = [str(row[0]) for row in memory.rows("PRAGMA compile_options")]
    finally:
        memory.close()
    is_repaired = has_repair(tuple(map(int, version.split("."))))
    yield Check(
        "sqlite",
        f"{version}, {'with' if is_repaired else 'without'} the repair of the WAL-reset fault",
        advice="" if is_repaired else "ctxledger avoids the fault; write with no other program.",
    )
    yield Check("options", " ".join(options))


def _place(path: Path) -> Iterator[Check]:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return
    owner = found.st_uid
    is_ours = owner == os.geteuid()
    yield Check(
        "owner", "you" if is_ours else f"user {owner}",
        advice="" if is_ours else "Read only what you may; its owner writes to it.",
    )  # fmt: skip
    mode = stat.S_IMODE(found.st_mode)
    yield Check(
        "mode", f"{mode:04o}", not mode & 0o077,
        f"Others can read it: `chmod 600 {path}`." if mode & 0o077 else "",
    )  # fmt: skip
    yield Check("size", f"{found.st_size:,} bytes")
    wal = 0
    with suppress(OSError):
        wal = Path(f"{path}-wal").stat().st_size
    readers = _holders(path)
    yield Check(
        "wal", f"{wal:,} bytes", wal <= WAL_BYTES_MAX,
        f"A reader is open for long: end it{f' ({readers})' if readers else ''}, then write once."
        if wal > WAL_BYTES_MAX else "",
    )  # fmt: skip
    yield Check("open in", readers or "no other program that you may see")
    kind = file_system(path.resolve(), _mounts())
    is_remote = kind.startswith(REMOTE)
    yield Check(
        "file system", kind or "not known", not is_remote,
        "Locks do not hold there: move the ledger to a local disk." if is_remote else "",
    )  # fmt: skip
    disk = os.statvfs(path)
    free = disk.f_bavail * disk.f_frsize
    is_short = free < max(FREE_BYTES_MIN, found.st_size)
    yield Check(
        "free space", f"{free:,} bytes", not is_short,
        "Free some: a backup or `redact` needs as much as the ledger has." if is_short else "",
    )  # fmt: skip


def file_system(path: Path, mounts: Sequence[str]) -> str:
    """The type of the file system that holds `path`, by lines of /proc/self/mountinfo."""
    best, kind = -1, ""
    for line in mounts:
        place, _, facts = line.partition(" - ")
        fields = place.split()
        if len(fields) < 5 or not facts:
            continue
        point = fields[4].replace("\\040", " ")
        if path.is_relative_to(point) and len(point) >= best:  # of two on one place the last holds
            best, kind = len(point), facts.split()[0]
    return kind


def _mounts() -> list[str]:
    try:
        return Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def _holders(path: Path) -> str:
    """Processes that have the file open, as far as /proc shows them."""
    found = []
    target = str(path.resolve())
    for process in Path("/proc").glob("[0-9]*") if Path("/proc/self/fd").is_dir() else ():
        if int(process.name) == os.getpid():
            continue
        with suppress(OSError):
            if any(str(link.readlink()) == target for link in (process / "fd").iterdir()):
                found.append(f"pid {process.name}")
    return ", ".join(found)


def _contents(path: Path, now_us: int) -> Iterator[Check]:
    try:
        store = Store(str(path), "read", clock_us=lambda: now_us, entropy=bytes)
    except LedgerError as error:
        is_damage = isinstance(error, CorruptLedger) and not isinstance(error, ForeignLedger)
        advice = f"{error.hint} The agents' own files can be taken in again." if is_damage else ""
        yield Check("ledger", error.message, is_ok=False, advice=advice or error.hint)
        return
    try:
        yield from _opened(path, store, now_us)
    except LedgerError as error:
        yield Check("ledger", error.message, is_ok=False, advice=error.hint)
    finally:
        store.close()


def _opened(path: Path, store: Store, now_us: int) -> Iterator[Check]:
    version = store.db.schema_version
    yield Check(
        "schema", f"{version} of {SCHEMA_VERSION}", version == SCHEMA_VERSION,
        "" if version == SCHEMA_VERSION else "It is older: back it up; the next write upgrades it.",
    )  # fmt: skip
    for key, name, command in (
        (LAST_BACKUP, "last backup", "backup FILE"), (LAST_VERIFIED, "last verified", "verify"),
    ):  # fmt: skip
        done = last_done(store, key)
        days = (now_us - done.at_us) // 86_400_000_000 if done is not None else 0
        value = "never" if done is None else f"{days} days ago, at event {done.size:,}"
        yield Check(name, value, advice=f"`ctxledger {command}`" if done is None else "")
        row = None if done is None else store.db.row(
            "SELECT hash FROM events WHERE position = ?", (done.size,)
        )  # fmt: skip
        if done is not None and done.size and (row is None or bytes(row[0]).hex() != done.hash):
            yield Check(name, f"event {done.size:,} is not there any more", is_ok=False,
                        advice="The file was cut or changed: restore a backup.")  # fmt: skip
    yield _verified(path, store, verify(store))


def _verified(path: Path, store: Store, found: Verification) -> Check:
    if found.ok:
        return Check(
            "contents", f"{found.events:,} events, every hash fits",
            advice="A copy made by `cp` may lack its newest events all the same: compare with "
            "`ctxledger verify --since HEADFILE`, and copy with `ctxledger backup`.",
        )  # fmt: skip
    named = list(dict.fromkeys(p.session for p in found.problems if p.session))
    count = len(found.problems)
    first = f"{count} problem{'s' * (count > 1)}, the first: {found.problems[0].problem}"
    if not named:
        return Check("contents", first, is_ok=False, advice=(
            "Try `ctxledger rebuild` where it is the caches, else restore a backup; "
            "`ctxledger export S --format original` saves a session's source."
        ))  # fmt: skip
    sound = len(store.session_names()) - len(named)
    others = f" and {len(named) - NAMED_MAX} more" if len(named) > NAMED_MAX else ""
    return Check(
        "contents", f"{first} (damaged: {', '.join(named[:NAMED_MAX])}{others}; {sound} sound)",
        is_ok=False,
        advice="Restore a backup, or save the sound sessions of "
        f"{path.name}: `ctxledger prune --session DAMAGED -o NEW.db --yes`.",
    )  # fmt: skip
