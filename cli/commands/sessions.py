"""`ctxledger sessions`: the sessions of a ledger, the latest last."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import compress
from typing import TYPE_CHECKING

import click

from ctxledger.ledger import BadInput

from ..context import Context
from ..event_text import iso_time
from ..options import command
from ..output import Styled, Text
from ..paths import is_there
from ..tables import Column, number

if TYPE_CHECKING:
    from ctxledger.ledger.finding.catalogue import SessionRow

EXAMPLES = """
ctxledger sessions
ctxledger sessions --cwd                   # of this project only
ctxledger sessions --since 2026-11-30 --json
ctxledger sessions --found --cwd           # what agents recorded here, not taken in yet
"""
COLUMNS = (
    Column("session", is_flexible=True, width_min=8),
    Column("title", is_flexible=True),
    Column("format"),
    Column("versions", is_number=True),
    Column("calls", is_number=True),
    Column("compacted", is_number=True),
    Column("tokens", is_number=True),
    Column("updated (UTC)"),
)
NARROW_CELLS = 100
NOT_IF_NARROW = ("format", "versions", "calls")


@command(EXAMPLES)
@click.option(
    "--cwd",
    "folder",
    metavar="[FOLDER]",
    is_flag=False,
    flag_value=".",
    help="Sessions of this project folder (default: where you are).",
)
@click.option(
    "--since", metavar="TIME", help="Sessions with anything newer (2026-11-30T14:00, UTC)."
)
@click.option(
    "--found", "is_found", is_flag=True, help="Files that agents recorded on this machine instead."
)
@click.pass_obj
def sessions(context: Context, folder: str | None, since: str | None, is_found: bool) -> None:
    """List the sessions of the ledger, the latest last.

    Tokens are the context of the last call, as its provider reported it. With --found: the
    recordings of Claude Code and Codex (CLAUDE_CONFIG_DIR and CODEX_HOME are honoured), of which
    only the beginning and the end are read.
    """
    from ctxledger.ledger.finding.catalogue import session_rows

    out = context.out
    if is_found:
        list_found(context, folder, since)
        return
    if not is_there(context.db_path):
        raise BadInput(
            f"There is no ledger at {context.db_path}.",
            "`ctxledger sessions --found` lists what agents recorded on this machine;"
            " `ctxledger ingest FILE` takes it in.",
        )
    rows = session_rows(context.ledger("auto").store)
    total = len(rows)
    if folder is not None:
        rows = [row for row in rows if is_inside(row.folder, folder)]
    if since is not None:
        since_ms = time_ms(since)
        rows = [row for row in rows if row.updated_ms >= since_ms]
    if out.is_json:
        for row in rows:
            out.json(as_json(row))
        return
    if not total:
        out.note(
            "The ledger has no sessions. Fill it: `ctxledger ingest FILE`;"
            " `ctxledger sessions --found` lists files."
        )
    elif not rows:
        out.note(f"None of {total} sessions fits.")
    else:
        is_narrow = out.width is not None and out.width < NARROW_CELLS
        shown = [not (is_narrow and column.title in NOT_IF_NARROW) for column in COLUMNS]
        out.table(
            tuple(compress(COLUMNS, shown)), [tuple(compress(cells(row), shown)) for row in rows]
        )
        out.note(f"`@`, or no SESSION, means {context.reading('@').name}, the last written to.")


def list_found(context: Context, folder: str | None, since: str | None) -> None:
    """List the recordings of agents on this machine, the latest last."""
    from ctxledger.ledger.record.places import outline

    from ..finding_text import Found, found_json, show_found

    since_ms = time_ms(since) if since is not None else 0
    found = [
        Found(recording, about)
        for recording in reversed(context.recordings())
        if recording.modified_ms >= since_ms
        and (about := outline(recording)) is not None
        and about.has_conversation
        and (folder is None or is_inside(about.folder, folder))
    ]
    if context.out.is_json:
        for one in found:
            context.out.json(found_json(one))
    elif found:
        show_found(context.out, found)
    else:
        context.out.note("No recordings of Claude Code or Codex were found that fit.")


def is_inside(folder: str, wanted: str) -> bool:
    """Whether a session's folder is the wanted one or lies in it."""
    from pathlib import Path

    top = str(Path(wanted).absolute().resolve())
    return folder in (top, wanted) or folder.startswith(f"{top}/")


def time_ms(text: str) -> int:
    """Unix milliseconds of a time that a person wrote, UTC unless it says.

    Raises:
        BadInput: it is no time.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadInput(f"{text!r} is not a time.", "Write it as 2026-11-30T14:00.") from error
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def as_json(row: SessionRow) -> dict[str, object]:
    """One line of `sessions --json`."""
    return {
        "session": row.name,
        "title": row.title,
        "format": row.format,
        "model": row.model,
        "cwd": row.folder,
        "branch": row.branch,
        "version": row.version,
        "calls": row.calls,
        "compactions": row.compactions,
        "tokens": row.reported,
        "limit": row.limit,
        "updated_at": iso_time(row.updated_ms),
        "relation": row.relation,
    }


def cells(row: SessionRow) -> tuple[Text, ...]:
    """One row of the table."""
    updated = (iso_time(row.updated_ms) or "")[:16].replace("T", " ")
    return (
        Styled(row.name, "bold"),
        row.title,
        Styled(" ".join(filter(None, (row.format, row.relation))), "dim"),
        number(row.version),
        number(row.calls),
        Styled(number(row.compactions), "magenta" if row.compactions else "dim"),
        number(row.reported),
        Styled(updated, "dim"),
    )
