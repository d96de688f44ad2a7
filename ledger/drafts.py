"""What a source says happened, before the ledger gives it a version.

Formats turn records into drafts; the session turns drafts into events, because only it knows
the window at that moment. A draft names messages, calls and tools by the ids of the source.
Knows nothing about versions, storage or deltas.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .content import Block

Coverage = Literal["exact", "conversation"]
Relation = Literal["", "fork", "subagent", "side"]
Cause = Literal["rewind", "branch", "restore", "edit", "echo", "clear", "unexplained"]


class Draft(Struct, frozen=True, kw_only=True):
    """The common part of all drafts."""

    session: str
    """Name of the session it belongs to."""
    at_ms: int | None = None
    """When it happened by the source's clock, Unix milliseconds; order never depends on it."""
    actor: str = "agent"
    """`agent`, `user`, `importer`, `harness` ... who did it."""


class OpenSession(Draft, frozen=True):
    """First draft of each session; a second one for an open session is ignored."""

    format: str
    title: str = ""
    model: str = ""
    coverage: Coverage = "conversation"
    folder: str = ""
    branch: str = ""
    limit_tokens: int = 0
    relation: Relation = ""
    parent: str = ""
    """Name of the session it was forked from, spawned by, or is a side call of."""
    parent_message: str = ""
    """Forks only: the last message of the parent that the fork shares; "" = its head."""


class SetSystem(Draft, frozen=True):
    """The system blocks in force from here on (empty = none)."""

    blocks: tuple[Block, ...]


class SetTools(Draft, frozen=True):
    """The tool definitions in force from here on, one block each (`content.tool_from`)."""

    tools: tuple[Block, ...]


class AppendMessage(Draft, frozen=True):
    """A new message at the end of the window."""

    role: str
    blocks: tuple[Block, ...]
    message: str = ""
    """The source's id; "" lets the session mint `m<version>`."""


class ExtendMessage(Draft, frozen=True):
    """Late blocks of an earlier message; they go behind its last block in the window."""

    message: str
    blocks: tuple[Block, ...]


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one call as the provider reported them. None = not reported."""

    input_tokens: int | None = None
    """Uncached input only, as Anthropic counts it."""
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    """Of `cache_write_tokens`: kept for an hour, at another price. None = not said."""
    output_tokens: int | None = None
    kind: str = ""
    """Inside `iterations`: `message` or `compaction`."""

    @property
    def context_tokens(self) -> int:
        """All input of the call: uncached + read from cache + written to cache."""
        parts = (self.input_tokens, self.cache_read_tokens, self.cache_write_tokens)
        return sum(part or 0 for part in parts)


class StartCall(Draft, frozen=True):
    """A request was sent; the window as it stands is what it saw."""

    call: str
    """The source's id of the call (request id, message id)."""
    model: str = ""
    digest: bytes = b""
    """`content.digest_of(request body)`; empty when the request was not recorded."""
    params: str = ""
    """The request body without system, tools, messages, as JSON; "" when not recorded."""
    marks: str = ""
    """Shapes and cache marks that belong to this call only, as JSON (see render/recorded.py)."""
    is_retry: bool = False


class CompleteCall(Draft, frozen=True):
    """What came back. A later one for the same call replaces the earlier (usage grows)."""

    call: str
    outcome: Literal["ok", "error", "refused", "cut_off", "overflow", "unknown"] = "ok"
    stop_reason: str = ""
    usage: Usage | None = None
    iterations: tuple[Usage, ...] = ()
    latency_ms: int | None = None
    error: str = ""
    edits: str = ""
    """Provider-side edits as reported, JSON; "" when none."""
    dropped_before: str = ""
    """Provider-side compaction: the model saw only this message and what follows ..."""
    dropped_before_block: int = 0
    """... from this block of it on."""
    cleared_tool_ids: tuple[str, ...] = ()
    """Provider-side clearing: results (and perhaps inputs) of these calls were not seen."""


class EvictResults(Draft, frozen=True):
    """Another agent cleared these tool results; the calls stay."""

    tool_ids: tuple[str, ...]
    placeholder: str
    """What stands in their place in the window."""
    reason: str = ""
    saved_tokens: int | None = None
    counter: str = ""
    is_inferred: bool = False


class EvictItems(Draft, frozen=True):
    """Native `evict`: items by id (`42.1`, or `id/0` of the native grammar)."""

    items: tuple[str, ...]
    placeholder: str = ""
    reason: str = ""


class ImportCompaction(Draft, frozen=True):
    """Another agent replaced its window by a summary and perhaps some kept messages."""

    message: str
    """Id of the summary message."""
    role: str
    blocks: tuple[Block, ...]
    """The summary; origins by block. Empty for an opaque one kept elsewhere."""
    keep: tuple[str, ...] = ()
    """Ids of messages that stay, in their old order, behind the summary."""
    keep_first: bool = False
    """The kept messages stand before the summary."""
    sources: tuple[str, ...] | None = None
    """Native only: item ids that were compacted; None = all that left the window."""
    trigger: str = ""
    """`auto`, `manual` ..."""
    reason: str = ""
    """Why, in the source's words."""
    tokens_before: int | None = None
    tokens_after: int | None = None
    method: str = "agent"


class ReinjectItems(Draft, frozen=True):
    """Native `reinject`: items come back, or `text` is put in."""

    items: tuple[str, ...] = ()
    text: str = ""
    after: str = ""
    """Item id behind which it goes; "" = the end."""
    reason: str = ""


class Keep(Struct, frozen=True):
    """Blocks of a known message that stay, by their order of introduction in it."""

    message: str
    first: int = 0
    count: int = -1
    """-1 = all that were ever introduced."""


class NewBlocks(Struct, frozen=True):
    """Blocks that are new at this place; `message` may be a known id (they join it)."""

    message: str
    role: str
    blocks: tuple[Block, ...]


class RewriteWindow(Draft, frozen=True):
    """The conversation part of the window becomes exactly `parts`, in this order."""

    parts: tuple[Keep | NewBlocks, ...]
    cause: Cause
    is_inferred: bool = True
    evidence: str = ""
    """Ids (of records, messages) that show it."""
    is_return: bool = False
    """The agent went back to a window that it had: what it cleared meanwhile stays cleared."""


class Note(Draft, frozen=True):
    """Native `note`: state somebody wants kept."""

    kind: str
    text: str
    status: str = ""
    source: str = ""
    is_pinned: bool = False


class ChangePhase(Draft, frozen=True):
    """Native `phase`."""

    name: str


class QuarantineRecord(Draft, frozen=True):
    """The record at hand cannot be read; its bytes stay in the source."""

    reason: str
    """A short enum-like word: `not_json`, `nul_bytes`, `wrong_format`, `not_an_object` ..."""


AnyDraft = (
    OpenSession
    | SetSystem
    | SetTools
    | AppendMessage
    | ExtendMessage
    | StartCall
    | CompleteCall
    | EvictResults
    | EvictItems
    | ImportCompaction
    | ReinjectItems
    | RewriteWindow
    | Note
    | ChangePhase
    | QuarantineRecord
)
