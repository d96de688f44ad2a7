"""`ctxledger completion`: the script that teaches a shell to complete."""

from __future__ import annotations

import click

from ctxledger.ledger import BadInput

from ..completing import WORD_COMMANDS
from ..context import Context
from ..options import command

PROGRAM = "ctxledger"
VARIABLE = "_CTXLEDGER_COMPLETE"
EXAMPLES = """
ctxledger completion bash > completions/ctxledger    # in $XDG_DATA_HOME/bash-completion
ctxledger completion zsh > _ctxledger                # in a folder of your fpath
ctxledger completion fish > ctxledger.fish           # in ~/.config/fish/completions
ctxledger completion powershell > ctxledger.ps1      # which your $PROFILE runs
"""


@command(EXAMPLES)
@click.argument("shell", type=click.Choice(WORD_COMMANDS["completion"]))
@click.pass_obj
def completion(context: Context, shell: str) -> None:
    """Print the script that completes commands, options, sessions and references.

    For this shell only, in bash or zsh: eval "$(ctxledger completion bash)".
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from ..main import cli

    found = get_completion_class(shell)
    if found is None:
        raise BadInput(
            f"The installed click writes no completion for {shell}.",
            "Upgrade it: `pip install 'click>=8.5'`.",
        )
    # not found.source(): that of bash starts the bash of this PATH to look at its version
    script = ShellComplete.source(found(cli, {}, PROGRAM, VARIABLE))
    if context.out.is_json:
        context.out.json({"shell": shell, "script": script})
        return
    context.out.line(script.rstrip("\n"))
