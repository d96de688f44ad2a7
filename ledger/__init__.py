"""ctxledger: an event-sourced ledger of what is in an LLM agent's context window.

    from ctxledger.ledger import Ledger

Nothing heavy is imported here: no tokenizer, no SDK, no terminal library.
"""

from __future__ import annotations

from .errors import (
    BadInput,
    ConflictError,
    CorruptLedger,
    ForeignLedger,
    LedgerBusy,
    LedgerError,
    StorageFailed,
    UnknownFormat,
    UnknownReference,
)
from .ledger import Ledger
from .session import Session

__all__ = [
    "BadInput",
    "ConflictError",
    "CorruptLedger",
    "ForeignLedger",
    "Ledger",
    "LedgerBusy",
    "LedgerError",
    "Session",
    "StorageFailed",
    "UnknownFormat",
    "UnknownReference",
]
