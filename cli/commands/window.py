"""`ctxledger window`: what the model saw at a version."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import click

from ctxledger.ledger import BadInput, Session
from ctxledger.ledger.events import ModelCalled
from ctxledger.ledger.render.base import Repair
from ctxledger.ledger.views.calls import Provider, provider_of_call
from ctxledger.ledger.views.contents import ViewEntry, WindowView
from ctxledger.ledger.views.windows import View

from ..bars import BAR_CELLS, bar
from ..block_text import first_words
from ..context import Context
from ..options import at_option, command, session_argument
from ..output import Output, Styled, Text
from ..size_text import FIRST_SHARE, size_lines
from ..tables import Column, number

EXAMPLES = """
ctxledger window                               # the newest session, as it stands
ctxledger window refactor-auth --at c1^        # just before the first compaction
ctxledger window session.jsonl --at call7 --full
ctxledger window @ --view effective            # after the provider's own edits
ctxledger window @ --at call7 --format anthropic > request.json
"""
REQUEST_FORMATS: tuple[Provider, ...] = ("anthropic", "openai")
FORMATS = ("text", "json", *REQUEST_FORMATS)
REPAIRED_NAMED_MAX = 5
"""Of the items that were repaired in one way, so many are named."""
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

    --format anthropic or openai prints a request body: as it was sent when --at is a recorded call
    to that provider, else one that is valid for sending, with the repairs on stderr.
    """
    chosen = context.reading(session)
    out = context.out
    form = form or ("json" if out.is_json else "text")
    provider = next((name for name in REQUEST_FORMATS if name == form), None)
    if provider is not None:
        if view == "effective":
            raise BadInput("A request body is what was sent.", "Leave out --view effective.")
        body, repairs = request_at(chosen, chosen.resolve(at), provider)
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
        "limit_source": shown.limit_source,
        "tokens": shown.tokens,
        "tokens_method": shown.tokens_method,
        "reported": shown.reported,
        "unrecorded": shown.unrecorded,
        "context": shown.context.as_json() if shown.context is not None else None,
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


def request_at(
    session: Session, version: int, provider: Provider
) -> tuple[dict[str, Any], tuple[Repair, ...]]:
    """(request body, repairs): as it was sent when `version` is a recorded call to `provider`."""
    event = session.store.read_one(session.id, version).event if version else None
    called = event if isinstance(event, ModelCalled) and event.digest else None
    if called is not None and provider_of_call(session, called) == provider:
        return session.render_call(version), ()
    rendering = session.render(version, provider=provider)
    return rendering.body, rendering.repairs


def print_repairs(repairs: Sequence[Repair], out: Output) -> None:
    """Say on stderr what had to be changed so that the request is valid, a line for each way."""
    items: dict[str, list[str]] = {}
    for repair in repairs:
        items.setdefault(repair.detail, []).append(repair.item)
    for detail, its in items.items():
        named = ", ".join(filter(None, its[:REPAIRED_NAMED_MAX]))
        more = f" and {number(len(its) - REPAIRED_NAMED_MAX)} more"
        where = named + (more if len(its) > REPAIRED_NAMED_MAX else "")
        out.note(f"repaired {where}: {detail}" if where else f"repaired: {detail}")


def print_header(shown: WindowView, out: Output) -> None:
    """Who counted what, and how far that is from what the provider reported."""
    out.line(
        Styled(shown.session, "bold"),
        f"  version {number(shown.version)}, {number(len(shown.entries))} items, view {shown.view}",
    )
    for line in size_lines(shown):
        out.line(*line)
    is_exact = shown.coverage == "exact"
    out.line(Styled("from recorded requests" if is_exact else "from a transcript", "dim"))


def print_categories(shown: WindowView, out: Output) -> None:
    """Tokens by kind with bars; the parts and what is unattributed add up to the size."""
    parts = {CATEGORY_WORDS[name]: tokens for name, tokens in shown.categories.items()}
    total = shown.context.tokens if shown.context is not None else shown.tokens
    if shown.context is not None and shown.context.unattributed:
        extra = {"unattributed": shown.context.unattributed}
        is_large = shown.context.unattributed >= FIRST_SHARE * total
        parts = extra | parts if is_large else parts | extra
    largest = max(parts.values(), default=0)
    rows: list[tuple[Text, ...]] = []
    for name, tokens in parts.items():
        drawn = bar(tokens, largest, BAR_CELLS, is_unicode=out.is_unicode)
        share = f"{tokens / max(1, total):.0%}"
        rows.append((name, number(tokens), share, Styled(drawn, "cyan")))
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
