"""What an answer says: its messages, usage, how the call ended.

Knows nothing about sessions or how the call was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ..content import label
from ..drafts import Usage
from ..render.openai_chat import Piece, piece_of_message
from ..render.openai_items import piece_of_item
from .anthropic_effects import Outcome
from .anthropic_sse import Streamed

Json = dict[str, Any]

_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|context window|too many tokens"
    r"|string_above_max_length",
    re.IGNORECASE,
)
_OUTCOME_OF_FINISH: dict[str, Outcome] = {"length": "cut_off", "content_filter": "refused"}
_OUTCOME_OF_STATUS: dict[str, Outcome] = {
    "failed": "error",
    "cancelled": "error",
    "incomplete": "cut_off",
    "queued": "unknown",
    "in_progress": "unknown",
}


class Said(Struct, frozen=True):
    """One message of an answer, or one item."""

    piece: Piece
    name: str
    """Its own id, "" when it has none."""


def said_in(answer: Streamed) -> list[Said]:
    """The messages of an answer; of several choices the first: which one was used shows later."""
    body = answer.body
    if isinstance(body.get("output"), list):
        return [_item(raw) for raw in body["output"]]
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        return []
    # Clients send their answers back without the fields that hold nothing.
    kept = {k: v for k, v in message.items() if k == "content" or v not in (None, [], {})}
    if kept.get("tool_calls") and not kept.get("content"):
        kept.pop("content", None)
    kept.setdefault("role", "assistant")
    return [Said(piece_of_message(kept), label(body.get("id")))]


def _item(raw: object) -> Said:
    name = raw.get("id") if isinstance(raw, dict) else None
    return Said(piece_of_item(raw), label(name) if isinstance(name, str) else "")


def is_compaction(answer: Streamed | None) -> bool:
    """True for the answer of `responses/compact`: a new window, not something said."""
    return answer is not None and answer.body.get("object") == "response.compaction"


def model_of(body: Mapping[str, Any] | None) -> str:
    """The model that a body names."""
    model = body.get("model") if body is not None else None
    return model if isinstance(model, str) else ""


def stop_reason_of(answer: Streamed | None) -> str:
    """`finish_reason` of a chat, the status of a response, with its reason."""
    body: Mapping[str, Any] = answer.body if answer is not None else {}
    choices = body.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return label(choices[0].get("finish_reason"))
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return label(reason or body.get("status"))


def outcome_of(answer: Streamed | None, status: int) -> Outcome:
    """How the call ended. `cut_off`: the stream broke, or the output limit was reached."""
    if answer is None:
        return "error" if status >= 400 else "unknown"
    error = answer.error
    failed = answer.body.get("error")
    if isinstance(failed, dict):
        error = f"{error} {failed.get('code')} {failed.get('message')}"
    if error or status >= 400:
        return "overflow" if _TOO_LONG.search(error) else "error"
    if not answer.is_complete:
        return "cut_off"
    reason = stop_reason_of(answer)
    if reason in _OUTCOME_OF_FINISH:
        return _OUTCOME_OF_FINISH[reason]
    by_status = _OUTCOME_OF_STATUS.get(str(answer.body.get("status")))
    if by_status is not None:
        return by_status
    return "refused" if _has_refusal(answer.body) else "ok"


def _has_refusal(body: Mapping[str, Any]) -> bool:
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return isinstance(message, dict) and bool(message.get("refusal"))


def usage_of(body: Mapping[str, Any]) -> Usage | None:
    """Read `usage`; the prompt includes what was read from the cache. None when there is none."""
    raw = body.get("usage")
    if not isinstance(raw, dict):
        return None
    is_chat = "prompt_tokens" in raw
    total = _count(raw.get("prompt_tokens" if is_chat else "input_tokens"))
    details = raw.get("prompt_tokens_details" if is_chat else "input_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    if cached is None:
        cached = _count(raw.get("prompt_cache_hit_tokens"))
    uncached = None if total is None else max(total - (cached or 0), 0)
    return Usage(
        input_tokens=uncached,
        cache_read_tokens=cached,
        output_tokens=_count(raw.get("completion_tokens" if is_chat else "output_tokens")),
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
