"""A file in place of a session: read into a ledger in memory.

Knows nothing about commands.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ctxledger.ledger import BadInput, Ledger, Session
from ctxledger.ledger.content import label
from ctxledger.ledger.import_report import Report
from ctxledger.ledger.importing import HEAD_BYTES, open_pipe

from .output import Output
from .progress import import_shown

NAMED_MAX = 3
STDIN = "-"
DATABASE_START = b"SQLite format 3\0"


def session_of_file(ledger: Ledger, path: Path, out: Output) -> Session:
    """Read a file and give its session with the most events; say what else is in it.

    Raises:
        BadInput, UnknownFormat: it cannot be read, or nothing in it makes a session.
    """
    if path.is_file() and is_database(path):
        raise BadInput(
            f"{path} is a database, not a recording.", f"Name a ledger with --db: `--db {path}`."
        )
    report = read_stream(ledger, path) if is_stream(path) else import_shown(ledger, str(path), out)
    counts = sorted(report.sessions.values(), key=lambda count: -count.new_events)
    if not counts:
        raise BadInput(
            f"{path} holds no whole record yet.",
            f"{report.pending_bytes} bytes wait for their end." if report.pending_bytes else "",
        )
    main, *others = (count.session for count in counts)
    if report.quarantined:
        out.warn(
            f"{report.quarantined} records of {path} could not be read;"
            " `--type quarantine` of `ctxledger log` lists them."
        )
    if others:
        named = ", ".join(others[:NAMED_MAX]) + (" ..." if len(others) > NAMED_MAX else "")
        out.note(
            f"{path} holds {len(counts)} sessions; this is {main}, the longest."
            f" For the others ({named}): `ctxledger ingest {path}`."
        )
    return ledger.find(label(main))


def is_stream(path: Path) -> bool:
    """Whether it is `-` or a pipe of the shell, which can be read only once."""
    return str(path) == STDIN or path.is_fifo() or path.is_char_device()


def read_stream(ledger: Ledger, path: Path) -> Report:
    """Read stdin or a pipe to its end.

    Raises:
        BadInput, UnknownFormat: nothing comes, or it has no format we know.
    """
    if str(path) == STDIN:
        data = sys.stdin.buffer.read()
    else:
        with path.open("rb") as file:
            data = file.read()
    reader = open_pipe(ledger, data[:HEAD_BYTES], name=f"({path})")
    reader.push(data)
    return reader.finish()


def is_database(path: Path) -> bool:
    """Whether a file is a database: somebody gave a ledger in place of a recording."""
    try:
        with path.open("rb") as file:
            return file.read(len(DATABASE_START)) == DATABASE_START
    except OSError:
        return False  # whoever reads it next says why it cannot be read
