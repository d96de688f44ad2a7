"""What the entries of a window are about: rules, files, commands, errors, todos, or other.

A call and its result belong together: the result of reading a file is about that file. Pure:
entries in, groups and one-line subjects out. Knows nothing about storage and terminals; subjects
are untrusted text (`plaintext.plain` before they reach a terminal).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct

from ..content import CALL_TYPES, Block, is_result
from .contents import ViewEntry

Group = Literal["rules", "files", "commands", "errors", "todos", "other"]
GROUPS: tuple[Group, ...] = ("rules", "files", "commands", "errors", "todos", "other")

TODO_TOOLS = frozenset(
    {"todowrite", "todoread", "taskcreate", "taskupdate", "tasklist", "taskget", "update_plan",
     "exitplanmode", "enterplanmode", "write_todos"}
)  # fmt: skip
COMMAND_TOOLS = frozenset(
    {"bash", "bashoutput", "killshell", "shell", "exec_command", "local_shell", "execute_bash",
     "run_shell_command", "execute_command", "run_terminal_cmd", "powershell"}
)  # fmt: skip
_PATH_FIELDS = ("file_path", "notebook_path", "path", "filename", "absolute_path")
_COMMAND_FIELDS = ("command", "cmd", "script")
_REFUSED = "the user said:\n"
_SLASH_COMMAND = re.compile(r"<command-name>(?P<name>[^<]*)</command-name>")
_SLASH_ARGUMENTS = re.compile(r"<command-args>(?P<args>[^<]*)</command-args>")
SUBJECT_CHARS_MAX = 2000


class About(Struct, frozen=True):
    """What one entry is about."""

    group: Group
    subject: str
    """One line for a person, such as `Edit src/auth.py`; not shortened to any width."""
    path: str = ""
    """The file it is about, relative to the project folder where it lies inside."""


class _Call(Struct, frozen=True):
    name: str
    path: str
    command: str
    pattern: str
    todos: int


def describe(
    entries: Sequence[ViewEntry], folder: str = "", others: Sequence[ViewEntry] = ()
) -> dict[str, About]:
    """Say what each entry is about, by entry key.

    Args:
        folder: the project folder, which paths inside are shown relative to.
        others: entries among which results find their calls too, by tool id.
    """
    calls = {
        e.block.tool_id: _call_of(e.block, folder)
        for e in (*others, *entries)
        if e.type in CALL_TYPES and e.block.tool_id
    }
    return {e.key: _about(e, calls, folder) for e in entries}


def said_by_user(result: str) -> str:
    """What the user said when refusing a tool call, as its result quotes it; "" if nothing."""
    return result.partition(_REFUSED)[2]


def _about(entry: ViewEntry, calls: Mapping[str, _Call], folder: str) -> About:
    block = entry.block
    if entry.form == "brief" or entry.origin == "summary":
        return About("other", f"brief: {_start(entry.text)}")
    if entry.type in CALL_TYPES:
        call = _call_of(block, folder)
        return About(_group_of(call), _call_subject(call), call.path)
    if is_result(entry.type):
        return _about_result(entry, calls.get(block.tool_id, _Call("", "", "", "", 0)), folder)
    if entry.type == "text" and entry.origin == "human":
        return About("rules", _human_subject(entry.text))
    if entry.role in ("system", "tools"):
        return About("other", f"{entry.role}: {block.tool_name or _start(entry.text)}")
    if entry.type in ("image", "document"):
        return About("other", f"{entry.type} ({len(block.text):,} characters)")
    kind = entry.origin if entry.type == "text" else entry.type
    return About("other", f"{kind}: {_start(entry.text)}")


def _about_result(entry: ViewEntry, call: _Call, folder: str) -> About:
    meta = _object(entry.block.meta)
    path = call.path or _relative(_text(meta, ("path",)), folder)
    words = _start(entry.text)
    exit_code = meta.get("exit_code")
    if entry.block.is_error or (isinstance(exit_code, int) and exit_code != 0):
        said = said_by_user(entry.text)
        subject = f"refused by the user: {_start(said)}" if said else words
        return About("errors", subject or "(no text)", path)
    group = _group_of(call) if call.name or not path else "files"
    if entry.form != "verbatim":
        return About(group, f"{call.name or 'result'} result: {words}", path)
    if path:
        lines = entry.text.count("\n") + 1
        return About(group, f"{call.name or 'result'} result {path} ({lines:,} lines)", path)
    return About(group, f"{call.name or 'result'} result: {words}")


def _group_of(call: _Call) -> Group:
    name = call.name.lower()
    if name in TODO_TOOLS:
        return "todos"
    if name in COMMAND_TOOLS:
        return "commands"
    if call.path:
        return "files"
    return "commands" if call.command else "other"


def _call_of(block: Block, folder: str) -> _Call:
    fields = _object(block.text) if block.is_json else {}
    path = _relative(_text(fields, _PATH_FIELDS), folder)
    todos = next((len(v) for v in fields.values() if isinstance(v, list)), 0)
    return _Call(
        block.tool_name or block.type,
        path,
        _text(fields, _COMMAND_FIELDS),
        _text(fields, ("pattern", "query", "prompt", "description", "subject", "url")),
        todos,
    )


def _call_subject(call: _Call) -> str:
    name = call.name.lower()
    if name in COMMAND_TOOLS and call.command:
        return f"$ {_start(call.command)}"
    if name in TODO_TOOLS:
        what = f"{call.todos} entries" if call.todos else _start(call.pattern)
        return f"{call.name} {what}".rstrip()
    parts = [call.name, _start(call.pattern if call.path or not call.command else call.command)]
    return " ".join([*(part for part in parts if part), *([call.path] if call.path else [])])


def _human_subject(text: str) -> str:
    found = _SLASH_COMMAND.search(text) if text.lstrip().startswith("<command-") else None
    if found is None:
        return _start(text)
    arguments = _SLASH_ARGUMENTS.search(text)
    return f"{found['name'].strip()} {arguments['args'] if arguments else ''}".strip()


def _start(text: str) -> str:
    return " ".join(text[:SUBJECT_CHARS_MAX].split())


def _object(text: str) -> dict[str, object]:
    if not text:
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(fields: Mapping[str, object], names: Iterable[str]) -> str:
    for name in names:
        value = fields.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            return " ".join(str(part) for part in value)
    return ""


def _relative(path: str, folder: str) -> str:
    if not path or not folder:
        return path
    try:
        return str(PurePosixPath(path).relative_to(folder))
    except ValueError:
        return path
