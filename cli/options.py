"""Options that every command has, and the class of our commands.

Global options stand before or after the command; the later one wins. Knows nothing about ledgers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from .context import Context

HELP_NAMES = ["-h", "--help"]
EXAMPLE_CELLS = 78
COLORS = ("auto", "always", "never")

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Put a global option into the context if it was given here."""
    if value is not None:
        context = ctx.ensure_object(Context)
        assert param.name is not None, "BUG: an option without a name"
        context.set(param.name, value)


def _global(*names: str, **settings: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=_keep, default=None, **settings)


GLOBAL_OPTIONS = (
    _global(
        "--db",
        metavar="FILE",
        help="The ledger (env CTXLEDGER_DB; default: ledger.db in your data folder).",
    ),
    _global(
        "--json", "is_json", is_flag=True, flag_value=True, help="Print JSON, one object a line."
    ),
    _global(
        "--color", type=click.Choice(COLORS), help="Colour (default auto; NO_COLOR is honoured)."
    ),
    _global(
        "-q",
        "--quiet",
        "is_quiet",
        is_flag=True,
        flag_value=True,
        help="Say only what is asked for.",
    ),
    _global("--no-pager", "is_unpaged", is_flag=True, flag_value=True, help="Never start a pager."),
)


class Command(click.Command):
    """A command with the global options and an Examples block."""

    def __init__(self, *args: Any, examples: str = "", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.examples = examples.strip("\n")
        assert self.examples, f"BUG: {self.name} has no examples"
        self.params.extend(GLOBAL_OPTIONS)
        self.context_settings.setdefault("help_option_names", HELP_NAMES)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are."""
        super().format_epilog(ctx, formatter)
        with formatter.section("Examples"):
            for line in aligned(self.examples):
                formatter.write(f"  {line}\n")


def aligned(examples: str) -> list[str]:
    """Examples with their comments in one column, or above them where that is too wide."""
    pairs = [line.strip().partition("  #")[::2] for line in examples.splitlines()]
    commands = [command.strip() for command, _ in pairs]
    whys = [f"# {why.strip()}" if why else "" for _, why in pairs]
    column = 2 + max(map(len, commands))
    if all(column + len(why) <= EXAMPLE_CELLS for why in whys):
        return [f"{c.ljust(column)}{why}".rstrip() for c, why in zip(commands, whys, strict=True)]
    lines: list[str] = []
    for example, why in zip(commands, whys, strict=True):
        lines += [why, example] if why else [example]
    return lines


def command(examples: str, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command; its docstring is the help, its name the name.

    Args:
        examples: lines `ctxledger ...  # why`.
    """
    return click.command(cls=Command, examples=examples, **settings)


def session_argument(function: AnyFunction) -> AnyFunction:
    """Give `session: str`: a name, title, prefix, `@` or file; "" = the newest."""
    return click.argument("session", required=False, default="", metavar="[SESSION]")(function)


def at_option(function: AnyFunction) -> AnyFunction:
    """Give `at: str`, a REF, `head` unless told."""
    return click.option(
        "--at", metavar="REF", default="head", help="The version to look at (default head)."
    )(function)
