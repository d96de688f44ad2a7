"""`ctxledger prune`: a new ledger without some sessions, or this one without its caches."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..context import Context
from ..options import command
from ..tables import counted, number

if TYPE_CHECKING:
    from ctxledger.ledger.integrity.pruning import Plan

EXAMPLES = """
ctxledger prune --session @                          # what would be left out; nothing is done
ctxledger prune --session @ --output small.db --yes  # a new ledger without it
ctxledger prune --caches --yes                       # in place: indexes, counts and snapshots
"""


@command(EXAMPLES)
@click.option(
    "--session", "sessions", multiple=True, metavar="SESSION", help="Leave it out (repeatable)."
)
@click.option("-o", "--output", metavar="FILE", default="", help="The new ledger.")
@click.option("--caches", is_flag=True, help="Empty what can be made anew, in this ledger.")
@click.option("--yes", is_flag=True, help="Do it; without it only what would be done is shown.")
@click.pass_obj
def prune(
    context: Context, sessions: tuple[str, ...], output: str, caches: bool, yes: bool
) -> None:
    """Make room, only of what is named: nothing is ever removed by itself, or by its age.

    Events are never taken out of a ledger: its chain of hashes would break. Sessions are left out
    of a NEW ledger, which is verified before it appears; this one stays untouched, and is the
    archive until you delete it yourself. A session that a kept fork goes on from cannot be left
    out. Sources go with the last session that came from them. Heads saved of the old ledger do
    not fit the new one: save a new head.

    Caches are made anew when they are next needed.
    """
    if sessions and caches:
        raise click.UsageError("--session and --caches go one at a time.")
    if not sessions and not caches:
        return _overview(context)
    if caches:
        return _prune_caches(context, is_done=yes)
    return _prune_sessions(context, sessions, output, is_done=yes)


def _overview(context: Context) -> None:
    ledger = context.ledger("read")
    sizes = _cache_bytes(context)
    names = ledger.store.session_names()
    if context.out.is_json:
        context.out.json({"done": False, "sessions": len(names), "cache_bytes": sizes})
        return
    known = "size not known" if sizes is None else f"{number(sizes)} bytes"
    context.out.line(f"{counted(len(names), 'session')}; caches: {known}.")
    context.out.note(
        "Nothing was done. `--caches` empties the caches; `--session S -o NEW.db` writes a new "
        "ledger without S."
    )


def _prune_caches(context: Context, *, is_done: bool) -> None:
    from ctxledger.ledger.caches.emptying import drop_caches

    sizes = _cache_bytes(context)
    freed = drop_caches(context.ledger("write").store) if is_done else sizes
    if context.out.is_json:
        context.out.json({"done": is_done, "bytes": freed})
        return
    size = "bytes not known" if freed is None else f"{number(freed)} bytes"
    context.out.line(f"Caches: {size} {'given back' if is_done else 'would be given back'}.")
    if not is_done:
        context.out.note("Nothing was done; add --yes.")


def _prune_sessions(
    context: Context, sessions: tuple[str, ...], output: str, *, is_done: bool
) -> None:
    from ctxledger.ledger.integrity.pruning import plan_pruning, write_pruned

    if is_done and not output:
        raise click.UsageError("--yes needs --output FILE: sessions are never removed in place.")
    ledger = context.ledger("read")
    named = dict.fromkeys(ledger.find(reference).id for reference in sessions)
    plan = plan_pruning(ledger.store, list(named))
    head = ledger.store.head()
    made = None
    if is_done:
        made = write_pruned(ledger.store, plan, Path(output), entropy=os.urandom)
    if context.out.is_json:
        context.out.json({
            "done": is_done, "left_out": list(plan.left.values()), "events": plan.events_left,
            "kept": len(plan.kept), "sources": list(plan.sources_left),
            "shared_sources": list(plan.sources_shared), "output": output if is_done else "",
            "bytes": made.size_bytes if made else None,
        })  # fmt: skip
        return
    _tell(context, plan, is_done=is_done)
    if made is None:
        context.out.note("Nothing was done; add `--output NEW.db --yes`.")
        return
    context.out.line(
        f"{output}: {counted(made.head.size, 'event')}, {number(made.size_bytes)} bytes; "
        "every hash fits."
    )
    context.out.note(
        f"{context.db_path} is untouched, at {counted(head.size, 'event')}; it is your archive."
    )


def _tell(context: Context, plan: Plan, *, is_done: bool) -> None:
    out = context.out
    verb = "Left out" if is_done else "Would be left out"
    out.line(f"{verb}: {counted(len(plan.left), 'session')}, {counted(plan.events_left, 'event')}.")
    for name in plan.left.values():
        out.line(f"  {name}")
    if plan.sources_left:
        out.line(f"Sources that go with them: {', '.join(map(str, plan.sources_left))}.")
    if plan.sources_shared:
        out.warn(
            f"Sources {', '.join(map(str, plan.sources_shared))} are kept whole, what they say of "
            "these sessions included: kept sessions came from them too."
        )
    for name, count in plan.children.items():
        out.note(f"{counted(count, 'session')} that {name} started stay; name them to leave out.")


def _cache_bytes(context: Context) -> int | None:
    """Bytes of the caches, where SQLite can tell."""
    from ctxledger.ledger import CorruptLedger
    from ctxledger.ledger.storage.migrations import CACHE_TABLES

    names = " OR ".join(f"name GLOB '{table}*'" for table in CACHE_TABLES)
    try:
        row = context.ledger("read").db.row(f"SELECT sum(pgsize) FROM dbstat WHERE {names}")
    except CorruptLedger:  # this SQLite has no such table
        return None
    return int(row[0] or 0) if row is not None else 0
