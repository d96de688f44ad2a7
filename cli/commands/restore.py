"""`ctxledger restore`: a backup becomes the ledger again."""

from __future__ import annotations

import click

from ..context import Context
from ..options import command
from ..tables import counted

EXAMPLES = """
ctxledger restore ledger-copy.db --db restored.db
"""


@command(EXAMPLES)
@click.argument("file")
@click.pass_obj
def restore(context: Context, file: str) -> None:
    """Copy the backup FILE to where the ledger is to be, checked before it appears there.

    A ledger that is there already is never overwritten: move it aside first, together with its
    -wal and -shm, when no program has it open; or give another place with --db. The backup stays
    as it is.
    """
    from ctxledger.ledger import Ledger, StorageFailed
    from ctxledger.ledger.integrity.backups import back_up

    target = context.db_path
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageFailed(
            f"The folder {target.parent} cannot be made: {error.strerror}.",
            "Name a file with --db.",
        ) from error
    with Ledger.open(file, "read") as kept:
        made = back_up(kept.store, target, at_us=0)
    if context.out.is_json:
        context.out.json({"ok": True, "ledger": str(target), "events": made.head.size})
        return
    context.out.line(f"{target}: {counted(made.head.size, 'event')}; every hash fits.")
    context.out.note(
        "What was recorded after the backup is missing; take the agents' files in again with "
        "`ctxledger ingest FILE`: only what is new is added."
    )
