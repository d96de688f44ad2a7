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
ctxledger completion bash > ~/.local/share/bash-completion/completions/ctxledger
ctxledger completion zsh > ~/.zfunc/_ctxledger      # with ~/.zfunc in your fpath
ctxledger completion fish > ~/.config/fish/completions/ctxledger.fish
ctxledger completion powershell >> $PROFILE
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
