"""`ctxledger diff`: what differs between the windows of two versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..arguments import split_session
from ..context import Context
from ..options import command

if TYPE_CHECKING:
    from ctxledger.ledger import Session

EXAMPLES = """
ctxledger diff c1                        # what the first compaction took away
ctxledger diff refactor-auth 40 head     # two versions of a named session
ctxledger diff session.jsonl c1 --all    # a file, every item in full
ctxledger diff c2 --json | jq '.dropped[].item'
"""


@command(EXAMPLES)
@click.argument("arguments", nargs=-1, metavar="[SESSION] [A [B]]")
@click.option("--all", "is_all", is_flag=True, help="Show every item, kept ones too.")
@click.option("--exit-code", "has_exit_code", is_flag=True, help="Exit 1 when they differ.")
@click.pass_obj
def diff(context: Context, arguments: tuple[str, ...], is_all: bool, has_exit_code: bool) -> None:
    """Compare the windows of two versions: kept, dropped, added, changed, moved.

    With one reference, it is compared with the window just before it (`c2` is `c2^` against
    `c2`). With none: the last compaction, or else the last change.
    """
    from ctxledger.ledger.views.comparing import compare

    from ..diff_text import comparison_json, show_comparison

    name, references = split_session(context, arguments, 2)
    session = context.reading(name)
    before, after = _versions(session, references)
    found = compare(session, before, after)
    if context.out.is_json:
        context.out.json(comparison_json(found))
    else:
        show_comparison(context.out, session, found, is_all=is_all)
    if has_exit_code and not found.is_same:
        context.found()


def _versions(session: Session, references: tuple[str, ...]) -> tuple[int, int]:
    if len(references) == 2:
        return session.resolve(references[0]), session.resolve(references[1])
    if references:
        after = references[0]
    else:
        compactions = session.store.marks(session.id, "window_compacted")
        after = str(compactions[-1].version) if compactions else "head"
    return session.resolve(f"{after}^"), session.resolve(after)
