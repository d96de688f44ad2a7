"""`ctxledger blame`: when an item entered and left the window, and how to put it back."""

from __future__ import annotations

import click

from ctxledger.ledger import BadInput

from ..arguments import split_session
from ..context import Context
from ..options import command

EXAMPLES = """
ctxledger blame 42.1                          # an item of the newest session
ctxledger blame refactor-auth 42.1
ctxledger blame refactor-auth --text 'never touch production'
ctxledger blame session.jsonl --text 'use main instead' --json
"""


@command(EXAMPLES)
@click.argument("arguments", nargs=-1, metavar="[SESSION] [ITEM]")
@click.option("--text", metavar="TEXT", default="", help="Items that hold exactly this text.")
@click.pass_obj
def blame(context: Context, arguments: tuple[str, ...], text: str) -> None:
    """Tell the story of an item: entered, left, by what, what stands for it, how to undo.

    Items are VERSION.INDEX, as `window`, `diff` and `search` show them.
    """
    from ctxledger.ledger.finding.recall import blame_item, blame_text

    from ..blame_stories import stories_of, story_json
    from ..blame_text import show_stories

    name, items = split_session(context, arguments, 0 if text else 1, are_items=True)
    if not items and not text:
        raise BadInput("Blame needs an item or --text.", "Items are VERSION.INDEX, such as 42.1.")
    session = context.reading(name)
    lives = blame_text(session, text) if text else blame_item(session, items[0])
    stories = stories_of(context, session, lives, file=name, words=text)
    if not context.out.is_json:
        show_stories(context.out, stories)
        return
    for story in stories:
        for line in story_json(story):
            context.out.json(line)
