"""A session as native JSONL: lines that give the same windows when they are taken in again.

Most events have a line of their own. What the grammar has no word for (a roll-back, a rewrite of
another agent, a compaction that also moved what stayed) becomes the lines that turn one window
into the next. Knows nothing about files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..content import block_value, from_json, tool_value
from ..deltas import keys_of
from ..events import (
    AnyEvent,
    CallCompleted,
    ItemsEvicted,
    ItemsReinjected,
    MessageAppended,
    MessageExtended,
    ModelCalled,
    PhaseChanged,
    SessionOpened,
    StateNoted,
    StoredMessage,
    SystemSet,
    ToolsSet,
    WindowCompacted,
    WindowRewritten,
)
from ..session import Session
from ..storage.store import StoredEvent
from ..views.contents import load_contents, load_items
from ..window import Entry, WindowBuilder
from .lines import Line, call_line, call_name, note_line, opening_line, result_line
from .names import ExportNames


def native_lines(session: Session, to: int | None = None) -> Iterator[tuple[int, list[Line]]]:
    """(version, its lines) for each event up to `to`; [] for events that have none.

    Postcondition: taken in again, the window after a version's last line shows the same blocks
    of the same roles in the same order as the window at that version (marks of form apart: what
    was put back by hand may come as a message).
    """
    writer = _Writer(session)
    for stored in session.events(to=to):
        yield stored.version, writer.lines(stored)


class _Writer:
    """What the reader of the lines will know so far: the window, and names of items."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bodies = session.store.bodies
        self._window = WindowBuilder()
        self._names = ExportNames()

    def lines(self, stored: StoredEvent) -> list[Line]:
        """The lines of the next event."""
        before = list(self._window.entries.values())
        delta = getattr(stored.event, "delta", None)
        if delta is not None:
            self._window.apply(delta)
        after = list(self._window.entries.values())
        lines = self._lines(stored, before, after)
        at = {} if stored.event.at_ms is None else {"at": stored.event.at_ms}
        return [{**line, **at, "actor": stored.actor} for line in lines]

    def _lines(self, stored: StoredEvent, before: list[Entry], after: list[Entry]) -> list[Line]:
        event = stored.event
        match event:
            case SessionOpened():
                line = opening_line(event, self._session.name, self._text)
                return [line] if stored.version == 1 else []
            case MessageAppended() | MessageExtended():
                return [self._message(stored, message) for message in event.messages]
            case SystemSet() | ToolsSet():
                self._names.feed(stored.version, event)
                return self._fixed(before, after)
            case ModelCalled():
                return [call_line(event, self._text)]
            case CallCompleted():
                call = self._call_of(event, stored.version)
                return [result_line(event, call, self._text)]
            case StateNoted():
                return [note_line(event, self._text)]
            case PhaseChanged():
                return [{"type": "phase", "name": self._text(event.name)}]
            case WindowCompacted() if event.brief and event.sources:
                return self._compaction(stored, event, before, after)
            case ItemsReinjected() if not event.messages:
                return self._reinjection(stored, event, before, after)
            case _:
                return self._between(stored, before, after) if before != after else []

    # -- lines of single events ---------------------------------------------------------------

    def _message(self, stored: StoredEvent, message: StoredMessage) -> Line:
        line: Line = {"type": "message"}
        if isinstance(stored.event, MessageExtended):
            line["message"] = message.message
        else:
            line |= {"id": message.message, "role": message.role}
        ids = [f"{stored.version}.{i}" for i in range(len(message.blocks))]
        line |= self._content(ids)
        self._names.feed(stored.version, stored.event)
        return line

    def _content(self, items: list[str]) -> Line:
        """`content`, `origin` and `meta` of items."""
        blocks = self._blocks(items)
        value: Line = {
            "content": [block_value(block) for block in blocks],
            "origin": [block.origin for block in blocks],
        }
        if any(block.meta for block in blocks):
            value["meta"] = [from_json(block.meta) if block.meta else None for block in blocks]
        return value

    def _fixed(self, before: list[Entry], after: list[Entry]) -> list[Line]:
        """`tools` and `system` lines for what changed at the front."""
        lines: list[Line] = []
        for kind in ("tools", "system"):
            old, new = (
                [e.key for e in entries if self._names.fixed.get(e.key) == kind]
                for entries in (before, after)
            )
            if old == new:
                continue
            blocks = self._blocks(new)
            if kind == "tools":
                lines.append({"type": "tools", "tools": [tool_value(block) for block in blocks]})
            else:
                content = [block_value(block) for block in blocks]
                lines.append({"type": "system", "content": content})
        return lines

    def _call_of(self, event: CallCompleted, version: int) -> str:
        """Name of the call that came back; made up when it is not on record."""
        if not event.called:
            return f"unknown-{version}"
        called = self._session.store.read_one(self._session.id, event.called).event
        return call_name(called) if isinstance(called, ModelCalled) else f"unknown-{version}"

    # -- windows ------------------------------------------------------------------------------

    def _compaction(
        self, stored: StoredEvent, event: WindowCompacted, before: list[Entry], after: list[Entry]
    ) -> list[Line]:
        order = [entry.key for entry in before]
        gone = keys_of(event.sources, order)
        names = [self._names.name(before[order.index(key)].item_id) for key in gone]
        brief = [entry for entry in after if entry.key in event.brief]
        if None in names or [e.key for e in brief] != list(event.brief) or len(event.messages) != 1:
            return self._between(stored, before, after)
        message = event.messages[0]
        content = self._content(list(event.brief))
        line: Line = {
            "type": "compact",
            "id": message.message,
            "role": message.role,
            "sources": names,
            "brief": content.pop("content"),
            "method": event.method,
            "trigger": event.trigger,
        }
        for name in ("tokens_before", "tokens_after"):
            tokens = getattr(event, name)
            if tokens is not None:
                line[name] = tokens.n
        line = {name: value for name, value in (line | content).items() if value != ""}
        self._names.feed(stored.version, event)
        first = order.index(gone[0])
        left = [entry for entry in before[first:] if entry.key not in set(gone)]
        now = [*before[:first], *brief, *left]
        return [line, *self._between(stored, now, after)]

    def _reinjection(
        self, stored: StoredEvent, event: ItemsReinjected, before: list[Entry], after: list[Entry]
    ) -> list[Line]:
        names = [self._names.name(item) for item in event.items]
        behind = event.delta.insert[0][0] if event.delta.insert else ""
        place = self._names.name(behind) if behind else ""
        if None in names or place is None:
            return self._between(stored, before, after)
        line: Line = {"type": "reinject", "items": names, "after": place}
        line["reason"] = self._text(event.reason)
        return [{name: value for name, value in line.items() if value}]

    def _between(self, stored: StoredEvent, before: list[Entry], after: list[Entry]) -> list[Line]:
        """Lines that turn one window into another, for events without a line of their own."""
        event = stored.event
        lines = self._fixed(before, after)
        old = {e.item_id: e for e in before}
        new = [e for e in after if e.key not in self._names.fixed]
        back = [e for e in new if not e.text and old.get(e.item_id, e).text]
        names = [self._names.name(entry.item_id) for entry in back]
        if back and None not in names:
            lines.append({"type": "reinject", "items": names})
        if [e.item_id for e in before if e.key not in self._names.fixed] != [
            e.item_id for e in new
        ]:
            lines.append(self._rewrite(stored, new))
        lines += self._placeholders(event, [e for e in new if e.text and old.get(e.item_id) != e])
        return lines

    def _rewrite(self, stored: StoredEvent, new: list[Entry]) -> Line:
        event = stored.event
        parts: list[Line] = []
        for entry in new:
            place = self._names.place(entry.item_id)
            if place is None or (entry.item and entry.item != entry.key):
                parts.append(self._new_part(entry))
                continue
            message, index = place
            last = parts[-1] if parts else {}
            if (
                last.get("message") == message
                and last.get("first", -2) + last.get("count", 0) == index
            ):
                last["count"] += 1
            else:
                parts.append({"message": message, "first": index, "count": 1})
        line: Line = {"type": "rewrite", "parts": parts, "cause": "restore"}
        if isinstance(event, WindowRewritten):
            line["cause"] = event.cause
            line |= {"inferred": True} if event.is_inferred else {}
            line |= {"evidence": self._text(event.evidence)} if event.evidence is not None else {}
        return line

    def _new_part(self, entry: Entry) -> Line:
        """A part with the item's own contents, under the name that later lines use."""
        item = load_items(self._session.store, self._session.id, (entry.item_id,))[entry.item_id]
        message = item.message or f"item-{entry.item_id}"
        self._names.add(entry.item_id, message)
        return {"message": message, "role": item.role or "user", **self._content([entry.item_id])}

    def _placeholders(self, event: AnyEvent, entries: list[Entry]) -> list[Line]:
        by_text: dict[str, list[str]] = {}
        for entry in entries:
            name = self._names.name(entry.item_id)
            if name is not None:
                by_text.setdefault(entry.text_id, []).append(name)
        texts = dict(zip(by_text, self._blocks(list(by_text)), strict=True))
        reason = (
            self._text(getattr(event, "reason", None)) if isinstance(event, ItemsEvicted) else ""
        )
        return [
            {"type": "evict", "items": items, "placeholder": texts[text].text}
            | ({"reason": reason} if reason else {})
            for text, items in by_text.items()
        ]

    def _blocks(self, items: list[str]) -> list[Any]:
        found = load_items(self._session.store, self._session.id, items)
        blocks = load_contents(self._session.store, found.values())
        return [blocks[item] for item in items]

    def _text(self, key: bytes | None) -> str:
        return "" if key is None else self._bodies.get(key).decode("utf-8", "surrogatepass")
