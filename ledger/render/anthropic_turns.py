"""The messages of a request while they are being repaired: turns of parts.

A part is one block with the item it came from; a turn is one message to be. Knows nothing about
pairing, thinking or limits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from ..content import Block, block_value, from_json, to_json
from .anthropic_table import MessagesRules, is_server_result
from .base import Placed, Repair

_ASSISTANT_ROLES = frozenset({"assistant", "model"})
_USER_ONLY = frozenset({"tool_result"})
_ASSISTANT_ONLY = frozenset(
    {"tool_use", "server_tool_use", "mcp_tool_use", "thinking", "redacted_thinking", "compaction"}
)


class Part:
    """One block to be sent."""

    def __init__(self, value: dict[str, Any], item: str = "", form: str = "verbatim",
                 meta: str = "") -> None:  # fmt: skip
        self.value, self.item, self.form = value, item, form
        self.meta: dict[str, Any] = from_json(meta) if meta else {}

    @property
    def kind(self) -> str:
        """The block's type."""
        return str(self.value.get("type"))


class Turn:
    """One message to be sent."""

    def __init__(self, role: str, parts: list[Part]) -> None:
        self.role, self.parts = role, parts
        self.is_cut = False
        """A block of it was left out, so its thinking may not stay."""
        self.is_lone = False
        """It is a message of one block, which may be written as a string."""

    def leave_out(self, part: Part) -> None:
        """Take a part out."""
        self.parts.remove(part)
        self.is_cut = True

    @property
    def message(self) -> dict[str, Any]:
        """The message as sent; one plain text block is written as a string."""
        values = [part.value for part in self.parts]
        if self.is_lone and len(values) == 1 and values[0].keys() == {"type", "text"}:
            return {"role": self.role, "content": values[0]["text"]}
        return {"role": self.role, "content": values}


def turns_from(placed: Sequence[Placed], rules: MessagesRules, repairs: list[Repair]) -> list[Turn]:
    """Window entries (without tools and system) as turns of alternating roles, none empty."""
    turns: list[Turn] = []
    for (_, role), group in groupby(placed, lambda entry: (entry.message, entry.role)):
        entries = list(group)
        for entry in entries:
            part = _part_from(entry, rules, repairs)
            if part is not None:
                turns.append(Turn(_role_of(role, part, rules), [part]))
                turns[-1].is_lone = len(entries) == 1
    _note_merges(placed, repairs)
    return merged(turns)


def merged(turns: Sequence[Turn]) -> list[Turn]:
    """Drop empty turns and join neighbours of one role."""
    out: list[Turn] = []
    for turn in turns:
        if not turn.parts:
            continue
        if out and out[-1].role == turn.role:
            out[-1].parts += turn.parts
            out[-1].is_lone = False
            out[-1].is_cut |= turn.is_cut
        else:
            out.append(turn)
    return out


def compactions_as_text(
    turns: Sequence[Turn], given: Mapping[str, Any], repairs: list[Repair]
) -> None:
    """Send the provider's compaction blocks as text where the request does not ask for any."""
    management = given.get("context_management")
    edits = management.get("edits") if isinstance(management, dict) else None
    for edit in edits if isinstance(edits, list) else ():
        if isinstance(edit, dict) and str(edit.get("type", "")).startswith("compact_"):
            return
    for turn in turns:
        for part in [part for part in turn.parts if part.kind == "compaction"]:
            text = part.value.get("content")
            if isinstance(text, str) and text.strip():
                part.value = {"type": "text", "text": text}
            else:
                turn.parts.remove(part)
            detail = "The request asks for no compaction, so its summary is sent as text."
            repairs.append(Repair("compaction_as_text", part.item, detail))


def _note_merges(placed: Sequence[Placed], repairs: list[Repair]) -> None:
    before: Placed | None = None
    for entry in placed:
        is_next = before is not None and before.message != entry.message
        if before is not None and is_next and before.role == entry.role:
            detail = f"Neighbouring {entry.role} messages are sent as one."
            repairs.append(Repair("merged_messages", entry.item, detail))
        before = entry


def _role_of(role: str, part: Part, rules: MessagesRules) -> str:
    if part.kind in _USER_ONLY:
        return "user"
    if part.kind in _ASSISTANT_ONLY or is_server_result(part.kind):
        return "assistant"
    is_assistant = role in _ASSISTANT_ROLES and part.kind in rules.assistant_types
    return "assistant" if is_assistant else "user"


def _part_from(entry: Placed, rules: MessagesRules, repairs: list[Repair]) -> Part | None:
    value = sendable(entry.block, entry.item, repairs)
    kind = str(value.get("type"))
    known = kind in rules.user_types or kind in rules.assistant_types or is_server_result(kind)
    if not known or entry.form == "opaque":
        repairs.append(Repair("unknown_block", entry.item, "The API has no such block; left out."))
        return None
    if kind == "text" and not str(value.get("text", "")).strip():
        repairs.append(Repair("empty_text", entry.item, "Text without a word is left out."))
        return None
    return Part(value, entry.item, entry.form, entry.block.meta)


def sendable(block: Block, item: str, repairs: list[Repair]) -> dict[str, Any]:
    """A block's value; a result's content becomes a string or a list of non-empty parts."""
    value = block_value(block)
    if value.get("type") != "tool_result":
        return value
    content = value.get("content")
    if content is None or isinstance(content, str):
        return {k: v for k, v in value.items() if k != "content" or v is not None}
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        repairs.append(Repair("result_as_text", item, "A result of other shape is sent as text."))
        return {**value, "content": to_json(content)}
    kept = [part for part in content if part.get("type") != "text" or _has_words(part)]
    if len(kept) < len(content):
        repairs.append(Repair("empty_text", item, "Text without a word is left out of a result."))
    return {**value, "content": kept}


def _has_words(part: dict[str, Any]) -> bool:
    return bool(str(part.get("text", "")).strip())


def safe_name(name: object, pattern: str, fallback: str) -> str:
    """A name that the API accepts, as close to `name` as possible."""
    if isinstance(name, str) and re.fullmatch(pattern, name):
        return name
    cleaned = re.sub(r"[^a-zA-Z0-9_-]", "_", str(name or ""))[:64].strip("_")
    return cleaned or fallback
