"""Attachment and local-command records: what the harness slipped into the conversation.

Claude Code 2.1 writes them as records of their own. The model saw a wording made from them,
mostly inside `<system-reminder>`; where the record holds that wording (`rendered`) it is taken,
else the attachment's own text or fields stand for it and the block's meta says which kind it is.
Knows nothing about sessions or branches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..content import Block, Origin, label, to_json
from .claude_code_records import mapping_of, origin_of_text, text_of, user_blocks

# Kinds that the client keeps for itself: no request ever carries them.
_NEVER_SENT = frozenset(
    {
        "already_read_file",
        "command_permissions",
        "dynamic_skill",
        "edited_image_file",
        "hook_cancelled",
        "hook_error_during_execution",
        "hook_non_blocking_error",
        "hook_permission_decision",
        "hook_system_message",
        "max_turns_reached",
        "structured_output",
    }
)
# A hook's plain output is sent for these events only.
_HOOK_EVENTS_SENT = frozenset({"SessionStart", "UserPromptSubmit"})
_TEXT_FIELDS = ("prompt", "content", "snippet", "text", "message")


def attachment_blocks(value: Mapping[str, Any]) -> tuple[Block, ...]:
    """Give the blocks an attachment record put before the model; () = it saw nothing of it."""
    attachment = mapping_of(value.get("attachment"))
    kind = text_of(attachment.get("type"))
    if not kind or kind in _NEVER_SENT or _is_silent_hook(kind, attachment):
        return ()
    origin = _origin(kind, attachment)
    meta = to_json({"attachment": label(kind)})
    rendered = _rendered(value.get("rendered"), origin, meta)
    if rendered:
        return rendered
    for name in _TEXT_FIELDS:
        content = attachment.get(name)
        if content and (isinstance(content, str) or name == "prompt"):
            blocks = user_blocks(content, origin, meta=meta)
            if blocks:
                return blocks
    fields = {name: field for name, field in attachment.items() if name != "type"}
    if not fields:
        return ()
    return (Block(type="text", text=_text_of_fields(fields), origin=origin, meta=meta),)


def _is_silent_hook(kind: str, attachment: Mapping[str, Any]) -> bool:
    if kind != "hook_success":
        return False
    return attachment.get("hookEvent") not in _HOOK_EVENTS_SENT or not attachment.get("content")


def _origin(kind: str, attachment: Mapping[str, Any]) -> Origin:
    if kind.startswith(("hook_", "async_hook_")):
        return "hook"
    if kind != "queued_command":
        return "harness"
    sender = mapping_of(attachment.get("origin")).get("kind", "human")
    is_typed = attachment.get("commandMode") != "task-notification" and sender == "human"
    return "human" if is_typed else "harness"


def _rendered(parts: object, origin: Origin, meta: str) -> tuple[Block, ...]:
    """Read the recorded wording: a list of `{content}`, each a string or a list of blocks."""
    if not isinstance(parts, list):
        return ()
    blocks: list[Block] = []
    for part in parts:
        found = user_blocks(mapping_of(part).get("content"), origin, meta=meta)
        if not found:
            return ()
        blocks.extend(_with_origin(block, origin) for block in found)
    return tuple(blocks)


def _with_origin(block: Block, origin: Origin) -> Block:
    """A queued prompt comes wrapped as a reminder; the words in it stay the person's."""
    if origin != "human" or block.origin == "human":
        return block
    return Block(
        type=block.type,
        text=block.text,
        is_json=block.is_json,
        origin="human",
        rest=block.rest,
        meta=block.meta,
    )


def _text_of_fields(fields: Mapping[str, Any]) -> str:
    lines = fields.get("content")
    if isinstance(lines, list) and lines and all(isinstance(line, str) for line in lines):
        return "\n".join(lines)
    error = mapping_of(fields.get("blockingError")).get("blockingError")
    return error if isinstance(error, str) and error else to_json(fields)


def local_command_blocks(value: Mapping[str, Any]) -> tuple[Block, ...]:
    """Give the block of a `system/local_command` record: sent like the user records before 2.1."""
    content = value.get("content")
    if not isinstance(content, str) or not content:
        return ()
    return (Block(type="text", text=content, origin=origin_of_text(content, "human")),)
