"""Which response a record of a Claude Code transcript belongs to, and what was reported of it.

A response is split over records with one message id. Some gateways give the same id to every
response; then another request, or another prompt, tells them apart. Knows nothing about drafts,
contents or files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ..content import label
from ..drafts import Usage
from .claude_code_conversation import Node
from .claude_code_records import text_of


class Response(Struct):
    """What is known of one assistant message so far."""

    call: str
    """"" = made locally, no call."""
    request: str
    prompt: str
    """uuid of the human prompt that it answers."""
    usage: Usage | None = None
    stop_reason: str = ""
    reported: tuple[object, object] = (None, None)
    """Usage and stop reason as they came last; split records mostly repeat them."""


class Responses:
    """The responses of one session, by name."""

    def __init__(self) -> None:
        self._known: dict[str, Response] = {}
        self._newest_of: dict[str, str] = {}
        """Id that several responses had -> the name of the newest of them."""
        self._call_ids: set[str] = set()

    def get(self, name: str) -> Response | None:
        """Find a response that was begun."""
        return self._known.get(name)

    def name_of(self, value: Mapping[str, Any], message: Mapping[str, Any], node: Node) -> str:
        """Name the response that a record belongs to; it may be a new one."""
        given = message.get("id")
        if not isinstance(given, str) or given not in self._known:
            given = label(given) or label(value.get("requestId")) or node.uuid
        name = self._newest_of.get(given, given)
        known = self._known.get(name)
        if known is None or not _is_other(known, text_of(value.get("requestId")), node.prompt):
            return name
        name = self._newest_of[given] = f"{given}.{len(self._known)}"
        return name

    def begin(
        self, name: str, value: Mapping[str, Any], node: Node, *, is_made_here: bool
    ) -> Response:
        """Begin a response; a made one has no call."""
        request = label(value.get("requestId"))
        call = request if request and request not in self._call_ids else name
        if not is_made_here:
            self._call_ids.add(call)
        found = self._known[name] = Response(
            call="" if is_made_here else call,
            request=text_of(value.get("requestId")),
            prompt=node.prompt,
        )
        return found


def _is_other(known: Response, request: str, prompt: str) -> bool:
    if request and known.request:
        return request != known.request
    return prompt != known.prompt
