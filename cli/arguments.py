"""Arguments of several commands: which is the session, which are references, items, handles.

The session may be left out: `diff c1` is `diff @ c1`. And the other way round: the words of a
command that a user can paste. Knows nothing about single commands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from ctxledger.ledger import BadInput

from .context import Context

_REFERENCE = re.compile(r"(@\d[^\^~]*|(c|e|r|p|call)?\d+|head)(\^|~\d+)*")
_ITEM = re.compile(r"\d+\.\d+")


def looks_like_reference(text: str) -> bool:
    """True for what can only be a version: 42, head~2, c1^, call7, @2026-11-30."""
    return _REFERENCE.fullmatch(text) is not None


def looks_like_item(text: str) -> bool:
    """True for `42.1`."""
    return _ITEM.fullmatch(text) is not None


def split_session(
    context: Context, arguments: Sequence[str], rest_max: int, *, are_items: bool = False
) -> tuple[str, tuple[str, ...]]:
    """Give (session, the rest) of arguments `[SESSION] REST...`.

    Args:
        rest_max: how many may follow the session; with one more than that, the first is it.
        are_items: the rest are items, not references.

    Returns:
        session "" = the newest. A file or an exact name is a session, whatever it looks like.

    Raises:
        BadInput: there are too many.
    """
    if len(arguments) > rest_max + 1:
        raise BadInput(
            f"There are too many arguments: {' '.join(arguments[rest_max + 1 :])}.",
            "See the command's --help.",
        )
    if not arguments:
        return "", ()
    first, *rest = arguments
    is_rest = looks_like_item(first) if are_items else looks_like_reference(first)
    if len(arguments) > rest_max or not is_rest or context.is_file(first):
        return first, tuple(rest)
    if context.has_session(first):
        return first, tuple(rest)
    return "", tuple(arguments)


def command_line(context: Context, *words: str) -> str:
    """A command that does it on the same ledger, ready to paste into a shell."""
    return with_ledger(context, shlex.join(("ctxledger", *words)))


def with_ledger(context: Context, command: str) -> str:
    """The same command on the same ledger; "" stays ""."""
    if not command or not context.given_db:
        return command
    return f"{command} --db {shlex.quote(context.given_db)}"
