"""Copies of a ledger that were checked before they got their name, and when that was last done.

Knows nothing about terminals.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ..errors import CorruptLedger, LedgerBusy, StorageFailed
from ..storage.chain import Head
from ..storage.copies import copy_into, published
from ..storage.store import Store
from .verify import Verification, verify

LAST_BACKUP, LAST_VERIFIED = "last_backup", "last_verified"
"""Rows of `meta`."""


class Backup(Struct, frozen=True):
    """A copy that was made, or looked at."""

    size_bytes: int
    head: Head
    checked: Verification


class Done(Struct, frozen=True):
    """When something was last done to a ledger, and how far it went then."""

    at_us: int
    size: int
    """Number of events."""
    hash: str


def back_up(store: Store, target: Path, *, at_us: int) -> Backup:
    """Copy a ledger to a new file that holds every event stored so far, and check the copy.

    Writers go on meanwhile. The file appears only when it is whole and verified.

    Raises:
        BadInput: `target` exists.
        CorruptLedger: the copy does not verify, since the ledger does not; no file is made.
        StorageFailed: it cannot be written.
    """
    before = store.head()
    with published(target) as part:
        copy_into(store.db, part)
        made = check_backup(part, before)
        refuse_damaged(made.checked, "The copy")
    note_done(store, LAST_BACKUP, Done(at_us, made.head.size, made.head.hash))
    return made


def check_backup(path: Path, saved: Head | None = None) -> Backup:
    """Verify a ledger file on its own.

    Raises:
        BadInput, CorruptLedger, ForeignLedger: it cannot be opened.
    """
    store = Store(str(path), "read", clock_us=lambda: 0, entropy=bytes)
    try:
        return Backup(path.stat().st_size, store.head(), verify(store, saved_head=saved))
    finally:
        store.close()


def refuse_damaged(checked: Verification, what: str) -> None:
    """Raise when something is wrong.

    Raises:
        CorruptLedger: with the first problem.
    """
    if not checked.ok:
        raise CorruptLedger(
            f"{what} does not verify ({len(checked.problems)} found): "
            f"{checked.problems[0].problem}.",
            "No file was made. `ctxledger doctor` says what can be saved.",
        )


def note_done(store: Store, key: str, done: Done) -> None:
    """Keep it in the ledger where that can be written; nothing depends on it."""
    if store.db.mode != "write":
        return
    with suppress(LedgerBusy, StorageFailed), store.db.transaction():
        store.db.execute(
            "INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)",
            (key, msgspec.json.encode(done)),
        )


def last_done(store: Store, key: str) -> Done | None:
    """What `note_done` kept, if it can be read."""
    row = store.db.row("SELECT value FROM meta WHERE key = ?", (key,))
    try:
        return msgspec.json.decode(row[0], type=Done) if row is not None else None
    except (msgspec.DecodeError, TypeError):
        return None
