"""`ctxledger head`: three lines that prove later that nothing was cut off."""

from __future__ import annotations

import click

from ..context import Context
from ..options import command

EXAMPLES = """
ctxledger head > ledger.head        # keep it outside of the ledger's folder
ctxledger verify --since ledger.head
"""


@command(EXAMPLES)
@click.pass_obj
def head(context: Context) -> None:
    """Print how far the ledger goes: its name, its number of events, the hash of the last one.

    A hash chain alone does not notice when the newest events are cut off. A head that was saved
    elsewhere does.
    """
    found = context.ledger("read").store.head()
    if context.out.is_json:
        context.out.json({"origin": found.origin, "size": found.size, "hash": found.hash})
    else:
        context.out.line(found.text().rstrip("\n"))
