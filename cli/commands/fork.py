"""`ctxledger fork`: go on from an earlier version in a session of its own."""

from __future__ import annotations

import click

from ..arguments import command_line
from ..context import Context
from ..options import command, session_argument

EXAMPLES = """
ctxledger fork refactor-auth --at c1^            # from just before the compaction
ctxledger fork @ --at call7 --name second-try
"""


@command(EXAMPLES)
@session_argument
@click.option("--at", metavar="REF", default="head", help="The version to go on from.")
@click.option("--name", metavar="NAME", default="", help="Default: the session's, with .fork1.")
@click.pass_obj
def fork(context: Context, session: str, at: str, name: str) -> None:
    """Open a session that goes on from a version of another, which stays as it is.

    Nothing is copied: older items are read from the parent. Versions go on behind REF.
    """
    parent = context.writing(session)
    child = parent.ledger.fork(parent, at, name)
    look = command_line(context, "window", child.name)
    out = context.out
    if out.is_json:
        out.json(
            {
                "session": child.name,
                "version": child.version,
                "parent": parent.name,
                "parent_version": child.opened.parent_version,
            }
        )
        return
    out.line(f"{child.name} goes on from {parent.name} version {child.opened.parent_version:,}.")
    out.note(f"Look: `{look}`. The parent is as it was; a fork that is not used does no harm.")
