"""`ctxledger redact`: remove contents for good."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ctxledger.ledger import BadInput, Ledger, Session

from ..arguments import command_line
from ..context import Context
from ..options import command
from ..paths import is_there
from ..tables import counted, number

if TYPE_CHECKING:
    from ctxledger.ledger.redacting import Redaction
    from ctxledger.ledger.redaction_orders import Order

EXAMPLES = """
ctxledger redact --secrets --dry-run        # what would go, in the whole ledger
ctxledger redact --secrets
ctxledger redact refactor-auth --pattern 'CUST-[0-9]{6}' --yes
ctxledger redact @ --item 42.1 --reason 'a customer asked for it'
"""
ITEMS_SHOWN_MAX = 10
WARNING = "This cannot be undone: what is removed is gone for good, here and from every version."
ELSEWHERE = (
    "Not touched: the recordings the sessions came from, backups and other copies of the ledger,"
    " exports, the memory of programs that have it open. A secret that leaked should be revoked."
)


@command(EXAMPLES)
@click.argument("session", required=False, default="", metavar="[SESSION]")
@click.option("--secrets", "is_secrets", is_flag=True, help="Credentials of twelve kinds.")
@click.option("--pattern", metavar="REGEX", default=None, help="What a regular expression matches.")
@click.option("--text", metavar="TEXT", default=None, help="Exactly this text.")
@click.option("--item", metavar="ITEM", default=None, help="An item as a whole, such as 42.1.")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Only show what it would do.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@click.option("--reason", metavar="TEXT", default="", help="Why, kept with the event.")
@click.option("--finish", "is_finishing", is_flag=True, help="Only clear old pages from the files.")
@click.pass_obj
def redact(
    context: Context,
    session: str,
    is_secrets: bool,
    pattern: str | None,
    text: str | None,
    item: str | None,
    is_dry_run: bool,
    is_sure: bool,
    reason: str,
    is_finishing: bool,
) -> None:
    """Remove contents for good, in every version; this cannot be undone.

    Without SESSION: everywhere in the ledger (an item: in the newest session). Contents, source
    bytes, names of sources, indexes, the log of the database and its free space are cleared; a
    marker [redacted:KIND] stands in the place, an event says so, and the chain still verifies.
    Exit 1 when nothing was found.
    """
    from ctxledger.ledger.redacting import finish_redaction, plan_redaction
    from ctxledger.ledger.redacting import redact as redact_ledger

    asked = [bool(is_secrets), pattern is not None, text is not None, item is not None]
    if sum(asked) + is_finishing != 1:
        raise BadInput(
            "Say what to redact, in one way.", "Give --secrets, --pattern, --text or --item."
        )
    if not is_there(context.db_path):
        context.ledger("read")  # says what is missing
    if is_finishing:
        is_done = finish_redaction(context.ledger("write"))
        context.out.note("The files hold no old pages." if is_done else "Nothing was left to do.")
        return
    ledger = context.ledger("auto" if is_dry_run else "write")
    chosen = ledger.find(session or "@") if session or item is not None else None
    order = order_of(chosen, is_secrets=is_secrets, pattern=pattern, text=text, item=item)
    plan = plan_redaction(ledger, order)
    if plan.is_empty:
        say_nothing(context, ledger, plan, is_dry_run=is_dry_run)
        return
    if not context.out.is_json:
        preview(context, ledger, plan)
    if is_dry_run or not (is_sure or is_confirmed(context, plan)):
        if context.out.is_json:
            context.out.json(as_json(ledger, plan, is_done=False))
        return
    done = redact_ledger(ledger, order, note=reason)
    report(context, ledger, done)


def order_of(
    session: Session | None,
    *,
    is_secrets: bool,
    pattern: str | None,
    text: str | None,
    item: str | None,
) -> Order:
    """What was asked for."""
    from ctxledger.ledger import redaction_orders as orders

    if item is not None:
        assert session is not None, "BUG: an item of no session"
        return orders.order_item(session, item)
    if is_secrets:
        return orders.order_secrets(session)
    if pattern is not None:
        return orders.order_pattern(pattern, session)
    return orders.order_text(text or "", session)


def is_confirmed(context: Context, plan: Redaction) -> bool:
    """Ask on a terminal; elsewhere --yes must have said it."""
    out = context.out
    if not sys.stdin.isatty():
        raise BadInput("Nobody is there to be asked.", "Look with --dry-run, then say --yes.")
    out.is_unpaged = True
    out.flush()
    places = counted(sum(plan.counts.values()), "place")
    if click.confirm(f"{WARNING} Remove {places}?", err=True, default=False):
        return True
    out.note("Nothing was changed.")
    context.found()
    return False


def say_nothing(context: Context, ledger: Ledger, plan: Redaction, *, is_dry_run: bool) -> None:
    """Nothing was found; what an earlier redaction left is finished."""
    from ctxledger.ledger.redacting import finish_redaction

    if not is_dry_run:
        finish_redaction(ledger)
    context.found()
    if context.out.is_json:
        context.out.json(as_json(ledger, plan, is_done=False))
    else:
        where = "in contents or sources" if plan.names_left else "in the ledger"
        context.out.note(f"Nothing of that is {where}.")
    warn_of_names(context, plan)


def preview(context: Context, ledger: Ledger, plan: Redaction) -> None:
    """What would go, by kind, session and source."""
    out = context.out
    kinds = ", ".join(f"{number(n)} {kind}" for kind, n in sorted(plan.counts.items()))
    out.line(f"{kinds} in {counted(len(plan.contents), 'content')}.")
    names = dict(ledger.store.session_names())
    for session, items in plan.items.items():
        shown = ", ".join(items[:ITEMS_SHOWN_MAX])
        more = f" and {number(len(items) - ITEMS_SHOWN_MAX)} more" if len(items) > 10 else ""
        out.line(f"{names.get(session, session)}: items {shown}{more}")
    for change in plan.sources:
        size = counted(sum(mask.length for mask in change.masks), "byte")
        out.line(f"{change.name}: {size} in {counted(len(change.masks), 'place')} of the recording")
    warn_of_names(context, plan)


def warn_of_names(context: Context, plan: Redaction) -> None:
    """What no redaction can remove."""
    if plan.names_left:
        context.found()
        context.out.warn(
            f"Names, ids and actors in events hold it, in {counted(plan.names_left, 'place')}:"
            " these are part of the chain and stay."
            " `ctxledger prune` writes a new ledger without a session."
        )


def report(context: Context, ledger: Ledger, plan: Redaction) -> None:
    """What was done, and what was not."""
    out = context.out
    if out.is_json:
        out.json(as_json(ledger, plan, is_done=True))
        return
    out.line()
    out.line(f"Done: {counted(len(plan.contents), 'content')} removed; it cannot be undone.")
    out.note(ELSEWHERE)
    out.note(f"Check it: `{command_line(context, 'verify')}`.")


def as_json(ledger: Ledger, plan: Redaction, *, is_done: bool) -> dict[str, object]:
    """The object of `redact --json`."""
    names = dict(ledger.store.session_names())
    return {
        "redacted": is_done,
        "contents": len(plan.contents),
        "kinds": dict(sorted(plan.counts.items())),
        "sessions": [
            {"session": names.get(session, ""), "items": items}
            for session, items in plan.items.items()
        ],
        "sources": [
            {
                "source": change.name,
                "bytes": sum(mask.length for mask in change.masks),
                "places": len(change.masks),
            }
            for change in plan.sources
        ],
        "names_left": plan.names_left,
    }
