"""The contract of a source format: a streaming fold from records to drafts.

A fold is deterministic and never looks ahead, so feeding it the stored records of a source
again puts it in the state it had; nothing of it is persisted. It may hold back drafts until a
later record (a compaction boundary waits for its summary), never lose them.
Knows nothing about files, pipes, storage or versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol

from msgspec import Struct

from ..drafts import AnyDraft

RecordKind = Literal["window", "outside", "unknown", "held", "quarantined"]
"""`window`: gave drafts. `outside`: known, the model never saw it. `unknown`: a type we do not
know, kept and counted. `held`: its drafts come with a later record."""


class Record(Struct, frozen=True, kw_only=True):
    """One unit of a source as it came."""

    offset: int
    """Bytes from the start of the source."""
    data: bytes
    """The exact bytes, line end included."""
    value: Any = None
    """The parsed JSON; None when `fault` is set (or the format parses `data` itself)."""
    fault: str = ""
    """Why it cannot be read: `not_json`, `nul_bytes`, `bad_utf8`, `too_deep` ...; "" = fine."""
    repaired: str = ""
    """What was mended to read it: `glued`, `joined`, `surrogates`, `bom` ...; "" = nothing."""


class Fed(Struct, frozen=True):
    """The answer of a fold to one record."""

    kind: RecordKind
    drafts: tuple[AnyDraft, ...] = ()
    what: str = ""
    """The record's own type, for counting (`progress/hook_progress`)."""
    content: bytes = b""
    """What tells it from another record with its id, where sources wrap one message in several
    ways; empty = all its bytes."""


class Fold(Protocol):
    """One source being read."""

    name: str
    """Format name as users type it: `claude-code`, `anthropic`, `native`."""

    def feed(self, record: Record) -> Fed:
        """Take the next record. Never raises on content: faults become quarantine drafts."""
        ...

    def key(self, record: Record) -> str:
        """The record's own id for idempotence, "" when it has none (its digest then counts)."""
        ...


class Splitter(Protocol):
    """Cuts bytes into records as they arrive; holds back only an unfinished last one."""

    def push(self, data: bytes) -> Iterator[Record]:
        """Give the records that `data` completes."""
        ...

    def finish(self) -> Iterator[Record]:
        """Called at a true end of input: give what can still be read.

        A half last line is not a record: it stays in `pending`.
        """
        ...

    @property
    def pending(self) -> bytes:
        """Bytes that belong to no record yet."""
        ...
