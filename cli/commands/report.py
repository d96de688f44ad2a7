"""`ctxledger report`: one page for the team on what a compaction dropped."""

from __future__ import annotations

from pathlib import Path

import click

from ..arguments import split_session
from ..context import Context
from ..options import command

EXAMPLES = """
ctxledger report c1                          # the newest session, Markdown
ctxledger report refactor-auth c2 > c2.md
ctxledger report session.jsonl --format html > report.html
"""
FORMATS = ("markdown", "html")


@command(EXAMPLES)
@click.argument("arguments", nargs=-1, metavar="[SESSION] [REF]")
@click.option("--format", "form", type=click.Choice(FORMATS), default="markdown",
              help="Default markdown.")  # fmt: skip
@click.option("--with-secrets", "has_secrets", is_flag=True, help="Do not hide what looks secret.")
@click.pass_obj
def report(context: Context, arguments: tuple[str, ...], form: str, has_secrets: bool) -> None:
    """Write one page on a compaction, an eviction or a roll-back (default: the last compaction).

    Before, after, what was lost with item ids and quotes, and how to undo it. Recorded text is
    quoted so that it cannot act, and what looks like a secret is hidden.
    """
    from msgspec import to_builtins

    from ctxledger.ledger.exporting.report import report as report_on

    name, references = split_session(context, arguments, 1)
    session = context.reading(name)
    source = context.file_of(name)
    file = Path(source).name if source != "-" else ""
    handle = references[0] if references else ""
    found = report_on(session, handle, has_secrets=has_secrets, file=file)
    out = context.out
    if out.is_json:
        out.json(to_builtins(found))
        return
    from ctxledger.ledger.exporting.report_page import report_page

    blocks = report_page(found)
    if form == "html":
        from ctxledger.ledger.exporting.page_html import html

        page = html(blocks)
        out.line(page.rstrip("\n") if out.is_unicode else _ascii(page.rstrip("\n")))
        return
    from ctxledger.ledger.exporting.page_markdown import markdown

    out.line(markdown(blocks).rstrip("\n"))


def _ascii(page: str) -> str:
    return page.encode("ascii", "xmlcharrefreplace").decode()
