"""What single records of a Claude Code transcript say: blocks, origins, facts, usage, times.

Pure readers of parsed JSON, total on any value: damage gives None, never an exception.
Knows nothing about sessions, branches or the order of records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from ..content import Block, Origin, block_from, is_result, label, to_json
from ..drafts import Usage

FACT_CHARS_MAX = 300
SYNTHETIC_MODEL = "<synthetic>"
OUTSIDE_TYPES = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "attribution-snapshot",
        "bridge-session",
        "cost-state",
        "custom-title",
        "file-history-delta",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "queue-operation",
        "relocated",
        "summary",
        "tag",
        "worktree-state",
    }
)
"""Types of records that the model never sees anything of."""

# How a text in a user record begins, and who wrote it. A typed slash command or shell line
# counts as the person's: its arguments are their words; what it expands to (isMeta) is not.
_ORIGIN_OF_PREFIX: tuple[tuple[str, Origin], ...] = (
    ("<command-name>", "human"),
    ("<command-message>", "human"),
    ("<bash-input>", "human"),
    ("<user-memory-input>", "human"),
    ("<user-prompt-submit-hook>", "hook"),
    ("<session-start-hook>", "hook"),
    ("<post-tool-use-hook>", "hook"),
    ("Stop hook feedback", "hook"),
    ("<local-command-", "harness"),
    ("<bash-stdout>", "harness"),
    ("<bash-stderr>", "harness"),
    ("<task-notification>", "harness"),
    ("<teammate-message", "harness"),
    ("Caveat: The messages below", "harness"),
    ("[Request interrupted by user", "harness"),
    ("This session is being continued from a previous conversation", "summary"),
)
_PREFIX_STARTS = frozenset(prefix[0] for prefix, _ in _ORIGIN_OF_PREFIX)
_REMINDER_OPENS = "<system-reminder>"
_REMINDER_CLOSES = "</system-reminder>"
_HOOK_REMINDER = re.compile(r"hook (success|additional context|blocking error|feedback|error)")
_CLEAR = re.compile(
    r"\s*<command-name>/?(?:clear|reset|new)</command-name>|"
    r"\s*<command-message>(?:clear|reset|new)</command-message>"
)
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,4})\b")

# (names in toolUseResult, name of the fact); only short scalars are taken.
_FACTS: tuple[tuple[str, str], ...] = (
    ("filePath", "path"),
    ("exitCode", "exit_code"),
    ("code", "exit_code"),
    ("interrupted", "interrupted"),
    ("isImage", "is_image"),
    ("returnCodeInterpretation", "return_code_meaning"),
    ("backgroundTaskId", "background_task"),
    ("agentId", "agent"),
    ("status", "status"),
    ("totalTokens", "agent_tokens"),
    ("userModified", "user_modified"),
    ("numFiles", "file_count"),
    ("truncated", "truncated"),
)
_FILE_FACTS: tuple[tuple[str, str], ...] = (
    ("filePath", "path"),
    ("startLine", "start_line"),
    ("numLines", "line_count"),
    ("totalLines", "total_lines"),
)
Outcome = Literal["ok", "error", "refused", "cut_off", "overflow", "unknown"]
_OUTCOMES: Mapping[str, Outcome] = {
    "refusal": "refused",
    "max_tokens": "cut_off",
    "model_context_window_exceeded": "overflow",
}


def text_of(value: object) -> str:
    """Give `value` if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def mapping_of(value: object) -> Mapping[str, Any]:
    """Give `value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def count_of(value: object) -> int | None:
    """Give `value` if it is a whole number of 0 or more, else None."""
    return value if type(value) is int and value >= 0 else None


def at_ms(value: object) -> int | None:
    """Read an ISO 8601 time with `Z` or an offset (none = UTC) as Unix milliseconds."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def origin_of_text(text: str, default: Origin) -> Origin:
    """Say who wrote a text of a user record, by how it begins.

    `default` holds for everything unmarked. A prefix that means a person only counts where a
    person is possible (`default` is `human`), so that quoted markup in meta records stays theirs.
    """
    head = text[:FACT_CHARS_MAX].lstrip()
    if head.startswith(_REMINDER_OPENS):
        return _origin_of_reminder(text, default)
    if head[:1] not in _PREFIX_STARTS:
        return default
    for prefix, origin in _ORIGIN_OF_PREFIX:
        if head.startswith(prefix):
            return default if origin == "human" else origin
    return default


def _origin_of_reminder(text: str, default: Origin) -> Origin:
    rest = text.lstrip()
    is_hook = True
    while rest.startswith(_REMINDER_OPENS):
        reminder, _, rest = rest.partition(_REMINDER_CLOSES)
        is_hook = is_hook and _HOOK_REMINDER.search(reminder[:FACT_CHARS_MAX]) is not None
        rest = rest.lstrip()
    if rest:
        return origin_of_text(rest, default)
    return "hook" if is_hook else "harness"


def user_origin(value: Mapping[str, Any], *, is_subagent: bool) -> Origin:
    """Say who wrote the unmarked texts of a user record.

    The prompt of a subagent was written by the model that spawned it: `assistant`.
    """
    if value.get("isCompactSummary") is True:
        return "summary"
    kind = mapping_of(value.get("origin")).get("kind")
    if value.get("isMeta") is True or (isinstance(kind, str) and kind != "human"):
        return "harness"
    return "assistant" if is_subagent else "human"


def user_blocks(
    content: object, default: Origin, facts: str = "", meta: str = ""
) -> tuple[Block, ...] | None:
    """Turn the content of a user message into blocks, each with its own origin.

    `facts` go to the tool result when there is exactly one, `meta` to every other block.
    None: the content is neither a string nor a list of objects.
    """
    if isinstance(content, str):
        origin = origin_of_text(content, default)
        return (Block(type="text", text=content, origin=origin, meta=meta),)
    if not isinstance(content, list) or not all(isinstance(raw, dict) for raw in content):
        return None
    if sum(_is_result(raw) for raw in content) != 1:
        facts = ""
    return tuple(
        block_from(raw, "tool", meta=facts)
        if _is_result(raw)
        else block_from(raw, origin_of_text(text_of(raw.get("text")), default), meta=meta)
        for raw in content
    )


def assistant_blocks(content: object, origin: Origin) -> tuple[Block, ...] | None:
    """Turn the content of an assistant message into blocks; results of server tools are `tool`."""
    if isinstance(content, str):
        return (Block(type="text", text=content, origin=origin),)
    if not isinstance(content, list) or not all(isinstance(raw, dict) for raw in content):
        return None
    return tuple(block_from(raw, "tool" if _is_result(raw) else origin) for raw in content)


def is_prompt(blocks: tuple[Block, ...]) -> bool:
    """Tell whether a record may begin a branch: words of the one who asks, and no results.

    Words beside a result (a refusal with its reason) answer a call, wherever they hang.
    """
    is_asked = any(block.origin in ("human", "assistant") for block in blocks)
    return is_asked and not any(is_result(block.type) for block in blocks)


def is_clear(blocks: tuple[Block, ...]) -> bool:
    """Tell whether it is the command that empties the window."""
    return any(block.origin == "human" and _CLEAR.match(block.text) for block in blocks)


def _is_result(raw: Mapping[str, Any]) -> bool:
    return is_result(text_of(raw.get("type")))


def result_facts(result: object) -> str:
    """Pick the few facts of `toolUseResult` that say what a tool did; never contents.

    Returns: a small JSON object, "" when there is nothing to say.
    """
    facts: dict[str, str | int | bool] = {}
    if isinstance(result, str):
        found = _EXIT_CODE.match(result)
        if found:
            facts["exit_code"] = int(found[1])
    elif isinstance(result, dict):
        _pick(facts, result, _FACTS)
        _pick(facts, mapping_of(result.get("file")), _FILE_FACTS)
    return to_json(facts) if facts else ""


def _pick(
    facts: dict[str, str | int | bool],
    source: Mapping[str, Any],
    names: tuple[tuple[str, str], ...],
) -> None:
    for name, fact in names:
        value = source.get(name)
        if value is False or value == "" or not isinstance(value, (str, int)):
            continue
        if isinstance(value, int) or len(value) <= FACT_CHARS_MAX:
            facts[fact] = value


def usage_of(value: object) -> Usage | None:
    """Read a usage object; None when nothing, or only zeros, was reported (iFlow)."""
    raw = mapping_of(value)
    usage = _usage(raw)
    parts = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return usage if any(parts) or usage.output_tokens else None


def _usage(raw: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=count_of(raw.get("input_tokens")),
        cache_read_tokens=count_of(raw.get("cache_read_input_tokens")),
        cache_write_tokens=count_of(raw.get("cache_creation_input_tokens")),
        cache_write_1h_tokens=count_of(
            mapping_of(raw.get("cache_creation")).get("ephemeral_1h_input_tokens")
        ),
        output_tokens=count_of(raw.get("output_tokens")),
        kind=label(text_of(raw.get("type"))),
    )


def iterations_of(value: object) -> tuple[Usage, ...]:
    """Read `usage.iterations`, the parts of a call with a provider-side compaction."""
    parts = mapping_of(value).get("iterations")
    if not isinstance(parts, list):
        return ()
    return tuple(_usage(part) for part in parts if isinstance(part, dict))


def outcome_of(stop_reason: str) -> Outcome:
    """Read the outcome off a stop reason; none (records are written early) counts as fine."""
    return _OUTCOMES.get(stop_reason, "ok")


def response_blocks(message: Mapping[str, Any]) -> tuple[Block, ...] | None:
    """Read the blocks of an assistant message; texts made locally are the harness's."""
    origin: Origin = "harness" if message.get("model") == SYNTHETIC_MODEL else "assistant"
    return assistant_blocks(message.get("content"), origin)
