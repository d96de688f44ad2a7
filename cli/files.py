"""A file in place of a session: read into a ledger in memory.

Knows nothing about commands.
"""

from __future__ import annotations

from pathlib import Path

from ctxledger.ledger import BadInput, Ledger, Session
from ctxledger.ledger.content import label
from ctxledger.ledger.importing import import_file

from .output import Output

NAMED_MAX = 3
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
    report = import_file(ledger, path)
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


def is_database(path: Path) -> bool:
    """Whether a file is a database: somebody gave a ledger in place of a recording."""
    try:
        with path.open("rb") as file:
            return file.read(len(DATABASE_START)) == DATABASE_START
    except OSError:
        return False  # whoever reads it next says why it cannot be read
