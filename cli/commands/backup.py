"""`ctxledger backup`: a checked copy of the ledger, made while it is in use."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ctxledger.ledger import BadInput

from ..context import Context
from ..options import command
from ..tables import counted, number

EXAMPLES = """
ctxledger backup ledger-copy.db            # agents may go on meanwhile
ctxledger backup --check ledger-copy.db    # later: is it still as it was written?
ctxledger restore ledger-copy.db --db restored.db
"""


@command(EXAMPLES)
@click.argument("file")
@click.option("--check", is_flag=True, help="Make nothing; verify this backup.")
@click.pass_obj
def backup(context: Context, file: str, check: bool) -> None:
    """Copy the ledger to a new FILE, whole and verified, or not at all.

    It holds every event that was stored when the command began. What was redacted is not in it;
    but a later `redact` does not reach it. It is only as safe as the disk it is on.
    """
    if check:
        return _check(context, Path(file))
    from ctxledger.ledger.integrity.backups import back_up

    started = time.monotonic()
    ledger = context.ledger("auto")
    made = back_up(ledger.store, Path(file), at_us=ledger.now_ms() * 1000)
    head, size = made.head, made.size_bytes
    if context.out.is_json:
        context.out.json({"ok": True, "file": file, "bytes": size, "events": head.size,
                          "origin": head.origin, "hash": head.hash})  # fmt: skip
        return None
    took = f"{time.monotonic() - started:.1f} s"
    context.out.line(
        f"{file}: {counted(head.size, 'event')}, {number(size)} bytes; every hash fits."
    )
    context.out.note(f"Made and verified in {took}. Put it back: `ctxledger restore {file}`.")
    return None


def _check(context: Context, path: Path) -> None:
    from ctxledger.ledger import LedgerError
    from ctxledger.ledger.integrity.backups import check_backup

    found = check_backup(path)
    checked, head = found.checked, found.head
    if not checked.ok:
        context.found()
    relation = ""
    try:
        own = context.ledger("read").store
        row = own.db.row("SELECT hash FROM events WHERE position = ?", (head.size,))
        if own.origin().hex() != head.origin:
            relation = "another ledger than this one"
        elif row is not None and bytes(row[0]).hex() == head.hash:
            newer = own.head().size - head.size
            relation = f"{counted(newer, 'event')} behind this ledger" if newer else "up to date"
        else:
            relation = "of this ledger, with a history that it does not have (any more)"
    except (BadInput, LedgerError):
        pass  # there may be no ledger any more: that is what backups are for
    if context.out.is_json:
        problems = [
            {"session": p.session, "version": p.version, "problem": p.problem}
            for p in checked.problems
        ]
        context.out.json({"ok": checked.ok, "file": str(path), "bytes": found.size_bytes,
                          "events": head.size, "relation": relation,
                          "problems": problems})  # fmt: skip
        return
    for problem in checked.problems:
        context.out.line(f"{problem.session} {problem.version or ''}: {problem.problem}".lstrip())
    state = "ok" if checked.ok else f"{counted(len(checked.problems), 'problem')}"
    end = f"; {relation}" if relation else ""
    context.out.line(f"{state}: {counted(head.size, 'event')}{end}.")
