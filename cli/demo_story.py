"""The steps of the demo. Each shows the command a user would type, and what it says.

Knows nothing about where the ledger is.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import command_line
from .bars import bar
from .context import Context
from .demo_data import SESSION
from .diff_text import show_comparison
from .output import Output, Styled, Text
from .rollback_text import Preview, show_preview
from .tables import Column, number

if TYPE_CHECKING:
    from ctxledger.ledger import Ledger, Session
    from ctxledger.ledger.views.contents import WindowView

LOST_WORDS = "Always reply to confirm the fix was made"
"""A standing instruction of the recording that its compaction took away."""


def tell(context: Context, recording: Path) -> None:
    """Take the recording in and go through its compaction."""
    ledger = context.ledger("write")
    out = context.out
    out.line(Styled("What was in the window, what a compaction took, how to undo it", "bold"))
    out.line()
    out.line("A real Claude Code session (github.com/entireio/cli, MIT): a pull request is")
    out.line("reviewed, a field renamed in ten files, and in the middle of a merge the agent's")
    out.line("window is compacted.")
    _take_in(out, ledger, recording)
    session = ledger.find(SESSION)
    _before_and_after(out, session)
    _what_it_dropped(out, session)
    _where_a_rule_went(context, session)
    _undo(context, session)
    _next_request(out, session)
    _prove(out, ledger)
    _invite(context, recording)


def _step(out: Output, number_: int, title: str, command: str) -> None:
    out.line()
    out.line(Styled(f"{number_}. {title}", "bold"))
    out.line(Styled(f"$ ctxledger {command}", "cyan"))
    out.line()


def _take_in(out: Output, ledger: Ledger, recording: Path) -> None:
    from ctxledger.ledger.importing import import_file

    _step(out, 1, "Take in what the agent recorded", f"ingest {recording.name} --session {SESSION}")
    report = import_file(ledger, recording, session=SESSION)
    events = sum(count.new_events for count in report.sessions.values())
    session = ledger.find(SESSION)
    calls = sum(1 for _ in session.events(types=("model_called",)))
    compactions = len(session.store.marks(session.id, "window_compacted"))
    out.line(f"{report.records} records of format {report.format} became {events} events:")
    out.line(f"{calls} calls to the model, {compactions} compaction.")


def _before_and_after(out: Output, session: Session) -> None:
    _step(out, 2, "What the model saw before and after it", f"window {SESSION} --at c1^")
    before, after = session.window("c1^"), session.window("c1")
    out.table(
        (
            Column("tokens"),
            Column("before", is_number=True),
            Column("after", is_number=True),
            Column(""),
        ),
        _category_rows(out, before, after),
    )
    out.line(f"items    {len(before.entries):>9,}  {len(after.entries):>5,}")
    if before.reported is not None and before.unrecorded is not None:
        out.line()
        out.line(f"The provider reported {number(before.reported)} tokens before it. The recording")
        out.line(f"lacks {number(before.unrecorded)} of them: system prompt, tool definitions ...")


def _category_rows(out: Output, before: WindowView, after: WindowView) -> list[Sequence[Text]]:
    was, is_now = before.categories, after.categories
    rows = [(name, was.get(name, 0), is_now.get(name, 0)) for name in {**was, **is_now}]
    rows.append(("all", before.tokens, after.tokens))
    return [
        (
            name,
            number(old),
            number(new),
            Styled(bar(old or new, before.tokens, 40, is_unicode=out.is_unicode), "blue"),
        )
        for name, old, new in rows
    ]


def _what_it_dropped(out: Output, session: Session) -> None:
    from ctxledger.ledger.views.comparing import compare

    _step(out, 3, "What the compaction dropped", f"diff {SESSION} c1")
    found = compare(session, session.resolve("c1^"), session.resolve("c1"))
    show_comparison(out, session, found, is_all=False, is_short=True)


def _where_a_rule_went(context: Context, session: Session) -> None:
    from ctxledger.ledger.finding.recall import blame_text

    from .blame_stories import stories_of
    from .blame_text import show_stories

    out = context.out
    title = "Where a standing instruction of the review went"
    _step(out, 4, title, shlex.join(["blame", SESSION, "--text", LOST_WORDS]))
    lives = blame_text(session, LOST_WORDS)
    show_stories(out, stories_of(context, session, lives, file=SESSION, words=LOST_WORDS))


def _undo(context: Context, session: Session) -> None:
    from ctxledger.ledger.rolling_back import apply_rollback, plan_rollback

    out = context.out
    _step(out, 5, "Undo it, and keep everything that came later", f"rollback {SESSION} c1")
    plan = plan_rollback(session, ("c1",))
    show_preview(out, Preview.of(session, plan), is_short=True)
    number_ = apply_rollback(session, plan, reason="demo")
    out.line(f"Done: r{number_}, version {session.version}. Nothing was deleted;")
    undo = command_line(context, "rollback", SESSION, f"r{number_}")
    out.line("this undoes the undo: ", Styled(undo, "cyan"))


def _next_request(out: Output, session: Session) -> None:
    from ctxledger.ledger.render.anthropic_rules import check_request

    _step(out, 6, "The next request, ready to send", f"window {SESSION} --format anthropic")
    rendering = session.render()
    faults = check_request(rendering.body)
    messages = rendering.body["messages"]
    repairs = Counter(repair.code.replace("_", " ") for repair in rendering.repairs)
    out.line(f"{len(messages)} messages for {rendering.body['model']};")
    out.line(f"{len(faults)} faults against the rules of the Messages API;")
    named = ", ".join(f"{count} {code}" for code, count in sorted(repairs.items()))
    out.line(f"repaired in the rendering, never in the log: {named}.")


def _prove(out: Output, ledger: Ledger) -> None:
    from ctxledger.ledger.integrity.verify import verify

    _step(out, 7, "Prove that nothing was changed or lost on the way", "verify")
    found = verify(ledger.store)
    verdict = "ok" if found.ok else f"{len(found.problems)} problems"
    counts = f"{found.events} events, {found.bodies} contents, {found.sources} source"
    out.line(f"{verdict}: {counts}; every hash fits.")
    assert found.ok, "BUG: the demo's ledger does not verify"


def _invite(context: Context, recording: Path) -> None:
    out = context.out
    out.line()
    out.line(Styled("Your turn.", "bold"), " Ledger and recording stay here:")
    out.line(f"{context.db_path}")
    out.line(f"{recording}")
    out.line()
    out.line("With --db and that file behind them, the commands above work, and")
    out.line(Styled(command_line(context, "inspect"), "cyan"))
    out.line("ctxledger ingest ~/.claude/projects/*/*.jsonl     # your own sessions")
    if shutil.which("ctxledger") is None:
        out.note(f"ctxledger is not on your PATH: it is {Path(sys.argv[0]).absolute()}.")
