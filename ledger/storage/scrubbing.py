"""Takes what was deleted out of the files: free space, old pages, and the log of the database.

Knows nothing about what was deleted.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from ..errors import LedgerBusy
from .connection import BUSY_WAIT_S, MEMORY, Connection

WAL_BYTES_MAX = 64 * 1024
"""A log that begins anew with one small commit is shorter; a longer one holds old pages."""
PAUSE_S = 0.02


def scrub(db: Connection, last: str, wait_s: float = BUSY_WAIT_S) -> None:
    """Write the file anew without its free space, and shorten the WAL to one small commit.

    Other connections stay open. One that is in the middle of reading keeps the old pages in
    the files until it is done; one that is writing is waited for. The checkpoint is our own, under
    the write lock; the commit behind it begins the log anew, and `journal_size_limit` cuts it.

    Args:
        last: a statement that changes a row: the commit that begins the WAL anew.

    Raises:
        LedgerBusy: somebody read or wrote for `wait_s`; nothing is lost, old pages may stay.
        StorageFailed: there is no room for a second copy of the file.
    """
    deadline = time.monotonic() + wait_s
    if db.path != MEMORY:
        db.execute("VACUUM")
        db.execute("PRAGMA journal_size_limit=0")
    while True:
        with suppress(LedgerBusy):
            db.checkpoint()
        with db.transaction():
            db.execute(last)
        if db.path == MEMORY or _size_of(f"{db.path}-wal") <= WAL_BYTES_MAX:
            return
        if time.monotonic() > deadline:
            raise LedgerBusy(
                f"Another program is reading {db.path}: its files still hold old pages.",
                "What was redacted is gone from the ledger already; close that program and run"
                " `ctxledger redact --finish`.",
            )
        time.sleep(PAUSE_S)


def _size_of(name: str) -> int:
    try:
        return Path(name).stat().st_size
    except OSError:
        return 0
