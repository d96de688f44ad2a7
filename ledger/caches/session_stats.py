"""What a list of sessions says about each: a projection of its events, kept step by step.

Pure: texts are read through a function that is an argument. Knows nothing about storage.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
from msgspec import Struct

from ..content import is_label
from ..events import (
    AnyEvent,
    BodyKey,
    CallCompleted,
    ItemsEvicted,
    MessageAppended,
    ModelCalled,
    RecordQuarantined,
    RolledBack,
    SessionOpened,
    WindowCompacted,
)

TITLE_CHARS_MAX = 80
_COMMAND_TAG = re.compile(r"</?(?:local-)?command-[a-z]+>")
"""Around a slash command that a person typed, in Claude Code's transcripts."""


class SessionStats(Struct, omit_defaults=True):
    """One session, after the events fed so far."""

    name: str = ""
    title: str = ""
    """Its own title, else the first line of the first human text."""
    format: str = ""
    coverage: str = "conversation"
    model: str = ""
    """Of the newest call, else as the session was opened with."""
    folder: str = ""
    branch: str = ""
    relation: str = ""
    parent: int = 0
    """Session id of the parent; 0 = none."""
    version: int = 0
    calls: int = 0
    messages: int = 0
    compactions: int = 0
    """All of them, undone ones too."""
    evictions: int = 0
    rollbacks: int = 0
    quarantined: int = 0
    first_ms: int | None = None
    """First and last moment by the source's clock, Unix milliseconds."""
    last_ms: int | None = None
    recorded_ms: int = 0
    """When its newest event was stored, by this machine's clock."""
    limit_tokens: int = 0
    reported_tokens: int = 0
    """Context size of the newest call that reported one; 0 = none did."""

    def feed(
        self, version: int, recorded_ms: int, event: AnyEvent, text_of: Callable[[BodyKey], str]
    ) -> None:
        """Take the next event."""
        self.version, self.recorded_ms = version, recorded_ms
        if event.at_ms is not None:
            self.first_ms = event.at_ms if self.first_ms is None else self.first_ms
            self.last_ms = max(event.at_ms, self.last_ms or event.at_ms)
        match event:
            case SessionOpened():
                self._open(event, text_of)
            case MessageAppended():
                self.messages += 1
                self.title = self.title or _first_line(event, text_of)
            case ModelCalled():
                self.calls += 1
                self.model = event.model if is_name(event.model) else self.model
            case CallCompleted():
                reported = event.usage.context_tokens if event.usage is not None else 0
                self.reported_tokens = reported or self.reported_tokens
            case WindowCompacted():
                self.compactions += 1
            case ItemsEvicted():
                self.evictions += 1
            case RolledBack():
                self.rollbacks += 1
            case RecordQuarantined():
                self.quarantined += 1
            case _:
                pass

    def _open(self, event: SessionOpened, text_of: Callable[[BodyKey], str]) -> None:
        def text(key: BodyKey | None) -> str:
            return text_of(key) if key is not None else ""

        self.name, self.format, self.coverage = event.name, event.format, event.coverage
        self.relation, self.parent = event.relation, event.parent
        self.title = text(event.title) or self.title
        self.folder = text(event.folder) or self.folder
        self.branch = text(event.branch) or self.branch
        self.model = event.model if is_name(event.model) else self.model
        self.limit_tokens = event.limit_tokens or self.limit_tokens


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(SessionStats)


def encode_stats(stats: SessionStats) -> bytes:
    """Write them as JSON."""
    return _encoder.encode(stats)


def decode_stats(data: bytes) -> SessionStats | None:
    """Read them; None when they were never made or cannot be read."""
    try:
        stats = _decoder.decode(data)
    except msgspec.DecodeError:
        return None
    return stats if stats.version else None


def is_name(model: str) -> bool:
    """True for a model's own name, false for none and for a stand-in of what is no name."""
    return is_label(model) and not model.startswith("~")


def _first_line(event: MessageAppended, text_of: Callable[[BodyKey], str]) -> str:
    for message in event.messages:
        for block in message.blocks:
            if block.origin == "human" and block.type == "text" and block.size:
                for line in _COMMAND_TAG.sub("", text_of(block.body)).splitlines():
                    if line.strip():
                        return line.strip()[:TITLE_CHARS_MAX]
    return ""
