"""`ctxledger doctor`: how the ledger is, and what to do about it."""

from __future__ import annotations

import time

import click

from ..context import Context
from ..options import command
from ..output import Styled

EXAMPLES = """
ctxledger doctor
ctxledger doctor --json
"""


@command(EXAMPLES)
@click.pass_obj
def doctor(context: Context) -> None:
    """Look at the ledger's file, its place and its contents; exit 1 when something is wrong.

    Changes nothing. Works on a ledger that is damaged, somebody else's, older, newer, or none.
    """
    from ctxledger.ledger.integrity.doctor import examine

    checks = examine(context.db_path, now_us=time.time_ns() // 1000)
    is_ok = all(check.is_ok for check in checks)
    if not is_ok:
        context.found()
    if context.out.is_json:
        context.out.json({
            "ok": is_ok, "ledger": str(context.db_path),
            "checks": [{"name": c.name, "value": c.value, "ok": c.is_ok, "advice": c.advice}
                       for c in checks],
        })  # fmt: skip
        return
    for check in checks:
        if check.name == "options":
            continue  # in the JSON: too long for a person
        mark = Styled("ok     ", "green") if check.is_ok else Styled("problem", "red")
        context.out.line(mark, f"  {check.name.ljust(13)}  {check.value}")
        if check.advice:
            context.out.line(f"                        {check.advice}")
