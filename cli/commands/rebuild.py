"""`ctxledger rebuild`: make every cache anew from the events."""

from __future__ import annotations

import click

from ctxledger.ledger import BadInput

from ..context import Context
from ..options import command
from ..paths import is_hidden, is_there
from ..tables import counted

EXAMPLES = """
ctxledger rebuild
"""


@command(EXAMPLES)
@click.pass_obj
def rebuild(context: Context) -> None:
    """Drop indexes, snapshots and counts, and make them anew from the events.

    Events, contents and sources are not touched; every window stays as it is.
    """
    from ctxledger.ledger.caches.catchup import rebuild as rebuild_caches

    if not (is_there(context.db_path) or is_hidden(context.db_path)):
        raise BadInput(f"There is no ledger {context.db_path}.", "Name one with --db.")
    ledger = context.ledger("write")
    rebuild_caches(ledger.store)
    events = ledger.store.head().size
    if context.out.is_json:
        context.out.json({"events": events, "sessions": len(ledger.store.session_names())})
    else:
        context.out.line(
            f"Made anew from {counted(events, 'event')}. Check it: `ctxledger verify`."
        )
