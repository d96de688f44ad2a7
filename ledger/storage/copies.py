"""New files that appear whole or not at all: copies of a ledger.

Each is filled under a name of its own beside its place, and gets its real name when it is done.
Knows nothing about what is in a ledger.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import BadInput, LedgerError, StorageFailed
from .connection import Connection

SUFFIXES = ("", "-wal", "-shm", "-journal")
"""What SQLite puts beside a file; leftovers would be taken for a part of a new one."""


@contextmanager
def published(target: Path) -> Iterator[Path]:
    """Give an empty file (mode 0600) to fill; without an exception it becomes `target`.

    Raises:
        BadInput: there is something at `target` already; it stays as it is.
        StorageFailed: the disk is full or does not allow it.
    """
    for suffix in SUFFIXES:
        if os.path.lexists(f"{target}{suffix}"):
            raise _taken(Path(f"{target}{suffix}"))
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        _drop_leftovers(target)
        descriptor = os.open(part, os.O_CREAT | os.O_RDWR | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
        os.close(descriptor)
    except OSError as error:
        raise _failed(target, error) from error
    try:
        yield part
        _sync(part)
        _give_name(part, target)
    except OSError as error:
        raise _failed(target, error) from error
    finally:
        for suffix in SUFFIXES:
            with suppress(OSError):
                Path(f"{part}{suffix}").unlink(missing_ok=True)


def copy_into(connection: Connection, part: Path) -> None:
    """Write one consistent copy, without free pages, while others go on reading and writing.

    Raises:
        StorageFailed: there is no room for it.
        CorruptLedger: the ledger cannot be read to its end.
    """
    try:
        connection.execute("VACUUM INTO ?", (str(part),))
    except StorageFailed as error:
        raise StorageFailed(
            f"The copy could not be written: {error.__cause__ or error.message}.",
            f"Free some space in {part.parent}, or name another place; the ledger is as it was.",
        ) from error


def _taken(path: Path) -> LedgerError:
    return BadInput(
        f"There is a file {path} already.",
        "It is not overwritten: name a new one, or move it aside when no program has it open.",
    )


def _failed(target: Path, error: OSError) -> LedgerError:
    return StorageFailed(
        f"{target} cannot be written: {error.strerror or error}.",
        "Check the folder, its permissions and the free space.",
    )


def _drop_leftovers(target: Path) -> None:
    """Remove what killed programs left of their copies."""
    head = f".{target.name}."
    for found in target.parent.iterdir():
        number, _, rest = found.name[len(head) :].partition(".")
        is_part = found.name.startswith(head) and rest.startswith("part") and number.isdigit()
        if is_part and not _is_running(int(number)):
            found.unlink(missing_ok=True)


def _is_running(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # somebody else's
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _give_name(part: Path, target: Path) -> None:
    """Give the file its name, unless somebody took it meanwhile."""
    try:
        os.link(part, target)
    except FileExistsError as error:
        raise _taken(target) from error
    except OSError:  # no links on this file system: take the name first
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError as error:
            raise _taken(target) from error
        part.replace(target)
    with suppress(OSError):  # some systems do not sync folders
        _sync(target.parent)
