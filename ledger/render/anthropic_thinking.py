"""Which signed thinking may be sent again.

Thinking is sent byte for byte or not at all, and a turn keeps all of it or none. Knows nothing
about calls, images or marks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .anthropic_table import MessagesRules
from .anthropic_turns import Part, Turn, merged
from .base import Repair

_THINKING = frozenset({"thinking", "redacted_thinking"})
_SYNTHETIC_FORMS = frozenset({"brief", "state"})
_MODEL = re.compile(r"claude-[a-z0-9.-]+")
_MODEL_TAIL = re.compile(r"(-\d{8}|-latest|-0|-v\d+|@\d{8})+$")


def settle_thinking(
    turns: Sequence[Turn], model: str, rules: MessagesRules, repairs: list[Repair]
) -> list[Turn]:
    """Leave out the thinking that the model would refuse; gives turns of alternating roles."""
    newest_text = 0
    for turn in turns:
        for part in turn.parts:
            if part.form in _SYNTHETIC_FORMS:
                newest_text = max(newest_text, version_of(part.item))
        reason = _reason_against(turn, model, newest_text, rules)
        if reason:
            for part in [part for part in turn.parts if part.kind in _THINKING]:
                turn.parts.remove(part)
                repairs.append(Repair("thinking_left_out", part.item, reason))
    return merged(turns)


def _reason_against(turn: Turn, model: str, newest_text: int, rules: MessagesRules) -> str:
    thinking = [part for part in turn.parts if part.kind in _THINKING]
    if not thinking:
        return ""
    if turn.is_cut:
        return "Another block of its turn is left out."
    if not all(_is_signed(part, rules) for part in thinking):
        return "It has no signature of this provider."
    if rules.thinking_is_model_bound and any(_is_foreign(part, model) for part in thinking):
        return "Another model signed it."
    if rules.thinking_is_prefix_bound and any(version_of(p.item) < newest_text for p in thinking):
        return "It was signed before the brief or state text that now stands in front of it."
    if turn.parts[-1].kind in _THINKING:
        return "A message may not end with thinking."
    return ""


def _is_signed(part: Part, rules: MessagesRules) -> bool:
    if part.form not in ("verbatim", "reinjected"):
        return False
    field = "signature" if part.kind == "thinking" else "data"
    signature = part.value.get(field)
    return isinstance(signature, str) and signature not in rules.not_signatures


def _is_foreign(part: Part, model: str) -> bool:
    signed_by = part.meta.get("model")
    if not isinstance(signed_by, str) or not signed_by:
        return False
    return _family(signed_by) != _family(model)


def _family(model: str) -> str:
    found = _MODEL.search(model)
    return _MODEL_TAIL.sub("", found.group() if found else model)


def version_of(item: str) -> int:
    """The version that introduced an item; 0 when it has none."""
    version = item.partition(".")[0]
    return int(version) if version.isdigit() else 0


def settle_thinking_params(
    body: dict[str, Any], turns: Sequence[Turn], rules: MessagesRules, repairs: list[Repair]
) -> None:
    """Turn thinking off where the request could not be valid with it."""
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens")
    detail = ""
    if not isinstance(budget, int) or not rules.thinking_budget_min <= budget < body["max_tokens"]:
        detail = "Its budget does not fit under max_tokens."
    is_open = len(turns) > 1 and any(part.kind == "tool_result" for part in turns[-1].parts)
    if is_open and turns[-2].parts[0].kind not in _THINKING:
        detail = "The open turn does not begin with thinking."
    if detail:
        del body["thinking"]
        repairs.append(Repair("thinking_turned_off", "", detail))
