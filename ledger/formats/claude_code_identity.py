"""Which records of Claude Code transcripts are one and the same, and a subagent's inside others.

One message can come twice: copied into a session that was resumed from another, or both in an
`agent-*.jsonl` and inside a `progress` record of the parent. Knows nothing about sessions,
branches or files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..content import digest_of, label
from .claude_code_records import mapping_of, text_of

# What an embedded message of a subagent takes from the progress record around it.
_INHERITED_FIELDS = ("timestamp", "sessionId", "cwd", "gitBranch")
_MESSAGE_TYPES = ("user", "assistant")


def record_digest(data: bytes, value: Mapping[str, Any]) -> int:
    """Digest of a record, the same for its copy in a session that was resumed from this one."""
    session = text_of(value.get("sessionId")).encode("utf-8", "surrogatepass")
    return hash((data.replace(b'"%b"' % session, b"") if session else data).rstrip())


def agent_message(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Find the one message of a subagent in a record: the record itself, or embedded in it."""
    kind = value.get("type")
    if kind in _MESSAGE_TYPES:
        return value if label(value.get("agentId")) else None
    data = mapping_of(value.get("data")) if kind == "progress" else {}
    inner = mapping_of(data.get("message")) if data.get("type") == "agent_progress" else {}
    return inner if label(inner.get("uuid")) else None


def message_content(value: Mapping[str, Any]) -> bytes:
    """Digest of what a message says, however its record wraps it; its usage grows, so apart."""
    message = mapping_of(value.get("message"))
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return digest_of([value.get("type"), message.get("id"), content])


def agent_rows(value: Mapping[str, Any], uuid: str, *, is_new: bool) -> Iterator[dict[str, Any]]:
    """Give the messages inside an `agent_progress` record as records of their own.

    Args:
        uuid: of the record around them; those without one are named by it.
        is_new: the first of this subagent: its task comes first if no message holds it.
    """
    data = mapping_of(value.get("data"))
    agent = label(data.get("agentId"))
    listed = data.get("normalizedMessages")
    parts = [data["message"]] if isinstance(data.get("message"), dict) else listed
    rows = [mapping_of(part) for part in parts] if isinstance(parts, list) else []
    base: dict[str, Any] = {name: value[name] for name in _INHERITED_FIELDS if name in value}
    base |= {"agentId": agent, "isSidechain": True}
    task = text_of(data.get("prompt"))
    if is_new and task and not (rows and rows[0].get("type") == "user"):
        message = {"role": "user", "content": task}
        yield {**base, "type": "user", "uuid": f"agent-{agent}.task", "message": message}
    for place, row in enumerate(rows):
        inner = {**base, "uuid": f"{uuid}.{place}", **row}
        inner.pop("parentUuid", None)
        if inner.get("type") in _MESSAGE_TYPES:
            yield inner
