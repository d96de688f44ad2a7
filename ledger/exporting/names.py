"""Names of items in exported lines: `<message id>/<n>`, as a reader of the lines counts them.

Knows nothing about contents and lines.
"""

from __future__ import annotations

from ..events import AnyEvent, SystemSet, ToolsSet, messages_of


class ExportNames:
    """Which item has which name after the lines written so far."""

    def __init__(self) -> None:
        self.fixed: dict[str, str] = {}
        """Items at the front: `system` or `tools`."""
        self._places: dict[str, tuple[str, int]] = {}
        self._counts: dict[str, int] = {}

    def feed(self, version: int, event: AnyEvent) -> None:
        """The lines written for an event name all items it brought."""
        index = 0
        kind = "tools" if isinstance(event, ToolsSet) else "system"
        is_fixed = isinstance(event, SystemSet | ToolsSet)
        for message in messages_of(event):
            for _ in message.blocks:
                item = f"{version}.{index}"
                index += 1
                if is_fixed:
                    self.fixed[item] = kind
                elif message.message:
                    self.add(item, message.message)

    def add(self, item: str, message: str) -> None:
        """An item is the next block of a message."""
        count = self._counts.get(message, 0)
        self._places[item] = (message, count)
        self._counts[message] = count + 1

    def place(self, item: str) -> tuple[str, int] | None:
        """(message, place in it) of an item, None when no line has named it."""
        return self._places.get(item)

    def name(self, item: str) -> str | None:
        """`message/0`, None when no line has named it."""
        place = self._places.get(item)
        return None if place is None else f"{place[0]}/{place[1]}"
