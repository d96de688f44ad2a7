"""The command line as Markdown, for the README: `python -m ctxledger.cli.reference`.

Made from the commands themselves; tests/test_readme.py holds the README to it.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from .main import COMMANDS, EXIT_CODES, TASKS, cli
from .options import GLOBAL_OPTIONS

INTRODUCTION = (
    "Every command takes `--db FILE`, `--json`, `--color auto|always|never`, `-q` and"
    " `--no-pager`, before or after its name, and `-h` with examples."
)


def reference() -> str:
    """All commands by task, their options, and the exit codes."""
    context = click.Context(cli, info_name="ctxledger")
    lines = [INTRODUCTION]
    for task, title in TASKS.items():
        lines += ["", f"**{title}**", ""]
        for name, (its_task, words) in COMMANDS.items():
            if its_task != task:
                continue
            command = cli.get_command(context, name)
            assert command is not None, f"BUG: no command {name}"
            lines.append(f"- `{_usage(command, name, context)}` - {words}")
            lines.extend(_options(command, context))
    codes = ", ".join(f"{code} {words}" for code, words in EXIT_CODES)
    return "\n".join([*lines, "", f"Exit codes: {codes}."])


def _usage(command: click.Command, name: str, parent: click.Context) -> str:
    context = click.Context(command, parent=parent, info_name=name)
    arguments = [p.make_metavar(context) for p in command.params if isinstance(p, click.Argument)]
    return " ".join(["ctxledger", name, *arguments])


def _options(command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, parent=parent)
    shared = {name for option in GLOBAL_OPTIONS for name in option.opts}
    for parameter in command.params:
        if not isinstance(parameter, click.Option) or shared & set(parameter.opts):
            continue
        if parameter.name == "help" or parameter.hidden:
            continue
        record = parameter.get_help_record(context)
        if record is not None:
            yield f"  - `{record[0]}` {record[1]}"


if __name__ == "__main__":
    click.echo(reference())
