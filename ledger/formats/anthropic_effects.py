"""What an answer says about a call: usage, outcome, and what the provider left out itself.

Knows nothing about sessions or how the call was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from ..content import CALL_TYPES, Block, is_result
from ..drafts import Usage
from ..render.recorded import SplitMessage
from .anthropic_sse import Streamed

Outcome = Literal["ok", "error", "refused", "cut_off", "overflow", "unknown"]

KEEP_TOOL_USES = 3
"""Tool uses that `clear_tool_uses_20250919` keeps when the request does not say."""

_TOO_LONG = re.compile(
    r"prompt is too long|exceeds? (the )?(maximum )?context|context (window|limit)", re.IGNORECASE
)
_OUTCOME_OF_STOP: dict[str, Outcome] = {
    "refusal": "refused",
    "max_tokens": "cut_off",
    "model_context_window_exceeded": "overflow",
}


def usage_from(raw: object) -> Usage | None:
    """Read a `usage` object; None when there is none."""
    if not isinstance(raw, dict):
        return None
    kind, written = raw.get("type"), raw.get("cache_creation")
    return Usage(
        input_tokens=_count(raw.get("input_tokens")),
        cache_read_tokens=_count(raw.get("cache_read_input_tokens")),
        cache_write_tokens=_count(raw.get("cache_creation_input_tokens")),
        cache_write_1h_tokens=_count(
            written.get("ephemeral_1h_input_tokens") if isinstance(written, dict) else None
        ),
        output_tokens=_count(raw.get("output_tokens")),
        kind=kind if isinstance(kind, str) else "",
    )


def iterations_from(raw: object) -> tuple[Usage, ...]:
    """The `usage.iterations`: a compaction inside the call is one of its own."""
    listed = raw.get("iterations") if isinstance(raw, dict) else None
    found = (usage_from(entry) for entry in (listed if isinstance(listed, list) else ()))
    return tuple(usage for usage in found if usage is not None)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def outcome_of(answer: Streamed | None, status: int) -> Outcome:
    """How the call ended. `cut_off`: the stream broke, or the output limit was reached."""
    if answer is None:
        return "error" if status >= 400 else "unknown"
    if answer.error or status >= 400:
        return "overflow" if _TOO_LONG.search(answer.error) else "error"
    if not answer.is_complete:
        return "cut_off"
    return _OUTCOME_OF_STOP.get(str(answer.body.get("stop_reason")), "ok")


def applied_edits(answer: Streamed | None) -> list[dict[str, Any]]:
    """The provider-side edits that the answer reports."""
    management = answer.body.get("context_management") if answer is not None else None
    edits = management.get("applied_edits") if isinstance(management, dict) else None
    return [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []


def compaction_place(messages: Sequence[SplitMessage]) -> tuple[int, int] | None:
    """The last sent compaction block, (message, block): the server drops all before it.

    A block without content is a failed compaction; the server ignores it.
    """
    for index in range(len(messages) - 1, -1, -1):
        blocks = messages[index].blocks
        for place in range(len(blocks) - 1, -1, -1):
            if blocks[place].type == "compaction" and blocks[place].text:
                return index, place
    return None


def cleared_tool_ids(
    body: Mapping[str, Any], messages: Sequence[SplitMessage], answer: Streamed | None
) -> tuple[str, ...]:
    """The tool uses that the provider cleared: only their number is reported.

    The oldest are inferred, as documented: excluded tools and the last `keep` uses stay.
    """
    count = sum(
        _count(edit.get("cleared_tool_uses")) or 0
        for edit in applied_edits(answer)
        if str(edit.get("type", "")).startswith("clear_tool_uses")
    )
    if not count:
        return ()
    request = _clearing_edit(body)
    excluded = request.get("exclude_tools")
    names = (
        [name for name in excluded if isinstance(name, str)] if isinstance(excluded, list) else []
    )
    keep = request.get("keep")
    keep_count = _count(keep.get("value")) if isinstance(keep, dict) else None
    answered = [call for call in _answered_calls(messages) if call.tool_name not in names]
    kept = KEEP_TOOL_USES if keep_count is None else keep_count
    clearable = answered[: max(len(answered) - kept, 0)]
    return tuple(call.tool_id for call in clearable[:count])


def _clearing_edit(body: Mapping[str, Any]) -> dict[str, Any]:
    management = body.get("context_management")
    edits = management.get("edits") if isinstance(management, dict) else None
    for edit in edits if isinstance(edits, list) else ():
        if isinstance(edit, dict) and str(edit.get("type", "")).startswith("clear_tool_uses"):
            return edit
    return {}


def _answered_calls(messages: Sequence[SplitMessage]) -> Iterator[Block]:
    blocks = [block for message in messages for block in message.blocks]
    answered = {block.tool_id for block in blocks if is_result(block.type)}
    for block in blocks:
        if block.type in CALL_TYPES and block.tool_id in answered:
            yield block
