"""ctxledger: an event-sourced ledger of what is in an LLM agent's context window.

    from ctxledger.ledger import Ledger

Names are loaded when first used, so that importing this costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_PLACES = {"Ledger": ".ledger", "Session": ".session"}

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES.get(name, ".errors"), __name__), name)
