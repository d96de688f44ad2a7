"""Marks: what belongs to one recorded call only, apart from the contents of its window.

    marks = {"system": "string" | blocks, "tools": definitions, "messages": messages,
             "text": "string" if lone text blocks are strings (absent: they are lists),
             "odd": [messages that are the other way round],
             "extra": [[path, fields]]}          path = ["messages", 3, 0, "content", 1]
    marks = {"request": the whole body}

`extra` holds cache marks and null fields. Knows nothing about windows or validity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..content import from_json

Path = list[str | int]
Extras = list[tuple[Path, dict[str, Any]]]

_PLAIN_TEXT = frozenset({"type", "text"})


def stripped(raw: Mapping[str, Any], path: Path, extras: Extras) -> dict[str, Any]:
    """Give a block without cache marks and null fields, and note in `extras` what stood where.

    Marks inside the parts of a tool result are found too; tool inputs are never looked into.
    """
    taken = {k: v for k, v in raw.items() if v is None or k == "cache_control"}
    if taken:
        extras.append((path, taken))
    clean = {k: v for k, v in raw.items() if k not in taken}
    content = clean.get("content")
    if isinstance(content, list) and any(_is_marked(part) for part in content):
        parts = []
        for index, part in enumerate(content):
            if not _is_marked(part):
                parts.append(part)
                continue
            mark = {"cache_control": part["cache_control"]}
            extras.append(([*path, "content", index], mark))
            parts.append({k: v for k, v in part.items() if k != "cache_control"})
        clean["content"] = parts
    return clean


def _is_marked(part: object) -> bool:
    return isinstance(part, dict) and "cache_control" in part


def shape_of(body: Mapping[str, Any], extras: Extras) -> dict[str, Any]:
    """The marks of a body whose extras were already taken out."""
    shape: dict[str, Any] = {}
    for name in ("system", "tools", "messages"):
        if name in body:
            value = body[name]
            shape[name] = "string" if isinstance(value, str) else _length(value)
    strings, lists = _lone_texts(body.get("messages"))
    if strings and len(strings) >= len(lists):
        shape["text"] = "string"
        strings, lists = lists, strings
    if strings:
        shape["odd"] = strings
    if extras:
        shape["extra"] = extras
    return shape


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, list) else None


def _lone_texts(messages: object) -> tuple[list[int], list[int]]:
    """Indexes of the messages that are a string, and of those that could have been one."""
    strings, lists = [], []
    for index, raw in enumerate(messages if isinstance(messages, list) else []):
        content = raw.get("content") if isinstance(raw, dict) else None
        if isinstance(content, str):
            strings.append(index)
        elif isinstance(content, list) and len(content) == 1 and _is_plain_text(content[0]):
            lists.append(index)
    return strings, lists


def _is_plain_text(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == _PLAIN_TEXT and value["type"] == "text"


def block_at(body: dict[str, Any], path: Path) -> dict[str, Any]:
    """The block at a path: `system` and `tools` hold blocks, a message holds them in content."""
    part, index, *inner = path
    node: Any = body[str(part)][index]
    if part == "messages":
        node = node["content"][inner.pop(0)]
    for step in inner:
        node = node[step]
    if not isinstance(node, dict):
        raise TypeError(f"{path} is no block")
    return node


def restore_strings(body: dict[str, Any], shape: Mapping[str, Any]) -> None:
    """Write contents as strings where the call had strings."""
    if shape.get("system") == "string" and body["system"]:
        body["system"] = body["system"][0]["text"]
    odd = frozenset(shape.get("odd", ()))
    is_string = shape.get("text") == "string"
    for index, message in enumerate(body.get("messages", ())):
        content = message["content"]
        if (is_string != (index in odd)) and len(content) == 1 and _is_plain_text(content[0]):
            message["content"] = content[0]["text"]


def marked_items(marks: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The cache marks of a call: where (`["messages", 3, 0]`) and what."""
    for path, fields in (from_json(marks) if marks else {}).get("extra", ()):
        if "cache_control" in fields:
            yield path, fields["cache_control"]
