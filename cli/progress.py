"""Progress of long imports on stderr: only on a terminal, only after half a second.

Reads the clock. Knows nothing about what is imported.
"""

from __future__ import annotations

import sys
import time

from ctxledger.ledger import Ledger
from ctxledger.ledger.import_report import Report
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.plaintext import one_line
from ctxledger.ledger.write_guard import SecretsMode

from .output import Output

SILENT_S = 0.5
EVERY_S = 0.1
NAME_CELLS = 40
_CLEAR = "\r\x1b[K"


class Progress:
    """A line on stderr that is written over."""

    def __init__(self, name: str, out: Output) -> None:
        self._name = one_line(name, NAME_CELLS)
        self._is_shown = sys.stderr.isatty() and not out.is_quiet
        self._next_s = time.monotonic() + SILENT_S
        self._is_written = False

    def at(self, done: int, whole: int) -> None:
        """`done` of `whole` bytes have been read."""
        now_s = time.monotonic()
        if not self._is_shown or now_s < self._next_s:
            return
        self._next_s = now_s + EVERY_S
        share = min(1.0, done / max(1, whole))
        sys.stderr.write(f"{_CLEAR}{self._name}  {share:.0%} of {whole / 1e6:,.1f} MB")
        sys.stderr.flush()
        self._is_written = True

    def end(self) -> None:
        """Take the line away."""
        if self._is_written:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()


def import_shown(
    ledger: Ledger,
    name: str,
    out: Output,
    *,
    session: str = "",
    format_name: str = "",
    is_again: bool = False,
    secrets: SecretsMode = "keep",
) -> Report:
    """Take a file in as `importing.import_file` does, with progress.

    Raises:
        BadInput, UnknownFormat: it cannot be read.
    """
    progress = Progress(name, out)
    try:
        return import_file(
            ledger,
            name,
            session=session,
            format_name=format_name,
            is_again=is_again,
            secrets=secrets,
            on_read=progress.at,
        )
    finally:
        progress.end()
