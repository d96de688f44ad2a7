"""`ctxledger ingest`: files, a live pipe, a growing file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

import click

from ctxledger.ledger import BadInput, Ledger

from ..context import Context
from ..files import STDIN, is_stream, unreadable
from ..import_report import print_report, reports_json
from ..options import command
from ..paths import is_folder
from ..progress import import_shown

if TYPE_CHECKING:
    from ctxledger.ledger.import_report import Report
    from ctxledger.ledger.write_guard import SecretsMode

EXAMPLES = """
ctxledger ingest session.jsonl
ctxledger ingest ~/.claude/projects/*/*.jsonl
my-agent | ctxledger ingest - --session refactor-auth
ctxledger ingest --secrets redact session.jsonl
ctxledger ingest --follow session.jsonl     # until ctrl-c
"""
INTERRUPTED = 130


class Options(NamedTuple):
    """How the input is read, whatever it is."""

    session: str
    format_name: str
    secrets: SecretsMode


@command(EXAMPLES)
@click.argument("files", nargs=-1, metavar="[FILE or -]...")
@click.option(
    "--session", metavar="NAME", default="", help="Name for the (first) session of the input."
)
@click.option(
    "--format", "form", metavar="FORMAT", default="", help="Default: told from the contents."
)
@click.option("--follow", "is_followed", is_flag=True, help="Go on with one file as it grows.")
@click.option(
    "--again", "is_again", is_flag=True, help="As a new source, even if its bytes are known."
)
@click.option(
    "--secrets",
    type=click.Choice(("keep", "mark", "redact")),
    default="keep",
    help="Credentials: keep them (default), say how many, or never store them.",
)
@click.pass_obj
def ingest(
    context: Context,
    files: tuple[str, ...],
    session: str,
    form: str,
    is_followed: bool,
    is_again: bool,
    secrets: SecretsMode,
) -> None:
    """Take in what an agent recorded: files, or a pipe with `-`.

    What is known already is not added again. Records that cannot be read are kept aside and named
    (exit 1); the rest goes on.
    """
    files = check(files, session, is_followed=is_followed)
    ledger = context.ledger("write")
    options = Options(session, form, secrets)
    if is_followed:
        reports = [follow(context, ledger, files[0], options)]
    elif is_stream(Path(files[0])):
        reports = [pipe(context, ledger, files[0], options)]
    else:
        reports = import_all(context, ledger, files, options, is_again=is_again)
    if context.out.is_json:
        context.out.json(reports_json(ledger, reports))
    print_report(context, ledger, reports)
    if any(report.quarantined for report in reports) and not context.exit_code:
        context.found()


def check(files: tuple[str, ...], session: str, *, is_followed: bool) -> tuple[str, ...]:
    """Arguments that fit together.

    Raises:
        BadInput: they do not.
    """
    import sys

    if not files:
        if sys.stdin.isatty():
            raise BadInput(
                "Nothing to take in.",
                "Name files (`ctxledger sessions --found` lists some), or pipe into"
                " `ctxledger ingest -`.",
            )
        files = (STDIN,)
    if any(is_stream(Path(name)) for name in files) and (len(files) > 1 or is_followed):
        raise BadInput("A pipe stands alone.", "It is followed anyway; take files in apart.")
    if is_followed and len(files) > 1:
        raise BadInput("--follow takes one file.", "Start one `ctxledger ingest` for each.")
    if session and len(files) > 1:
        raise BadInput("--session names one session.", "Take the files in one by one.")
    for name in files:
        if name != STDIN and is_folder(name):
            raise BadInput(
                f"{name} is a folder.", f"Name its files: `ctxledger ingest {quote(name)}/*`."
            )
    return files


def import_all(
    context: Context,
    ledger: Ledger,
    files: Sequence[str],
    options: Options,
    *,
    is_again: bool,
) -> list[Report]:
    """Take in files in order; one that cannot be used stops nothing but ends with its error."""
    from ctxledger.ledger import LedgerError

    reports: list[Report] = []
    failed: BadInput | None = None
    for name in files:
        try:
            report = import_shown(
                ledger,
                name,
                context.out,
                session=options.session,
                format_name=options.format_name,
                is_again=is_again,
                secrets=options.secrets,
            )
        except BadInput as error:
            if len(files) == 1:
                raise
            context.out.fail(error.message, error.hint)
            failed = error
            continue
        except LedgerError:
            if reports and not context.out.is_json:
                print_report(context, ledger, reports)
            raise
        reports.append(report)
    if failed is not None:
        context.exit_code = failed.exit_code
    return reports


def pipe(context: Context, ledger: Ledger, name: str, options: Options) -> Report:
    """Read stdin or a named pipe as it comes, to its end or a signal (exit 130)."""
    import os
    import sys

    from ctxledger.ledger.record.pipe import read_pipe

    from ..stopping import stop_on_signals

    with stop_on_signals() as stop:
        try:
            # without waiting for a writer, so that a signal still ends it
            descriptor = (
                sys.stdin.fileno() if name == STDIN else os.open(name, os.O_RDONLY | os.O_NONBLOCK)
            )
            report = read_pipe(
                ledger,
                descriptor,
                stop,
                session=options.session,
                format_name=options.format_name,
                secrets=options.secrets,
            )
        except BadInput as error:
            if not stop.is_set:
                raise
            raise KeyboardInterrupt from error  # ended before anything could be told
        except OSError as error:
            raise unreadable(Path(name), error) from error
        context.exit_code = INTERRUPTED if stop.is_set else 0
    return report


def follow(context: Context, ledger: Ledger, name: str, options: Options) -> Report:
    """Read a file as it grows, until a signal."""
    from ctxledger.ledger.record.follow import follow_file

    from ..stopping import stop_on_signals

    with stop_on_signals() as stop:
        context.out.note(f"Following {name}; ctrl-c ends it.")
        return follow_file(
            ledger,
            Path(name),
            stop,
            on_news=context.out.note,
            session=options.session,
            format_name=options.format_name,
            secrets=options.secrets,
        )
