"""What a response stands on: the messages that `previous_response_id` brings back.

A chained request sends only what is new; the provider holds the rest. Items may also be sent
as references to earlier ones. Both are looked up here, so that a window shows what the model
saw. Knows nothing about joining or drafts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from ..render.recorded import SplitMessage
from .anthropic_join import Member

Json = dict[str, Any]


class Link(Struct, frozen=True):
    """The window right after one response: an earlier link and what came on top of it."""

    before: Link | None
    added: tuple[SplitMessage, ...]

    def messages(self) -> list[SplitMessage]:
        """The whole window, oldest first."""
        runs = []
        link: Link | None = self
        while link is not None:
            runs.append(link.added)
            link = link.before
        return [message for run in reversed(runs) for message in run]


class Chains:
    """Links and items of a source by the provider's ids."""

    def __init__(self) -> None:
        self._links: dict[str, tuple[Member, Link]] = {}
        self._items: dict[str, Json] = {}

    def find(self, body: Mapping[str, Any]) -> tuple[Member, Link] | None:
        """What a request stands on; None when it stands alone or on what was not recorded."""
        name = previous_of(body)
        return self._links.get(name) if name else None

    def note(self, names: Sequence[str], member: Member, link: Link) -> None:
        """Remember the window after a response, under its id and its conversation's."""
        for name in names:
            if name:
                self._links[name] = (member, link)

    def note_items(self, items: object) -> None:
        """Remember items that have an id."""
        for item in items if isinstance(items, list) else ():
            name = item.get("id") if isinstance(item, dict) else None
            if isinstance(name, str) and name and not _reference(item):
                self._items[name] = item

    def resolved(self, body: Json) -> tuple[Json, dict[str, str]]:
        """(body with its item references looked up, ids of those by place)."""
        listed = body.get("input")
        if not isinstance(listed, list):
            return body, {}
        items: list[Any] = []
        references: dict[str, str] = {}
        for place, item in enumerate(listed):
            name = _reference(item)
            if name and name in self._items:
                references[str(place)] = name
            items.append(self._items.get(name, item) if name else item)
        return ({**body, "input": items} if references else body), references


def previous_of(body: Mapping[str, Any]) -> str:
    """The response or conversation that a request goes on with, "" = none."""
    previous = body.get("previous_response_id")
    if isinstance(previous, str) and previous:
        return previous
    return conversation_of(body)


def conversation_of(body: Mapping[str, Any]) -> str:
    """The id of the provider's own conversation, "" = none."""
    conversation = body.get("conversation")
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
    return conversation if isinstance(conversation, str) else ""


def _reference(item: object) -> str:
    if not isinstance(item, dict) or item.keys() != {"type", "id"}:
        return ""
    return str(item["id"]) if item["type"] == "item_reference" else ""
