"""Completion at a prompt: commands, options, names of sessions, references.

A shell asks on each press of Tab, so no command is imported unless one of its options is being
completed, and the ledger is only looked at (ledger/storage/overview.py). Whatever goes wrong,
nothing is offered and nothing is said.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from .context import Context
from .options import GLOBAL_OPTIONS, HELP_NAMES

if TYPE_CHECKING:
    from ctxledger.ledger.storage.overview import Overview

Item = CompletionItem[str]
Words = tuple[str, ...]

SESSION_COMMANDS = frozenset(
    {"inspect", "log", "window", "show", "diff", "blame", "report", "stats", "rollback", "fork",
     "export", "redact"}
)  # fmt: skip
"""Their first argument is a session or a file."""
REFERENCE_COMMANDS = frozenset({"show", "diff", "report"})
"""References follow the session, or stand in its place."""
HANDLE_COMMANDS = frozenset({"rollback"})
FILE_COMMANDS = frozenset({"ingest", "backup", "restore"})
WORD_COMMANDS = {"completion": ("bash", "zsh", "fish", "powershell")}
REFERENCE_OPTIONS = frozenset({"--at", "--to"})
SESSION_OPTIONS = frozenset({"--session"})
HANDLES_MAX = 30
"""Of each kind, the newest first."""


class CompletedCommand(click.Command):
    """Stands for a command while a shell asks what could follow; all words are one argument."""

    def __init__(self, name: str, load: Callable[[], click.Command]) -> None:
        words = click.Argument(["words"], nargs=-1, shell_complete=self._complete_word)
        super().__init__(
            name,
            params=[words, *GLOBAL_OPTIONS],
            context_settings={"ignore_unknown_options": True, "help_option_names": HELP_NAMES},
        )
        self._load = load

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Item]:
        """The command's own options."""
        return self._load().shell_complete(ctx, incomplete)

    def _complete_word(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[Item]:
        words: Words = ctx.params.get(param.name or "", ())
        before = words[-1] if words else ""
        if before in REFERENCE_OPTIONS:
            return plain_items(references(ctx, words), incomplete)
        if before in SESSION_OPTIONS:
            return [*files(incomplete), *plain_items(session_names(ctx), incomplete)]
        if before.startswith("-") and len(before) > 1:
            found = self._of_option(ctx, before, incomplete)
            if found is not None:
                return found
        return list(_of_argument(ctx, self.name or "", words, incomplete))

    def _of_option(self, ctx: click.Context, option: str, incomplete: str) -> list[Item] | None:
        """What an option's value can be; None when it takes none."""
        for parameter in self._load().params:
            if isinstance(parameter, click.Option) and option in parameter.opts:
                return None if parameter.is_flag else parameter.shell_complete(ctx, incomplete)
        return None


def _of_argument(ctx: click.Context, command: str, words: Words, incomplete: str) -> Iterator[Item]:
    from .arguments import looks_like_reference

    if command in FILE_COMMANDS:
        yield from files(incomplete)
    yield from plain_items(WORD_COMMANDS.get(command, ()), incomplete)
    if command not in SESSION_COMMANDS:
        return
    arguments = [word for word in words if not word.startswith("-")]
    if not arguments:
        yield from files(incomplete)
        yield from plain_items(session_names(ctx), incomplete)
    if arguments or incomplete:  # at an empty word the names are enough
        is_first = not arguments or looks_like_reference(arguments[0])
        of = () if is_first else (arguments[0],)
        if command in REFERENCE_COMMANDS:
            yield from plain_items(references(ctx, of), incomplete)
        elif command in HANDLE_COMMANDS:
            yield from plain_items(handles(ctx, of), incomplete)


def files(incomplete: str) -> list[Item]:
    """Let the shell offer files. First of all: bash forgets what came before it."""
    return [CompletionItem(incomplete, type="file")]


def plain_items(words: Sequence[str], incomplete: str) -> list[Item]:
    """Those that begin so."""
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def session_names(ctx: click.Context) -> list[str]:
    """Names of the ledger's sessions, newest first; none that a shell would take apart."""
    names = _looked_up(ctx, lambda overview: overview.names()) or []
    return [name for name in names if shlex.quote(name) == name]


def references(ctx: click.Context, words: Words) -> list[str]:
    """`head`, and the handles of a session with what was before each."""
    return ["head", *(name for handle in handles(ctx, words) for name in (handle, f"{handle}^"))]


def handles(ctx: click.Context, words: Words) -> list[str]:
    """`c2 c1 e1 r1` of the session that the first word names, else of the newest."""
    name = words[0] if words and not words[0].startswith("-") else ""

    def look(overview: Overview) -> list[str]:
        session = overview.session(name)
        counts = overview.handles(session) if session is not None else {}
        return [
            f"{letter}{number}"
            for letter, count in counts.items()
            for number in range(count, max(0, count - HANDLES_MAX), -1)
        ]

    return _looked_up(ctx, look) or []


def _looked_up(ctx: click.Context, look: Callable[[Overview], list[str]]) -> list[str] | None:
    """Ask the ledger of this command line; None when it cannot answer."""
    from ctxledger.ledger.errors import LedgerError
    from ctxledger.ledger.storage.connection import Connection
    from ctxledger.ledger.storage.overview import Overview

    path = ctx.ensure_object(Context).db_path
    try:
        connection = Connection(str(path), "read")
    except LedgerError:
        return None
    try:
        return look(Overview(connection))
    except LedgerError:
        return None
    finally:
        connection.close()
