"""The tree of errors.

    LedgerError
    +-- BadInput            arguments or input that cannot be used      exit 2
    |   +-- UnknownReference    no such session, version, item          exit 2
    |   +-- UnknownFormat       the input is no format we know          exit 2
    +-- CorruptLedger       damage found on disk                        exit 3
    |   +-- ForeignLedger       another program's file, or a newer one  exit 3
    +-- ConflictError       a stale handle; nothing was written         exit 4
    |   +-- LedgerBusy          another process holds the write lock    exit 4
    +-- StorageFailed       disk full, read-only, input/output error    exit 5

Each error has a one-sentence message, a separate `hint` that says what to do next, and
its numbers as attributes. Knows nothing about the command line but the exit code it maps to.
"""

from __future__ import annotations


class LedgerError(Exception):
    """The root. `exit_code` is what the command line ends with."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadInput(LedgerError):
    """Arguments or input that cannot be used."""

    exit_code = 2


class UnknownReference(BadInput):
    """No such session, version or item, or more than one; `nearest` are candidates."""

    def __init__(self, message: str, hint: str = "", nearest: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint)
        self.nearest = nearest


class UnknownFormat(BadInput):
    """The first records fit none of the known formats."""


class CorruptLedger(LedgerError):
    """Stored bytes are not what was written: damage or tampering."""

    exit_code = 3


class ForeignLedger(CorruptLedger):
    """The file is not a ledger, or was written by a newer version; nothing was touched."""


class ConflictError(LedgerError):
    """The session moved on since this handle last looked; nothing was written."""

    exit_code = 4

    def __init__(self, message: str, hint: str = "", expected: int = 0, actual: int = 0) -> None:
        super().__init__(message, hint)
        self.expected = expected
        self.actual = actual


class LedgerBusy(ConflictError):
    """Another process holds the write lock for longer than we wait."""


class StorageFailed(LedgerError):
    """The disk is full, read-only or failing; everything acknowledged is still there."""

    exit_code = 5
