"""`ctxledger verify`: prove that nothing was changed or cut off."""

from __future__ import annotations

from pathlib import Path

import click

from ctxledger.ledger import BadInput
from ctxledger.ledger.storage.chain import Head

from ..context import Context
from ..options import command
from ..tables import counted

EXAMPLES = """
ctxledger verify
ctxledger verify --since ledger.head    # a head saved by `ctxledger head`
"""
HEAD_BYTES_MAX = 4096


@command(EXAMPLES)
@click.option(
    "--since",
    metavar="HEADFILE",
    default="",
    help="A saved head: also proves that nothing was cut off or rewritten since.",
)
@click.pass_obj
def verify(context: Context, since: str) -> None:
    """Check every event, body, source and snapshot against the hash chain; exit 1 on problems."""
    from ctxledger.ledger.integrity.verify import verify as verify_ledger

    saved = _read_head(since) if since else None
    found = verify_ledger(context.ledger("read").store, saved_head=saved)
    if found.ok:
        _note_verified(context)
    if not found.ok:
        context.found()
    problems = [
        {"session": p.session, "version": p.version, "problem": p.problem} for p in found.problems
    ]
    out = context.out
    if out.is_json:
        out.json({"ok": found.ok, "events": found.events, "problems": problems})
        return
    for problem in problems:
        place = f"session {problem['session']}" if problem["session"] else ""
        place += f" version {problem['version']}" if problem["version"] else ""
        out.line(f"{place}: {problem['problem']}".lstrip(": "))
    counts = ", ".join(
        counted(count, noun)
        for count, noun in (
            (found.events, "event"), (found.bodies, "content"), (found.sources, "source"),
        )
    )  # fmt: skip
    if not found.ok:
        out.line(f"{counted(len(problems), 'problem')} found in {counts}.")
        return
    out.line(f"ok: {counts}; every hash fits.")
    if found.redacted or found.masked_bytes:
        out.line(
            f"Redacted: {counted(found.redacted, 'content')},"
            f" {counted(found.masked_bytes, 'byte')} of sources."
        )
    if saved is not None:
        out.line(
            f"The saved head at {counted(saved.size, 'event')} is part of it: nothing was cut off."
        )
    else:
        out.note("A cut-off end shows only against a saved head: `ctxledger head > FILE`.")


def _note_verified(context: Context) -> None:
    """Let `doctor` know, where the ledger can be written and has events."""
    from ctxledger.ledger.integrity.backups import LAST_VERIFIED, Done, note_done

    head = context.ledger("read").store.head()
    ledger = context.ledger("auto")
    note_done(ledger.store, LAST_VERIFIED, Done(ledger.now_ms() * 1000, head.size, head.hash))


def _read_head(name: str) -> Head:
    try:
        with Path(name).open("rb") as file:
            return Head.parse(file.read(HEAD_BYTES_MAX).decode("utf-8", "replace"))
    except OSError as error:
        raise BadInput(
            f"{name} cannot be read: {error.strerror}.", "Save one with `ctxledger head > FILE`."
        ) from error
