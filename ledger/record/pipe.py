"""Reads a live pipe into a ledger: what was written is committed as soon as the writer pauses.

A commit comes when nothing more is waiting, after 100 records, or after 200 ms, whichever is
first; so every committed record survives a kill. Knows nothing about signals and terminals.
"""

from __future__ import annotations

import os
import select
import time
from typing import Protocol

from ..errors import BadInput
from ..formats.detect import has_format
from ..import_report import Report
from ..importing import HEAD_LINE_BYTES, open_pipe
from ..ingest import SourceReader
from ..ledger import Ledger
from ..write_guard import SecretsMode

READ_BYTES = 256 * 1024
HEAD_BYTES_MAX = 64 * 1024
"""So much is held back to tell the format; more only of a first line that goes on."""
COMMIT_RECORDS = 100
COMMIT_AFTER_S = 0.2
IDLE_S = 0.02
"""No bytes for so long: the writer pauses."""
NAME = "(pipe)"


class StopSign(Protocol):
    """Tells a live reader to end."""

    fd: int
    """Readable as soon as `is_set`."""
    is_set: bool


def read_pipe(
    ledger: Ledger,
    descriptor: int,
    stop: StopSign,
    *,
    session: str = "",
    format_name: str = "",
    secrets: SecretsMode = "keep",
) -> Report:
    """Read a pipe to its end, or until told to stop; then everything whole is committed.

    Args:
        descriptor: open for reading.
        session: name of the (first) session; "" = the source's own, or a name with the time.
        format_name: "" = told from the first line.
        secrets: what becomes of credentials.

    Raises:
        BadInput, UnknownFormat: nothing came, or it has no format we know.
    """
    head, is_ended = _read_head(descriptor, stop, is_told=bool(format_name))
    if not head:
        raise BadInput("Nothing came through the pipe.", "Does the command before it print?")
    reader = open_pipe(
        ledger, head, name=NAME, session=session, format_name=format_name, secrets=secrets
    )
    reader.push(head)
    first_waiting_s: float | None = time.monotonic() if reader.waiting else None
    while not is_ended and not stop.is_set:
        data = _wait(descriptor, stop, IDLE_S if reader.waiting else None)
        if data is None:
            reader.commit()
            first_waiting_s = None
            continue
        is_ended = not data
        reader.push(data)
        first_waiting_s = _commit_when_due(reader, first_waiting_s)
    return reader.finish()


def _commit_when_due(reader: SourceReader, since_s: float | None) -> float | None:
    """Commit a full or an old batch; gives when the oldest waiting record came."""
    if not reader.waiting:
        return None
    now_s = time.monotonic()
    if reader.waiting >= COMMIT_RECORDS or (
        since_s is not None and now_s - since_s >= COMMIT_AFTER_S
    ):
        reader.commit()
        return None
    return now_s if since_s is None else since_s


def _read_head(descriptor: int, stop: StopSign, *, is_told: bool) -> tuple[bytes, bool]:
    """(enough bytes to tell the format, has the pipe ended)."""
    head = bytearray()
    is_long = False
    while not stop.is_set:
        data = _wait(descriptor, stop, None)
        if data is None:
            continue
        if not data:
            return bytes(head), True
        head += data
        if b"\n" in data and (is_told or has_format(bytes(head))):
            break
        if len(head) < HEAD_BYTES_MAX:
            continue
        is_checked, is_long = is_long, True
        if b"\n" in head or len(head) >= HEAD_LINE_BYTES or is_told:
            break
        if not is_checked and has_format(bytes(head)):
            break
    return bytes(head), False


def _wait(descriptor: int, stop: StopSign, timeout_s: float | None) -> bytes | None:
    """Bytes that came, b"" at the end of the input, None when nothing came in time."""
    ready, _, _ = select.select([descriptor, stop.fd], [], [], timeout_s)
    return os.read(descriptor, READ_BYTES) if descriptor in ready else None
