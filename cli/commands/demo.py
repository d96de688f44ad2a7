"""`ctxledger demo`: the whole story on a bundled real session."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from ctxledger.ledger import BadInput, StorageFailed

from ..context import Context
from ..options import command
from ..paths import is_there

EXAMPLES = """
ctxledger demo                      # in a new temporary folder, which is kept
ctxledger demo --db demo/ledger.db  # in a ledger of your choice, which must be new
"""


@command(EXAMPLES)
@click.pass_obj
def demo(context: Context) -> None:
    """Show a real compaction: what the model saw, what it lost, and how to undo it.

    A real Claude Code session is taken into a new ledger. No network is used, and your own
    ledger is not touched. Each step prints the command that you would type.
    """
    from ..demo_data import SESSION, write_recording
    from ..demo_story import tell

    if context.out.is_json:
        raise BadInput("The demo is a story for people.", "For data use the commands it prints.")
    path = _new_ledger(context)
    file = path.with_name(f"{SESSION}.jsonl")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_recording(file)
    except FileExistsError as error:
        raise BadInput(f"{file} is there already.", "Name a ledger in a new folder.") from error
    except OSError as error:
        raise StorageFailed(
            f"{file} cannot be written: {error.strerror}.", "Name a ledger elsewhere with --db."
        ) from error
    context.set("db", str(path))
    tell(context, file)


def _new_ledger(context: Context) -> Path:
    if not context.given_db:
        return Path(tempfile.mkdtemp(prefix="ctxledger-demo-")) / "ledger.db"
    path = Path(context.given_db)
    if is_there(path):
        raise BadInput(
            f"{path} is there already; the demo makes a new ledger.", "Name another, or none."
        )
    return path
