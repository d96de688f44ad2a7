"""The fields of native lines, checked: what a line says, or the one word for what is wrong.

Each reader takes the line's fields and raises `WrongShape`, which never leaves the fold.
Knows nothing about the types of lines or drafts of windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..content import ORIGINS, Block, Origin, block_from, is_label, is_result, to_json
from ..drafts import Usage

Fields = Mapping[str, Any]

_AT_MS_MAX = 253_402_300_799_999
"""The last millisecond of the year 9999."""

_ROLE_ORIGINS: dict[str, Origin] = {
    "user": "human",
    "assistant": "assistant",
    "tool": "tool",
    "system": "system",
    "developer": "system",
}


class WrongShape(Exception):
    """The line is not what its type asks for; `reason` is the word for the quarantine."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def text_field(fields: Fields, name: str, *, is_needed: bool = False) -> str:
    """A string, "" when absent or null. Raises `no_<name>`, `bad_<name>`."""
    value = fields.get(name)
    if value is None or value == "":
        if is_needed:
            raise WrongShape(f"no_{name}")
        return ""
    if not isinstance(value, str):
        raise WrongShape(f"bad_{name}")
    return value


def id_field(fields: Fields, name: str, *, is_needed: bool = False) -> str:
    """Like `text_field`, and a whole number is taken as its digits."""
    value = fields.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_field(fields, name, is_needed=is_needed)


def count_field(fields: Fields, name: str) -> int | None:
    """A whole number from 0 on, None when absent or null. Raises `bad_<name>`."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**62:
        raise WrongShape(f"bad_{name}")
    return value


def flag_field(fields: Fields, name: str) -> bool:
    """True or false, false when absent or null. Raises `bad_<name>`."""
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise WrongShape(f"bad_{name}")
    return bool(value)


def choice_field(fields: Fields, name: str, choices: tuple[str, ...], default: str) -> str:
    """One of `choices`. Raises `bad_<name>`."""
    value = text_field(fields, name) or default
    if value not in choices:
        raise WrongShape(f"bad_{name}")
    return value


def json_field(fields: Fields, name: str, *kinds: type) -> str:
    """A value of one of `kinds` as JSON, "" when absent or null. Raises `bad_<name>`."""
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, kinds):
        raise WrongShape(f"bad_{name}")
    return to_json(value)


def role_field(fields: Fields) -> str:
    """The role, kept as given. Raises `no_role`, `bad_role`."""
    role = text_field(fields, "role", is_needed=True)
    if not is_label(role):
        raise WrongShape("bad_role")
    return role


def items_field(fields: Fields, name: str) -> tuple[str, ...]:
    """A list of one or more item ids. Raises `no_<name>`, `bad_<name>`."""
    items = fields.get(name)
    if items is None or items == []:
        raise WrongShape(f"no_{name}")
    if not isinstance(items, list) or not all(isinstance(i, str) and i for i in items):
        raise WrongShape(f"bad_{name}")
    return tuple(items)


def at_field(fields: Fields) -> int | None:
    """`at` in Unix milliseconds: a number of them, or ISO 8601 (UTC when it names no zone).

    None when absent or unreadable: order never depends on it, so a bad time loses no line.
    """
    value = fields.get("at")
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            value = int(moment.timestamp() * 1000)
        except (ValueError, OverflowError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= _AT_MS_MAX else None


def blocks_field(fields: Fields, name: str, role: str) -> tuple[Block, ...]:
    """Content: a string, or a list of Anthropic blocks.

    `origin` and `meta` of the line go to each block, or are lists with one for each block.
    Raises `no_<name>`, `bad_<name>`, `bad_origin`, `bad_meta`.
    """
    content = fields.get(name)
    if content is None:
        raise WrongShape(f"no_{name}")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list) or not all(isinstance(raw, dict) for raw in content):
        raise WrongShape(f"bad_{name}")
    origins = _for_each(fields, "origin", len(content))
    metas = _for_each(fields, "meta", len(content))
    return tuple(
        block_from(raw, _origin(origin, raw, role), meta=_meta(meta))
        for raw, origin, meta in zip(content, origins, metas, strict=True)
    )


def _for_each(fields: Fields, name: str, count: int) -> list[Any]:
    value = fields.get(name)
    if not isinstance(value, list):
        return [value] * count
    if len(value) != count:
        raise WrongShape(f"bad_{name}")
    return value


def _origin(given: object, raw: Fields, role: str) -> Origin:
    if given is not None:
        if given not in ORIGINS:
            raise WrongShape("bad_origin")
        return given
    block_type = raw.get("type")
    if isinstance(block_type, str) and is_result(block_type):
        return "tool"
    return _ROLE_ORIGINS.get(role, "harness")


def _meta(given: object) -> str:
    if given is None or given == {}:
        return ""
    if not isinstance(given, dict):
        raise WrongShape("bad_meta")
    return to_json(given)


def brief_field(fields: Fields) -> tuple[Block, ...]:
    """`brief`: a text, blocks, or columns {heading: line or lines} as "heading: line" text.

    Raises `no_brief`, `bad_brief`.
    """
    brief = fields.get("brief")
    if brief in (None, "", [], {}):
        raise WrongShape("no_brief")
    if isinstance(brief, dict):
        brief = "\n".join(line for heading in brief for line in _column(heading, brief[heading]))
    return blocks_field({"origin": "summary", **fields, "brief": brief}, "brief", "user")


def _column(heading: str, lines: object) -> list[str]:
    if isinstance(lines, str):
        lines = [lines]
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise WrongShape("bad_brief")
    return [f"{heading}: {line}" for line in lines]


def usage_field(fields: Fields) -> tuple[Usage | None, tuple[Usage, ...]]:
    """`usage` in Anthropic's names, with its `iterations`. Raises `bad_usage`."""
    raw = fields.get("usage")
    if raw is None:
        return None, ()
    usage = _usage(raw)
    iterations = raw.get("iterations") or []
    if not isinstance(iterations, list):
        raise WrongShape("bad_usage")
    return usage, tuple(map(_usage, iterations))


def _usage(raw: object) -> Usage:
    if not isinstance(raw, dict):
        raise WrongShape("bad_usage")
    written = raw.get("cache_creation") or {}
    if not isinstance(written, dict):
        raise WrongShape("bad_usage")
    try:
        return Usage(
            input_tokens=count_field(raw, "input_tokens"),
            cache_read_tokens=count_field(raw, "cache_read_input_tokens"),
            cache_write_tokens=count_field(raw, "cache_creation_input_tokens"),
            cache_write_1h_tokens=count_field(written, "ephemeral_1h_input_tokens"),
            output_tokens=count_field(raw, "output_tokens"),
            kind=text_field(raw, "type"),
        )
    except WrongShape as error:
        raise WrongShape("bad_usage") from error
