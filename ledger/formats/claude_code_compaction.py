"""Compactions of a Claude Code transcript: full ones, cleared results, replaced results.

Knows nothing about routing, responses or files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ..content import Block, label
from ..drafts import AnyDraft, AppendMessage, EvictResults, ImportCompaction
from .claude_code_conversation import Conversation, Node
from .claude_code_records import at_ms, count_of, mapping_of

CLEARED_RESULT = "[Old tool result content cleared]"
"""What the client puts in place of a cleared result; the transcript does not repeat it."""


class Boundary(Struct):
    """A compaction whose summary has not come yet."""

    node: Node
    meta: Mapping[str, Any]
    at_ms: int | None
    held: list[AppendMessage]
    held_nodes: list[Node]


def compaction(
    talk: Conversation, boundary: Boundary, summary: str, blocks: tuple[Block, ...]
) -> list[AnyDraft]:
    """Replace the window by the summary and what was kept; attachments that waited follow."""
    meta = boundary.meta
    kept, is_first = kept_messages(talk, meta, boundary.node.uuid)
    talk.compact(boundary.node.index, summary, kept, is_first=is_first)
    for node in boundary.held_nodes:
        talk.add(node.uuid, node.index)
    return [
        ImportCompaction(
            session=talk.name,
            at_ms=boundary.at_ms,
            message=summary,
            role="user",
            blocks=blocks,
            keep=kept,
            keep_first=is_first,
            trigger=label(meta.get("trigger")),
            tokens_before=count_of(meta.get("preTokens", meta.get("pre_tokens"))),
            tokens_after=count_of(meta.get("postTokens", meta.get("post_tokens"))),
        ),
        *boundary.held,
    ]


def cleared(talk: Conversation, value: Mapping[str, Any]) -> EvictResults:
    """Take a microcompaction: the results of the listed calls were cleared.

    Calls that this source never showed are left out; the clearing itself is told even so.
    """
    meta = mapping_of(value.get("microcompactMetadata"))
    listed = meta.get("compactedToolIds")
    named = map(label, listed if isinstance(listed, list) else ())
    saved = count_of(meta.get("tokensSaved"))
    return EvictResults(
        session=talk.name,
        at_ms=at_ms(value.get("timestamp")),
        tool_ids=tuple(tool_id for tool_id in named if tool_id in talk.answers),
        placeholder=CLEARED_RESULT,
        reason=label(meta.get("trigger")) or "microcompact",
        saved_tokens=saved,
        counter="" if saved is None else "provider",
        is_inferred=True,
    )


def replaced(talk: Conversation, value: Mapping[str, Any]) -> list[EvictResults]:
    """Take a `content-replacement`: large results were sent as the recorded shorter text."""
    listed = value.get("replacements")
    drafts: list[EvictResults] = []
    for part in map(mapping_of, listed if isinstance(listed, list) else ()):
        tool_id, text = label(part.get("toolUseId")), part.get("replacement")
        if tool_id in talk.answers and isinstance(text, str):
            drafts.append(
                EvictResults(
                    session=talk.name,
                    at_ms=at_ms(value.get("timestamp")),
                    tool_ids=(tool_id,),
                    placeholder=text,
                    reason="content_replacement",
                )
            )
    return drafts


def kept_messages(
    talk: Conversation, meta: Mapping[str, Any], boundary: str
) -> tuple[tuple[str, ...], bool]:
    """Read which messages a compaction kept verbatim.

    Returns: their ids in window order; whether they stand before the summary (they are anchored
    at the boundary itself, not at the summary).
    """
    listed = mapping_of(meta.get("preservedMessages") or meta.get("preserved_messages"))
    uuids = listed.get("uuids")
    if isinstance(uuids, list):
        wanted = {talk.message_of.get(label(uuid), "") for uuid in uuids}
        kept = tuple(message for message in talk.window if message in wanted)
        return kept, _anchor(listed) == boundary
    segment = mapping_of(meta.get("preservedSegment") or meta.get("preserved_segment"))
    head = talk.message_of.get(label(segment.get("headUuid") or segment.get("head_uuid")), "")
    tail = talk.message_of.get(label(segment.get("tailUuid") or segment.get("tail_uuid")), "")
    return talk.between(head, tail), _anchor(segment) == boundary


def _anchor(part: Mapping[str, Any]) -> str:
    return label(part.get("anchorUuid") or part.get("anchor_uuid"))
