"""`ctxledger inspect`: the terminal inspector."""

from __future__ import annotations

import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

import click

from ctxledger.ledger import BadInput, LedgerError

from ..context import Context
from ..options import command, session_argument

if TYPE_CHECKING:
    from ctxledger.ledger import Ledger

INDEXED_AT_ONCE_MAX = 4000
"""Events that are indexed in a tenth of a second."""
INDEX_AFTER_S = 1.0
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
    file = context.file_of(session)
    if file:
        with tempfile.TemporaryDirectory(prefix="ctxledger-") as folder:
            path = str(Path(folder) / "ledger.db")
            _run(path, _take_in(context, path, file), can_write=False)
        return
    name = context.reading(session).name if session else ""
    ledger = context.ledger("auto")  # says what is missing, before the screen is taken
    path = str(context.db_path)
    index(ledger)
    context.close()
    _run(path, name, can_write=True)


def index(ledger: Ledger) -> Timer | None:
    """Bring the full-text index up to date in the file: the inspector itself only reads.

    Few events are done at once; many behind its first paint, by a thread that ends with it.
    """
    from ctxledger.ledger.caches.catchup import catch_up, events_behind

    behind = events_behind(ledger.store) if ledger.db.mode == "write" else 0
    if behind > INDEXED_AT_ONCE_MAX:
        timer = Timer(INDEX_AFTER_S, _index_later, (ledger.db.path,))
        timer.daemon = True
        timer.start()
        return timer
    if behind:
        catch_up(ledger.store)
    return None


def _index_later(path: str) -> None:
    from ctxledger.ledger import Ledger
    from ctxledger.ledger.caches.catchup import catch_up

    with suppress(LedgerError), Ledger.open(path, "write") as ledger:
        catch_up(ledger.store)


def _take_in(context: Context, path: str, file: str) -> str:
    """Read a file into a new ledger and give the name of its longest session."""
    from ctxledger.ledger import Ledger

    from ..files import session_of_file

    with Ledger.open(path, "write", is_durable=False) as ledger:
        return session_of_file(ledger, Path(file), context.out).name


def _run(path: str, session: str, *, can_write: bool) -> None:
    from ctxledger.inspector.app import InspectorApp

    InspectorApp(path, session, can_write=can_write).run()
