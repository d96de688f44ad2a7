"""`ctxledger search`: full text over everything that was ever recorded."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from ..context import Context
from ..options import command
from ..output import Output, Styled, Text
from ..snippets import snippet_parts
from ..tables import counted

if TYPE_CHECKING:
    from ctxledger.ledger.finding.searching import Hit

EXAMPLES = """
ctxledger search 'production database'
ctxledger search '"use main instead"' --session refactor-auth
ctxledger search 'migrat*' --session session.jsonl
ctxledger search conflict --json | jq -r 'select(.in_window | not) | .item'
"""
INDENT = "    "


@command(EXAMPLES)
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@click.option("--session", default="", metavar="SESSION", help="Only this session, or a file.")
@click.option(
    "-n",
    "limit",
    type=click.IntRange(1),
    metavar="N",
    default=20,
    help="Hits at most (default 20).",
)
@click.pass_obj
def search(context: Context, words: tuple[str, ...], session: str, limit: int) -> None:
    """Find words in everything that was recorded, also in what left the window long ago.

    All words must occur; "quotes" keep them together, a final * finds beginnings. Each hit says
    whether the model still sees it. Exit 1 when nothing is found.
    """
    from ctxledger.ledger.finding.searching import search as search_ledger

    chosen = context.reading(session) if session or context.file_of("") else None
    ledger = chosen.ledger if chosen is not None else context.ledger("auto")
    hits = search_ledger(
        ledger, " ".join(words), session=chosen.id if chosen is not None else None, limit=limit + 1
    )
    if not hits:
        context.out.note("Nothing was found.")
        context.found()
    for hit in hits[:limit]:
        if context.out.is_json:
            context.out.json(_hit_json(hit))
        else:
            _show(context.out, hit, has_session=chosen is None)
    if len(hits) > limit:
        context.out.note(f"There are more than {counted(limit, 'hit')}: -n shows more.")
    elif hits and not context.out.is_json and context.out.is_terminal:
        first = f"{shlex.quote(session or context.file_of('') or hits[0].session)} {hits[0].item}"
        context.out.note(f"In full: ctxledger show {first}\nIts story: ctxledger blame {first}")


def _hit_json(hit: Hit) -> dict[str, object]:
    return {
        "session": hit.session,
        "item": hit.item,
        "version": hit.version,
        "in_window": hit.in_window,
        "left_by": hit.left_by or None,
        "snippet": hit.snippet,
        "score": hit.score,
        "role": hit.role,
        "type": hit.type,
    }


def _show(out: Output, hit: Hit, *, has_session: bool) -> None:
    """On a terminal two lines, the snippet below; piped one."""
    if hit.in_window:
        place = Styled("in the window", "green")
    else:
        place = Styled(f"left at {hit.left_by}" if hit.left_by else "not in the window", "yellow")
    head: list[Text] = [Styled(f"{hit.item:<8}", "bold"), "  ", place, f"  {hit.role} {hit.type}"]
    if has_session:
        head += ["  ", Styled(hit.session, "dim")]
    if out.width is None:
        out.line(*head, "  ", *snippet_parts(hit.snippet, hit.matches, None, out.ellipsis))
        return
    out.line(*head)
    width = out.width - len(INDENT)
    out.line(INDENT, *snippet_parts(hit.snippet, hit.matches, width, out.ellipsis))
