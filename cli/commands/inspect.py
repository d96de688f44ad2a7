"""`ctxledger inspect`: the terminal inspector."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from ctxledger.ledger import BadInput

from ..context import Context
from ..options import command, session_argument

EXAMPLES = """
ctxledger inspect                   # all sessions of the ledger
ctxledger inspect refactor-auth     # one of them
ctxledger inspect session.jsonl     # a file, read into a temporary ledger
"""


@command(EXAMPLES)
@session_argument
@click.pass_obj
def inspect(context: Context, session: str) -> None:
    """Look around in the terminal: sessions, timeline, windows, items, search, roll back.

    Press ? inside for its keys.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput(
            "The inspector needs a terminal.", "For pipes use `ctxledger log` and `window`."
        )
    if context.is_file(session):
        with tempfile.TemporaryDirectory(prefix="ctxledger-") as folder:
            path = str(Path(folder) / "ledger.db")
            _run(path, _take_in(context, path, session), can_write=False)
        return
    name = context.reading(session).name if session else ""
    context.ledger("auto")  # says what is missing, before the screen is taken
    path = str(context.db_path)
    context.close()
    _run(path, name, can_write=True)


def _take_in(context: Context, path: str, file: str) -> str:
    """Read a file into a new ledger and give the name of its longest session."""
    from ctxledger.ledger import Ledger

    from ..files import session_of_file

    with Ledger.open(path, "write", is_durable=False) as ledger:
        return session_of_file(ledger, Path(file), context.out).name


def _run(path: str, session: str, *, can_write: bool) -> None:
    from ctxledger.inspector.app import InspectorApp

    InspectorApp(path, session, can_write=can_write).run()
