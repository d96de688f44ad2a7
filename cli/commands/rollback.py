"""`ctxledger rollback`: undo a compaction or eviction, or restore a version."""

from __future__ import annotations

import sys

import click

from ctxledger.ledger import BadInput

from ..arguments import command_line, split_session
from ..context import Context
from ..options import command

EXAMPLES = """
ctxledger rollback                          # the last compaction of the newest session; asks
ctxledger rollback refactor-auth c1 --dry-run
ctxledger rollback refactor-auth c2 c1      # both in one step
ctxledger rollback refactor-auth --to c2^   # the window as it was; what came later leaves
ctxledger rollback refactor-auth r1         # undo the undo
"""
HANDLES_MAX = 50


@command(EXAMPLES)
@click.argument("arguments", nargs=-1, metavar="[SESSION] [HANDLE...]")
@click.option("--to", metavar="REF", default="", help="Restore the window at a version instead.")
@click.option(
    "--raw", "is_raw", is_flag=True, help="Bring items back in full, not as placeholders."
)
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Only show what it would do.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@click.option("--reason", metavar="TEXT", default="", help="Why, kept with the event.")
@click.pass_obj
def rollback(
    context: Context,
    arguments: tuple[str, ...],
    to: str,
    is_raw: bool,
    is_dry_run: bool,
    is_sure: bool,
    reason: str,
) -> None:
    """Undo compactions, evictions or roll-backs by appending one event; nothing is deleted.

    Everything that came later is kept. Without a handle: the last compaction in force. Sizes
    are shown first, and on a terminal you are asked. Exit 1 when the result is over the limit.
    """
    from ctxledger.ledger.rolling_back import apply_rollback, plan_rollback

    from ..rollback_text import Preview, rollback_json, show_preview

    name, handles = split_session(context, arguments, HANDLES_MAX)
    session = context.reading(name) if is_dry_run else context.writing(name)
    plan = plan_rollback(session, handles, to=to, is_raw=is_raw)
    preview = Preview.of(session, plan)
    if preview.found.is_same:
        raise BadInput(
            "That would change nothing: what it took away is not missing now.",
            "If a later compaction took it, undo that one too; see `ctxledger log`.",
        )
    out = context.out
    is_asked = not (is_dry_run or is_sure) and sys.stdin.isatty()
    if is_asked:
        out.is_unpaged = True  # a pager would take the answer, and hide the question
    if preview.is_over:
        context.found()
    if not out.is_json:
        show_preview(out, preview)
        out.flush()
    if is_dry_run:
        if out.is_json:
            out.json(rollback_json(preview))
        return
    if is_asked:
        sizes = f"{plan.tokens_before:,} -> {plan.tokens_after:,} tokens"
        if not click.confirm(f"Roll {session.name} back ({sizes})?", err=True):
            out.note("Nothing was changed.")
            context.found()
            return
    number = apply_rollback(session, plan, reason=reason)
    undo = command_line(context, "rollback", session.name, f"r{number}")
    if out.is_json:
        out.json(rollback_json(preview, version=session.version, number=number, undo=undo))
        return
    out.line()
    out.line(f"Done: r{number}, version {session.version:,}.")
    out.line(f"Undo it with: {undo}")
