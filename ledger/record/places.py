"""Where the agents of this machine keep their recordings, and which is the newest.

Looks at names, sizes and times; of a file that is shown, at its beginning and its end. Environment
and home are arguments. Knows nothing about ledgers and terminals; the texts are untrusted.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..formats.detect import FOLDS

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 16 * 1024
TITLE_CHARS_MAX = 80
SUBAGENT_START = "agent-"
"""Claude Code's subagents write files of their own beside that of their session."""
_CWD = re.compile(rb'"cwd" ?: ?("(?:[^"\\]|\\.)*")')
_BRANCH = re.compile(rb'"gitBranch" ?: ?("(?:[^"\\]|\\.)*")')
_SLASH_COMMAND = re.compile(r"<command-name>([^<]*)</command-name>")
_SLASH_ARGUMENTS = re.compile(r"<command-args>([^<]*)</command-args>")
_TITLE_FIELDS = ("customTitle", "aiTitle", "summary")


class Place(Struct, frozen=True):
    """A folder tree that an agent writes recordings into."""

    agent: str
    """The name of its format, as `detect` has it."""
    folder: Path
    start: str = ""
    """Of the names of its files."""

    @property
    def is_readable(self) -> bool:
        """Its format can be read."""
        return self.agent in FOLDS


class Recording(Struct, frozen=True):
    """One file, as the folder tells of it."""

    path: Path
    agent: str
    modified_ms: int
    bytes: int
    is_readable: bool


class Outline(Struct, frozen=True):
    """What the beginning and the end of a recording say; "" = nothing."""

    folder: str
    branch: str
    title: str
    """A title it was given, else the first line of what a person wrote."""
    has_conversation: bool
    """False for files that hold only bookkeeping."""


def places(environment: Mapping[str, str], home: Path) -> tuple[Place, ...]:
    """The folders to look in, whether they are there or not.

    Source: Claude Code and Codex document CLAUDE_CONFIG_DIR and CODEX_HOME, which replace
    ~/.claude and ~/.codex; some versions of Claude Code used ~/.config/claude.
    """
    named = environment.get("CLAUDE_CONFIG_DIR", "")
    claude = [Path(named)] if named else [home / ".claude", home / ".config" / "claude"]
    codex = Path(environment.get("CODEX_HOME", "") or home / ".codex")
    return (
        *(Place("claude-code", folder / "projects") for folder in claude),
        Place("codex", codex / "sessions", "rollout-"),
    )


def recordings(where: Iterable[Place]) -> list[Recording]:
    """All recordings of main sessions, the newest first. Reads no file."""
    found = [recording for place in where for recording in _in_place(place)]
    return sorted(found, key=lambda one: (-one.modified_ms, str(one.path)))


def _in_place(place: Place) -> Iterator[Recording]:
    for folder, _, names in os.walk(place.folder):
        for name in names:
            if not name.endswith(".jsonl") or not name.startswith(place.start):
                continue
            if name.startswith(SUBAGENT_START):
                continue
            path = Path(folder, name)
            try:
                found = path.stat()
            except OSError:
                continue  # gone meanwhile, or a link to nowhere
            if stat.S_ISREG(found.st_mode) and found.st_size:
                modified_ms = found.st_mtime_ns // 1_000_000
                yield Recording(path, place.agent, modified_ms, found.st_size, place.is_readable)


def newest(found: Iterable[Recording]) -> Recording | None:
    """The first that can be read and holds a conversation, of recordings newest first."""
    for recording in found:
        if recording.is_readable:
            told = outline(recording)
            if told is not None and told.has_conversation:
                return recording
    return None


def outline(recording: Recording) -> Outline | None:
    """What a recording is about; None when it may not be read."""
    try:
        with recording.path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            file.seek(max(0, recording.bytes - TAIL_BYTES))
            tail = file.read(TAIL_BYTES)
    except OSError:
        return None
    lines = list(_objects(head))
    titles = [title for line in (*lines, *_objects(tail)) if (title := _title(line))]
    prompts = (prompt for line in lines if (prompt := _prompt(line)))
    title = titles[-1] if titles else next(prompts, "")
    is_whole = len(head) >= recording.bytes
    return Outline(
        folder=_field(_CWD, head),
        branch=_field(_BRANCH, head),
        title=" ".join(title.split())[:TITLE_CHARS_MAX],
        has_conversation=not is_whole
        or any(line.get("type") in ("user", "assistant", "response_item") for line in lines),
    )


def _objects(data: bytes) -> Iterator[dict[str, Any]]:
    """The whole lines that are objects; the first and the last may be cut."""
    for line in data.splitlines():
        try:
            value = json.loads(line)  # takes lone surrogates, which agents write
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _field(pattern: re.Pattern[bytes], head: bytes) -> str:
    match = pattern.search(head)
    if match is None:
        return ""
    try:
        return str(json.loads(match[1]))
    except ValueError:
        return ""


def _title(line: Mapping[str, Any]) -> str:
    for name in _TITLE_FIELDS:
        value = line.get(name)
        if isinstance(value, str) and value.strip() and line.get("type") != "user":
            return value
    return ""


def _prompt(line: Mapping[str, Any]) -> str:
    """What a person typed, "" for all else that has the role of the user."""
    message = line.get("message")
    if line.get("type") != "user" or line.get("isMeta") or not isinstance(message, dict):
        return ""
    content = message.get("content")
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        content = next((text for text in texts if isinstance(text, str)), "")
    if not isinstance(content, str):
        return ""
    if not content.lstrip().startswith("<"):
        return content
    parts = (_SLASH_COMMAND.search(content), _SLASH_ARGUMENTS.search(content))
    return " ".join(part[1] for part in parts if part is not None and parts[0] is not None)
