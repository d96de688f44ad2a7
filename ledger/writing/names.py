"""What a session's events say about names: which items a message has, how many changes.

A projection like the window, kept step by step by the writer. Knows nothing about storage.
"""

from __future__ import annotations

from ..content import is_result, label
from ..events import (
    AnyEvent,
    ItemsEvicted,
    ItemsReinjected,
    StoredBlock,
    SystemSet,
    ToolsSet,
    WindowCompacted,
    messages_of,
)
from ..window import Entry, entries_of


class NameIndex:
    """Names of one session, after the events fed so far."""

    def __init__(self) -> None:
        self.messages: dict[str, list[str]] = {}
        """Message id -> its items in order of introduction."""
        self.items: set[str] = set()
        """All items that can stand in a window by themselves (not the texts of placeholders)."""
        self.roles: dict[str, str] = {}
        """Message id -> role."""
        self.results: dict[str, list[str]] = {}
        """Tool id -> items that are results of it."""
        self.fixed: dict[str, StoredBlock] = {}
        """Items that are system blocks or tool definitions."""
        self.stand_ins: dict[str, Entry] = {}
        """Items that an agent cleared -> the entry that it put in their place."""
        self.depths: dict[str, int] = {}
        """Items that are briefs -> how many summaries deep."""
        self.evictions_count = 0
        self.compactions_count = 0

    def items_of(self, message: str) -> list[str]:
        """Items of a message, by the source's id; none if it is not known."""
        return self.messages.get(label(message), [])

    def results_of(self, tool_id: str) -> list[str]:
        """Items that are results of a call."""
        return self.results.get(label(tool_id), [])

    def feed(self, version: int, event: AnyEvent) -> None:
        """Take the next event."""
        index = 0
        is_fixed = isinstance(event, SystemSet | ToolsSet)
        for message in messages_of(event):
            if message.message and not is_fixed:
                self.roles.setdefault(message.message, message.role)
            for block in message.blocks:
                item = f"{version}.{index}"
                index += 1
                if is_fixed or message.role:
                    self.items.add(item)
                if is_fixed:
                    self.fixed[item] = block
                else:
                    self._feed_block(item, message.message, block)
        match event:
            case ItemsEvicted():
                self.evictions_count = event.number
                self.stand_ins.update((e.item_id, e) for e in entries_of(event.delta.replace))
            case ItemsReinjected():
                for item in event.items:
                    self.stand_ins.pop(item, None)
            case WindowCompacted():
                self.compactions_count = event.number
                self.depths.update((item, event.depth) for item in event.brief)
            case _:
                pass

    def _feed_block(self, item: str, message: str, block: StoredBlock) -> None:
        if message:
            self.messages.setdefault(message, []).append(item)
        if block.tool_id and is_result(block.type):
            self.results.setdefault(block.tool_id, []).append(item)
