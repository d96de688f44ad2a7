"""`ctxledger window`: what the model saw at a version."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import click

from ctxledger.ledger import BadInput, Session
from ctxledger.ledger.events import ModelCalled
from ctxledger.ledger.render.base import Repair
from ctxledger.ledger.views.contents import ViewEntry, WindowView
from ctxledger.ledger.views.windows import View

from ..bars import BAR_CELLS, bar
from ..block_text import first_words
from ..context import Context
from ..options import at_option, command, session_argument
from ..output import Output, Styled, Text
from ..tables import Column, number

EXAMPLES = """
ctxledger window                               # the newest session, as it stands
ctxledger window refactor-auth --at c1^        # just before the first compaction
ctxledger window session.jsonl --at call7 --full
ctxledger window @ --view effective            # after the provider's own edits
ctxledger window @ --at call7 --format anthropic > request.json
"""
FORMATS = ("text", "json", "anthropic")
CATEGORY_WORDS = {
    "system": "system prompt",
    "tools": "tool definitions",
    "brief": "summaries",
    "human": "your messages",
    "assistant": "its answers",
    "thinking": "thinking",
    "calls": "tool calls",
    "results": "tool results",
    "harness": "added by the harness",
    "images": "images, documents",
    "other": "other",
}


@command(EXAMPLES)
@session_argument
@at_option
@click.option(
    "--view",
    type=click.Choice(("sent", "effective")),
    default="sent",
    help="What was sent, or what was left after the provider's own edits.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default=None, help="Default text.")
@click.option("--full", "is_full", is_flag=True, help="Print all contents.")
@click.pass_obj
def window(
    context: Context, session: str, at: str, view: View, form: str | None, is_full: bool
) -> None:
    """Show what the model saw at a version: tokens by kind, then each item.

    --format anthropic prints a request body: as it was sent when --at is a recorded call, else one
    that is valid for sending, with the repairs on stderr.
    """
    chosen = context.reading(session)
    out = context.out
    form = form or ("json" if out.is_json else "text")
    if form == "anthropic":
        if view == "effective":
            raise BadInput("A request body is what was sent.", "Leave out --view effective.")
        body, repairs = request_at(chosen, chosen.resolve(at))
        out.json(body)
        print_repairs(repairs, out)
        return
    shown = chosen.window(at, view=view)
    if form == "json":
        out.json(as_json(shown))
        return
    print_header(shown, out)
    print_categories(shown, out)
    if is_full:
        print_contents(shown, out)
    elif shown.entries:
        out.line()
        out.table(columns(shown), list(rows(shown)))


def as_json(shown: WindowView) -> dict[str, object]:
    """The object of `--format json`."""
    return {
        "session": shown.session,
        "version": shown.version,
        "view": shown.view,
        "coverage": shown.coverage,
        "limit": shown.limit,
        "tokens": shown.tokens,
        "tokens_method": shown.tokens_method,
        "reported": shown.reported,
        "unrecorded": shown.unrecorded,
        "categories": shown.categories,
        "entries": [
            {
                "item": entry.item,
                "form": entry.form,
                "role": entry.role,
                "type": entry.type,
                "origin": entry.origin,
                "tokens": entry.tokens,
                "message": entry.message,
                "text": entry.text,
            }
            for entry in shown.entries
        ],
    }


def request_at(session: Session, version: int) -> tuple[dict[str, Any], tuple[Repair, ...]]:
    """(request body, repairs): as it was sent when `version` is a recorded call."""
    event = session.store.read_one(session.id, version).event if version else None
    if isinstance(event, ModelCalled) and event.digest:
        return session.render_call(version), ()
    rendering = session.render(version)
    return rendering.body, rendering.repairs


def print_repairs(repairs: Sequence[Repair], out: Output) -> None:
    """Say on stderr what had to be changed so that the request is valid."""
    for repair in repairs:
        where = f" {repair.item}" if repair.item else ""
        out.note(f"repaired{where}: {repair.detail}")


def print_header(shown: WindowView, out: Output) -> None:
    """Who counted what, and how far that is from what the provider reported."""
    out.line(
        Styled(shown.session, "bold"),
        f"  version {number(shown.version)}, {number(len(shown.entries))} items, view {shown.view}",
    )
    share = f", {shown.tokens / shown.limit:.0%} of {number(shown.limit)}" if shown.limit else ""
    out.line(Styled(f"{number(shown.tokens)} tokens", "bold"), f"{share} ({shown.tokens_method})")
    for text in header_notes(shown):
        out.line(Styled(text, "dim"))


def header_notes(shown: WindowView) -> Iterator[str]:
    """What the numbers leave out, in words."""
    is_partial = shown.coverage != "exact"
    yield (
        "from a transcript: the system prompt, tools and re-read files are not in it"
        if is_partial
        else "from recorded requests: everything that was sent is here"
    )
    if shown.reported is None or shown.unrecorded is None:
        return
    yield f"the provider reported {number(shown.reported)} tokens for the last call up to here:"
    if shown.unrecorded >= 0:
        missing = "unrecorded or counted otherwise" if is_partial else "counted otherwise"
        yield f"  {number(shown.unrecorded)} more than we count for it ({missing})"
    else:
        yield f"  {number(-shown.unrecorded)} fewer than we count for it (another tokenizer)"


def print_categories(shown: WindowView, out: Output) -> None:
    """Tokens by kind with bars."""
    largest = max(shown.categories.values(), default=0)
    rows: list[tuple[Text, ...]] = []
    for name, tokens in shown.categories.items():
        drawn = bar(tokens, largest, BAR_CELLS, is_unicode=out.is_unicode)
        share = f"{tokens / max(1, shown.tokens):.0%}"
        rows.append((CATEGORY_WORDS[name], number(tokens), share, Styled(drawn, "cyan")))
    if rows:
        out.line()
        out.table(
            (Column(""), Column("", is_number=True), Column("", is_number=True), Column("")), rows
        )


def columns(shown: WindowView) -> tuple[Column, ...]:
    """The columns of the list; `form` only where something is not verbatim."""
    forms = (Column("form"),) if _has_forms(shown) else ()
    return (
        Column("item", is_number=True),
        *forms,
        Column("from"),
        Column("type"),
        Column("tokens", is_number=True),
        Column("", is_flexible=True),
    )


def rows(shown: WindowView) -> Iterator[tuple[Text, ...]]:
    """One row for each item."""
    has_forms = _has_forms(shown)
    for entry in shown.entries:
        form = "" if entry.form == "verbatim" else entry.form
        yield (
            Styled(entry.item, "dim"),
            *((Styled(form, "yellow"),) if has_forms else ()),
            who(entry),
            Styled(entry.type, "dim"),
            number(entry.tokens),
            Styled(first_words(entry.block), "bold" if entry.origin == "human" else ""),
        )


def print_contents(shown: WindowView, out: Output) -> None:
    """Every item with its whole text."""
    for entry in shown.entries:
        form = "" if entry.form == "verbatim" else f", {entry.form}"
        name = f" {entry.block.tool_name}" if entry.block.tool_name else ""
        out.line()
        out.line(
            Styled(f"{entry.item}  {who(entry)} {entry.type}{name}{form}", "bold"),
            Styled(f"  {number(entry.tokens)} tokens", "dim"),
        )
        out.line(full_text(entry))


def full_text(entry: ViewEntry) -> str:
    """The readable contents; JSON is laid out."""
    if entry.block.is_json and entry.text == entry.block.text:
        return json.dumps(json.loads(entry.text), indent=2, ensure_ascii=False)
    return entry.text


def who(entry: ViewEntry) -> str:
    """Who an entry is from: its role at the front of a request, else its origin."""
    if entry.role in ("system", "tools"):
        return entry.role
    return {"human": "user"}.get(entry.origin, entry.origin)


def _has_forms(shown: WindowView) -> bool:
    return any(entry.form != "verbatim" for entry in shown.entries)
