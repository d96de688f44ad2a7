"""A file in place of a session: read into a ledger in memory.

Knows nothing about commands.
"""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote

from ctxledger.ledger import BadInput, Ledger, Session
from ctxledger.ledger.content import label
from ctxledger.ledger.import_report import Report
from ctxledger.ledger.importing import head_of, open_pipe

from .output import Output
from .paths import is_pipe_or_device, is_regular
from .progress import import_shown
from .tables import counted

NAMED_MAX = 3
STDIN = "-"
DATABASE_START = b"SQLite format 3\0"


def session_of_file(ledger: Ledger, path: Path, out: Output) -> Session:
    """Read a file and give its session with the most events; say what else is in it.

    Raises:
        BadInput, UnknownFormat: it cannot be read, or nothing in it makes a session.
    """
    if is_regular(path) and is_database(path):
        raise BadInput(
            f"{path} is a database, not a recording.",
            f"Name a ledger with --db: `--db {quote(str(path))}`.",
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
            f"{counted(report.quarantined, 'record')} of {path} could not be read;"
            " `--type quarantine` of `ctxledger log` lists them."
        )
    if others:
        named = ", ".join(others[:NAMED_MAX]) + (" ..." if len(others) > NAMED_MAX else "")
        out.note(
            f"{path} holds {len(counts)} sessions; this is {main}, the longest."
            f" For the others ({named}): `ctxledger ingest {quote(str(path))}`."
        )
    return ledger.find(label(main))


def is_stream(path: Path) -> bool:
    """Whether it is `-` or a pipe of the shell, which can be read only once."""
    return str(path) == STDIN or is_pipe_or_device(path)


def read_stream(ledger: Ledger, path: Path) -> Report:
    """Read stdin or a pipe to its end.

    Raises:
        BadInput, UnknownFormat: nothing comes, or it has no format we know.
    """
    try:
        if str(path) == STDIN:
            data = sys.stdin.buffer.read()
        else:
            with path.open("rb") as file:
                data = file.read()
    except OSError as error:
        raise unreadable(path, error) from error
    head = head_of(lambda offset, length: data[offset : offset + length])
    reader = open_pipe(ledger, head, name=f"({path})")
    reader.push(data)
    return reader.finish()


def unreadable(path: Path, error: OSError) -> BadInput:
    """The error for a stream that cannot be read: a folder as stdin, a pipe of another user."""
    name = "The standard input" if str(path) == STDIN else str(path)
    return BadInput(f"{name} cannot be read: {error.strerror}.", "Name a file, or pipe into `-`.")


def is_database(path: Path) -> bool:
    """Whether a file is a database: somebody gave a ledger in place of a recording."""
    try:
        with path.open("rb") as file:
            return file.read(len(DATABASE_START)) == DATABASE_START
    except OSError:
        return False  # whoever reads it next says why it cannot be read
