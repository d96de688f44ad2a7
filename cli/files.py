"""A file in place of a session: read into a ledger in memory.

Knows nothing about commands.
"""

from __future__ import annotations

from pathlib import Path

from ctxledger.ledger import BadInput, Ledger, Session
from ctxledger.ledger.importing import import_file

from .output import Output

NAMED_MAX = 3


def session_of_file(ledger: Ledger, path: Path, out: Output) -> Session:
    """Read a file and give its session with the most events; say what else is in it.

    Raises:
        BadInput, UnknownFormat: it cannot be read, or nothing in it makes a session.
    """
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
    return ledger.find(main)
