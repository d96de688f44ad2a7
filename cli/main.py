"""The program `ctxledger`: its commands by task, and the one place where errors become words.

Commands are imported when they are called; `ctxledger --help` imports none of them.

How to add a command (conventions of this folder):

1. A line in `COMMANDS` below: name, task, short help.
2. `commands/<name>.py` with a function of the same name (a name that Python has already gets a
   trailing `_`, here and there), decorated with `@command(EXAMPLES)` from options.py. That adds
   -h, --db, --json, --color, -q and --no-pager to it; `@session_argument` and `@at_option` are
   there too. Below them stands `@click.pass_obj`, which gives the `Context`:

       EXAMPLES = "ctxledger log                 # the newest session"

       @command(EXAMPLES)
       @session_argument
       @click.option("-n", "count", type=int, help="...")
       @click.pass_obj
       def log(context: Context, session: str, count: int | None) -> None:
           ...

3. Inside: `context.reading(session)` is a Session for reading (a file is read into memory),
   `context.writing(session)` one for changing (refuses a file), `context.ledger("read")` the
   ledger itself. They are closed by the frame.
4. Results go to `context.out`: `out.json(...)` if `out.is_json`, else `out.line(...)`,
   `out.table(...)`. Everything else (`out.note`, `out.warn`) goes to stderr. Recorded text may be
   handed to any of them as it is: they pass it through `plain`. `print` and `click.echo` are not
   used for data.
5. A problem is a LedgerError with a hint, raised; exit 1 ("found something") is
   `context.found()`, which the command calls when it is done; it does not raise.
6. Heavy imports (ledger modules that load more than they need) stand inside the function.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

import click

from .context import Context
from .options import GLOBAL_OPTIONS, HELP_NAMES

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("look", "Show the whole story on a bundled session."),
    "inspect": ("look", "Open the terminal inspector."),
    "sessions": ("look", "List the sessions of the ledger."),
    "log": ("look", "Show what happened in a session."),
    "window": ("look", "Show what the model saw at a version."),
    "show": ("look", "Show one event, item, call or compaction in full."),
    "diff": ("look", "Compare the windows of two versions."),
    "blame": ("look", "Tell when an item entered and left the window, and why."),
    "report": ("look", "Write one page for the team on what a compaction dropped."),
    "search": ("look", "Search everything that was ever recorded."),
    "stats": ("look", "Show sizes and counts of the ledger or a session."),
    "rollback": ("undo", "Undo a compaction or eviction, or restore a version."),
    "fork": ("undo", "Go on from an earlier version in a session of its own."),
    "ingest": ("take", "Take in what an agent recorded: files or a pipe."),
    "export": ("take", "Write a session out again."),
    "verify": ("keep", "Prove that nothing was changed or cut off."),
    "head": ("keep", "Print the head to save for `verify --since`."),
    "redact": ("keep", "Remove contents for good: secrets, a pattern, an item."),
    "backup": ("keep", "Copy the ledger to a new file, checked, while it is in use."),
    "restore": ("keep", "Make a ledger of a backup."),
    "prune": ("keep", "Make room: a new ledger without what you name, or no caches."),
    "doctor": ("keep", "Say how the ledger is, and what to do about it."),
    "rebuild": ("keep", "Make indexes and snapshots anew from the events."),
    "completion": ("keep", "Print the script that teaches your shell to complete."),
}
TASKS = {"look": "Look", "undo": "Undo", "take": "Take in and out", "keep": "Keep"}

INTRODUCTION = """What an LLM agent had in its context window, at any moment, and how to undo
the step that lost something.

SESSION is a name, a title, the beginning of one, `@` (the one written to last, also when there is
no SESSION), or a file, which is read without a ledger. REF is a version (42), `head`, c1 e2 r1
call7, or @2026-11-30T14:00, with ^ or ~3 behind it for the changes before. An item is 42.1."""
EXIT_CODES = (
    (0, "done"),
    (1, "found something: quarantined records, problems, a difference; or nothing to find"),
    (2, "arguments or input that cannot be used"),
    (3, "the ledger cannot be read"),
    (4, "a conflict, or the ledger is busy"),
    (5, "disk full or failing"),
    (130, "interrupted"),
)
DISK_EXIT = 5
DEFECT_EXIT = 70
"""An exception that nobody expected; outside the contract on purpose."""


class ReaderGone(Exception):
    """Nobody reads stdout any more: `| head`, or a pager that was quit."""


class Program(click.Group):
    """The group: commands by name from the table, errors as two lines on stderr."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command that is called; while a shell asks for completion, a stand-in."""
        if cmd_name not in COMMANDS:
            return None
        if ctx.resilient_parsing:
            from .completing import CompletedCommand

            return CompletedCommand(cmd_name, partial(self.load_command, cmd_name))
        return self.load_command(cmd_name)

    @staticmethod
    def load_command(cmd_name: str) -> click.Command:
        """Import a command of the table."""
        module = import_module(f".commands.{cmd_name}", __package__)
        found = getattr(module, cmd_name, None) or getattr(module, f"{cmd_name}_")
        assert isinstance(found, click.Command), f"BUG: commands/{cmd_name}.py has no command"
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest commands when there is none of that name."""
        is_unknown = bool(args) and args[0] not in COMMANDS and not args[0].startswith("-")
        if is_unknown and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 3, 0.7)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands by task, and the exit codes."""
        for task, title in TASKS.items():
            with formatter.section(title):
                formatter.write_dl([(n, text) for n, (t, text) in COMMANDS.items() if t == task])
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), words) for code, words in EXIT_CODES])

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[click.shell_completion.CompletionItem[str]]:
        """Names from the table, which imports none of them; and the global options."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(n, help=t) for n, (_, t) in COMMANDS.items()
                 if n.startswith(incomplete)]  # fmt: skip
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command; click would end with 1 when the reader of stdout leaves early."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run, and end the process with the exit code of the contract."""
        extra["obj"] = extra.get("obj") or Context()

        def run() -> object:
            return super(Program, self).main(
                args, prog_name, complete_var, standalone_mode=False, **extra
            )

        if not standalone_mode:
            return run()
        sys.exit(exit_code_of(run, extra["obj"]))


def exit_code_of(run: Callable[[], object], context: Context) -> int:
    """Run a command, say what went wrong, and give the exit code."""
    try:
        ended = run()
        context.close()
    except click.exceptions.NoArgsIsHelpError as error:
        context.out.usage(error.format_message())
        return error.exit_code
    except click.ClickException as error:
        context.out.fail(" ".join(error.format_message().split()), _usage_hint(error))
        return error.exit_code
    except click.Abort as error:
        return 130 if isinstance(error.__cause__, KeyboardInterrupt) else 1
    except KeyboardInterrupt:
        return 130
    except (ReaderGone, BrokenPipeError):
        context.out.forget_stdout()
        return 0
    except Exception as error:  # noqa: BLE001 (the top of the program)
        context.close(is_failed=True)
        return _explain(error, context)
    finally:
        context.close(is_failed=True)
    return ended if isinstance(ended, int) and ended else context.exit_code


def _usage_hint(error: click.ClickException) -> str:
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"See `{error.ctx.command_path} --help`."
    return ""


def _explain(error: Exception, context: Context) -> int:
    """Say what went wrong and give the exit code; other people's exceptions are defects."""
    from ctxledger.ledger import LedgerError
    from ctxledger.ledger.plaintext import plain

    if isinstance(error, LedgerError):
        context.out.fail(error.message, error.hint)
        return error.exit_code
    if isinstance(error, OSError):  # ours are LedgerErrors; this is the output, or the system
        name = error.filename or "The output"
        context.out.fail(
            f"{name} cannot be read or written: {error.strerror or error}.",
            "Check the free space and the permissions.",
        )
        return DISK_EXIT
    import traceback

    sys.stderr.write(plain("".join(traceback.format_exception(error))))
    sys.stderr.write("ctxledger: this is a defect of the program; please report the lines above.\n")
    return DEFECT_EXIT


@click.group(
    cls=Program,
    name="ctxledger",
    help=INTRODUCTION,
    params=list(GLOBAL_OPTIONS),
    context_settings={"help_option_names": HELP_NAMES},
)
@click.version_option(None, "--version", package_name="ctxledger", message="%(prog)s %(version)s")
def cli() -> None:
    """Replaced by INTRODUCTION."""


def open_standard_streams() -> None:
    """Give a closed stdin, stdout or stderr the empty device.

    Otherwise the next file that is opened gets its descriptor: the ledger would be stdout.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def main() -> NoReturn:
    """The console script."""
    open_standard_streams()
    cli.main(prog_name="ctxledger")
    raise AssertionError("BUG: main came back")
