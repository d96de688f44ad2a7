"""Whole recordings: YAML cassettes of both layouts, a JSON document, a bare event stream.

    interactions: [{request, response}]             one list of pairs
    requests: [...], responses: [...]               two parallel lists

Knows how recordings are laid out; what a pair holds is `anthropic_exchange`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from .anthropic_sse import looks_like_stream
from .parsing import parse

EXPANDED_NODES_MAX = 20_000_000
"""YAML aliases may multiply a small file; a document with more nodes than this is refused."""
DEPTH_MAX = 200


def document_of(data: bytes) -> object:
    """Read a whole file: parsed JSON or YAML, or the text of an event stream; None if neither."""
    text = data.decode("utf-8-sig", "replace")
    if looks_like_stream(text):
        return text
    parsed = parse(data.removeprefix(b"\xef\xbb\xbf"))
    if not parsed.fault:
        return parsed.value
    return _yaml_of(data)


def _yaml_of(data: bytes) -> object:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = yaml.load(data, Loader=loader)  # noqa: S506 - both are safe loaders
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    return value if _expanded_nodes(value, {}, 0) <= EXPANDED_NODES_MAX else None


def _expanded_nodes(value: object, known: dict[int, int], depth: int) -> int:
    """Nodes with every alias written out; a node inside itself or too deep counts as too many."""
    if not isinstance(value, dict | list):
        return 1
    if depth > DEPTH_MAX:
        return EXPANDED_NODES_MAX + 1
    if id(value) not in known:
        known[id(value)] = EXPANDED_NODES_MAX + 1  # stays while we are inside it
        children = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_expanded_nodes(child, known, depth + 1) for child in children)
    return known[id(value)]


def is_cassette(value: object) -> bool:
    """True for a document with recorded pairs."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("interactions"), list):
        return True
    return isinstance(value.get("requests"), list) and isinstance(value.get("responses"), list)


def pairs_of(cassette: dict[str, Any]) -> Iterator[tuple[object, object]]:
    """The (request, response) wrappers of a cassette, in order."""
    if isinstance(cassette.get("interactions"), list):
        for entry in cassette["interactions"]:
            if isinstance(entry, dict):
                yield entry.get("request"), entry.get("response")
        return
    yield from zip_longest(cassette["requests"], cassette["responses"])
