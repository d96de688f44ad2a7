"""The one place that opens the database file, and translates the driver's errors.

SQLite 3.7.0 to 3.51.2 can corrupt a WAL database when a PASSIVE checkpoint follows a finished
one while somebody writes. So: no mmap, no automatic checkpoints, and our own checkpoints run
while a second connection of ours holds the write lock, when nobody can commit in between.
One file because nothing else may touch the driver, its error codes included.
Nothing else in the program may open the database, -wal or -shm file: closing any descriptor of
them drops SQLite's locks. Knows nothing about events.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from ..errors import BadInput, CorruptLedger, ForeignLedger, LedgerBusy, LedgerError, StorageFailed

APPLICATION_ID = 0x6374786C
"""`ctxl`; tells a ledger from other programs' databases."""
SCHEMA_VERSION = 1
BUSY_WAIT_S = 5.0
BUSY_STEP_MS = 2
"""SQLite's own wait; ours is short and random around it, a long one starves writers."""
BUSY_SLEEP_S_MAX = 0.001
CHECKPOINT_BYTES = 4 * 1024 * 1024
"""A checkpoint follows about this many bytes written: a WAL that is used again from its start
is cheaper to sync than one that grows [measured: 150 against 230 us a commit]."""
COMMIT_BYTES = 6 * 2048
"""What a commit writes to the WAL beside the contents: a leaf of each table and index."""
PAGE_BYTES = 1024
"""For new files; small rows and many tables: 8 % less disk than pages of 4,096."""
MEMORY = ":memory:"
DRIVER_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""The driver fails to decode its own message when the damaged schema is quoted in it."""

Mode = Literal["write", "read"]
Row = tuple[Any, ...]


class Connection:
    """An open ledger file. Use in the process and thread that opened it."""

    def __init__(self, path: str, mode: Mode = "write", *, is_durable: bool = True) -> None:
        """Open `path` as FAULTS.md demands; "write" creates it (mode 0600) when missing.

        Args:
            path: a file, or `:memory:`.
            is_durable: `synchronous=FULL`: acknowledged events survive a power cut. With False
                (NORMAL) a power cut may lose the last ones; a crash of the program never does.

        Raises:
            BadInput: there is no such file to read, or it is a folder.
            ForeignLedger: not a ledger, or a newer version's.
            StorageFailed: it cannot be opened or created.
        """
        self.path = path
        self.mode: Mode = mode
        self._pid = os.getpid()
        self._written_bytes = 0
        self._holder: sqlite3.Connection | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self.in_transaction = False
        with self._translated():
            self._db = self._open(path, mode)
            try:
                self._configure(is_durable)
                self.schema_version = self._check_identity()
            except BaseException:
                self._db.close()
                raise

    def _open(self, path: str, mode: Mode) -> sqlite3.Connection:
        if path == MEMORY:
            return sqlite3.connect(path, isolation_level=None)
        file = Path(path)
        if file.is_dir():
            raise BadInput(f"{path} is a folder.", "Give the path of a ledger file.")
        if file.exists() and not file.is_file():
            raise BadInput(f"{path} is a pipe or a device.", "Give the path of a ledger file.")
        if mode == "write":
            _create_private(file)
            return sqlite3.connect(path, isolation_level=None, cached_statements=256)
        if not file.exists():
            raise BadInput(
                f"There is no ledger at {path}.",
                "Fill one with `ctxledger ingest FILE`, or name another with --db.",
            )
        return self._open_to_read(file)

    def _open_to_read(self, file: Path) -> sqlite3.Connection:
        """Read-only; in a folder that cannot be written, from a private copy if there is a WAL."""
        uri = file.absolute().as_uri()
        wal = Path(f"{file}-wal")
        if os.access(file.parent, os.W_OK) or Path(f"{file}-shm").exists():
            return sqlite3.connect(f"{uri}?mode=ro", uri=True, isolation_level=None)
        if not wal.exists() or wal.stat().st_size == 0:
            return sqlite3.connect(f"{uri}?immutable=1", uri=True, isolation_level=None)
        self._scratch = tempfile.TemporaryDirectory(prefix="ctxledger-")
        copy = Path(self._scratch.name) / "ledger.db"
        shutil.copyfile(file, copy)
        shutil.copyfile(wal, f"{copy}-wal")
        return sqlite3.connect(str(copy), isolation_level=None)

    def _configure(self, is_durable: bool) -> None:
        for pragma in (
            f"page_size={PAGE_BYTES}",
            "mmap_size=0",
            "trusted_schema=OFF",
            "cell_size_check=ON",
            "foreign_keys=ON",
            f"busy_timeout={BUSY_STEP_MS}",
            "temp_store=MEMORY",
            "recursive_triggers=ON",
        ):
            self._db.execute(f"PRAGMA {pragma}")
        if self.mode == "read" or self.path == MEMORY:
            return
        self._db.execute("PRAGMA wal_autocheckpoint=0")
        self._db.execute(f"PRAGMA synchronous={'FULL' if is_durable else 'NORMAL'}")

    def _check_identity(self) -> int:
        """The schema version, 0 for an empty file. Checked before anything is written."""
        self._db.execute("BEGIN")  # one view: another process may be making the ledger just now
        try:
            tables = self.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]  # waits
            application_id = self._db.execute("PRAGMA application_id").fetchone()[0]
            version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        finally:
            self._db.execute("ROLLBACK")
        if application_id != APPLICATION_ID and (tables or application_id):
            raise ForeignLedger(
                f"{self.path} is another program's database.", "Name a ledger file with --db."
            )
        if version > SCHEMA_VERSION:
            raise ForeignLedger(
                f"{self.path} was written by a newer ctxledger (schema {version}, this one knows "
                f"{SCHEMA_VERSION}).",
                "Upgrade ctxledger; nothing was changed.",
            )
        if self.mode == "read" and not tables:
            raise BadInput(
                f"{self.path} is an empty file, not a ledger.",
                "Fill it with `ctxledger ingest FILE`.",
            )
        if self.mode == "write" and self.path != MEMORY:
            mode = self.execute("PRAGMA journal_mode=WAL").fetchone()[0]  # waits
            if mode != "wal":
                raise StorageFailed(
                    f"The file system of {self.path} does not allow a write-ahead log ({mode}).",
                    "Put the ledger on a local disk.",
                )
        return version

    def close(self) -> None:
        """Close it; the last one to close folds the WAL into the file."""
        if os.getpid() == self._pid:
            if self.mode == "write" and self._written_bytes and not self.in_transaction:
                with suppress(LedgerError):  # somebody is busy: the WAL stays, nothing is lost
                    self.checkpoint()
            if self._holder is not None:
                self._holder.close()
            self._db.close()
        if self._scratch is not None:
            self._scratch.cleanup()

    @property
    def driver(self) -> sqlite3.Connection:
        """For sqlite-utils (schema work) only."""
        self._check_process()
        return self._db

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise BadInput(
                "This ledger was opened before a fork and cannot be used in the child process.",
                "Open it again in the child.",
            )

    def execute(self, sql: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """Run one statement with bound values; never format values into `sql`."""
        self._check_process()
        deadline = 0.0
        while True:
            try:
                return self._db.execute(sql, values)
            except DRIVER_ERRORS as error:
                deadline = deadline or time.monotonic() + BUSY_WAIT_S
                self._wait_or_raise(error, 0.0 if self.in_transaction else deadline)

    def rows(self, sql: str, values: Sequence[object] = ()) -> Iterator[Row]:
        """Run a query and give its rows; damage met while reading becomes `CorruptLedger`."""
        cursor = self.execute(sql, values)
        try:
            # `yield from` would close the cursor, perhaps after the file was closed
            for row in cursor:  # noqa: UP028
                yield row
        except DRIVER_ERRORS as error:
            raise self._translate(error) from error

    def row(self, sql: str, values: Sequence[object] = ()) -> Row | None:
        """The first row, or None."""
        return next(self.rows(sql, values), None)

    def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for many rows."""
        self._check_process()
        try:
            self._db.executemany(sql, rows)
        except DRIVER_ERRORS as error:
            raise self._translate(error) from error

    @contextmanager
    def transaction(self, wait_s: float = BUSY_WAIT_S) -> Iterator[None]:
        """Hold the write lock; commit at the end, roll back on any exception.

        Raises:
            LedgerBusy: another process held the lock for `wait_s`.
            StorageFailed: the disk is full or failing; nothing was written.
        """
        assert not self.in_transaction, "BUG: nested transaction"
        self._begin(wait_s)
        self.in_transaction = True
        try:
            yield
            with self._translated():
                self._db.execute("COMMIT")
            self._written_bytes += COMMIT_BYTES
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        finally:
            self.in_transaction = False
        if self._written_bytes > CHECKPOINT_BYTES and self.path != MEMORY:
            # What was committed stays acknowledged; tried again after the next commit.
            with suppress(LedgerBusy, StorageFailed):
                self.checkpoint()

    def _begin(self, wait_s: float) -> None:
        """BEGIN IMMEDIATE, tried again and again until `wait_s` is over."""
        self._check_process()
        deadline = time.monotonic() + wait_s
        while True:
            try:
                self._db.execute("BEGIN IMMEDIATE")
            except DRIVER_ERRORS as error:
                self._wait_or_raise(error, deadline)
            else:
                return

    def _wait_or_raise(self, error: Exception, deadline: float) -> None:
        """Sleep a little when the file is busy and there is time left, else raise."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
            raise self._translate(error) from error
        time.sleep(random.uniform(BUSY_SLEEP_S_MAX / 10, BUSY_SLEEP_S_MAX))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One consistent view for several queries; short, readers never block writers."""
        if self.in_transaction:
            yield
            return
        self.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("ROLLBACK")

    def note_written(self, size_bytes: int) -> None:
        """Count bytes towards the next checkpoint."""
        self._written_bytes += size_bytes

    def checkpoint(self) -> None:
        """Fold the WAL into the file while our own second connection holds the write lock.

        Raises:
            LedgerBusy: somebody is writing; nothing is lost, the WAL only stays longer.
        """
        if self.path == MEMORY or self.mode == "read":
            return
        with self._translated():
            if self._holder is None:
                self._holder = sqlite3.connect(self.path, isolation_level=None)
                for pragma in ("mmap_size=0", "wal_autocheckpoint=0", "busy_timeout=50"):
                    self._holder.execute(f"PRAGMA {pragma}")
            self._holder.execute("BEGIN IMMEDIATE")
            try:
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            finally:
                self._holder.execute("ROLLBACK")
        self._written_bytes = 0

    def overwrite_deleted(self) -> None:
        """From now on SQLite overwrites with zeros what this connection deletes."""
        self.execute("PRAGMA secure_delete=ON")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DRIVER_ERRORS as error:
            raise self._translate(error) from error
        except OSError as error:
            raise StorageFailed(
                f"{self.path} cannot be used: {error.strerror or error}.",
                "Check the path, its permissions and the free space.",
            ) from error

    def _translate(self, error: Exception) -> LedgerError:
        """Turn a driver error into ours."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LedgerBusy(
                f"{self.path} is locked by another process for more than {BUSY_WAIT_S:.0f} s.",
                "Try again; `fuser FILE` names the process that holds it.",
            )
        if code == sqlite3.SQLITE_FULL:
            return StorageFailed(
                f"The disk of {self.path} is full.",
                "Free some space and run the command again; everything acknowledged is kept.",
            )
        if code in (
            sqlite3.SQLITE_IOERR,
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_PERM,
        ):
            return StorageFailed(
                f"{self.path} cannot be read or written: {error}.",
                "Check its permissions and the disk; everything acknowledged is kept.",
            )
        if code == sqlite3.SQLITE_NOTADB:
            return ForeignLedger(f"{self.path} is not a ledger.", "Name a ledger file with --db.")
        if code == sqlite3.SQLITE_CORRUPT:
            return CorruptLedger(
                f"{self.path} is damaged: {error}.",
                "Run `ctxledger verify` to see what is affected; restore a backup if there is one.",
            )
        if isinstance(error, sqlite3.ProgrammingError):
            return BadInput(f"{self.path} was used wrongly: {error}.", "Open it in each thread.")
        if isinstance(error, sqlite3.IntegrityError):
            return CorruptLedger(
                f"{self.path} refused a change: {error}.",
                "This is a defect of ctxledger; nothing was written.",
            )
        return CorruptLedger(f"{self.path}: {error}.", "Run `ctxledger verify`.")


def _create_private(file: Path) -> None:
    """Create the file 0600 and its folder 0700, before SQLite would make it 0644."""
    if file.exists():
        return
    if not file.parent.exists():
        file.parent.mkdir(mode=0o700, parents=True)
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
    os.close(descriptor)
