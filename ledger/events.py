"""One frozen struct for each fact of the ledger.

Past tense, tagged by an explicit stored `type`. An event holds ids, enums, numbers and body
keys, never free text: contents live apart (`bodies`), so that redaction leaves every event as
it is. Each event that changes the window carries a `delta` (window.py), so a window is built
by applying deltas alone. One file because the catalogue of
facts is read as one page. Knows nothing about storage, formats or rendering.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .content import Origin
from .drafts import Cause, Coverage, Relation, Usage

BodyKey = bytes
"""16 bytes: blake2b(salt || contents)."""
OPERATOR = "operator"
"""Actor of changes made through us, as opposed to what a recorded agent did."""
Spans = tuple[str, ...]
"""Items as `42.1` or, in window order, `3.0..88.1`."""
Outcome = Literal["passed", "failed", "proposed", "imported"]


class Delta(Struct, frozen=True, omit_defaults=True):
    """How an event changes the window: remove, then replace, then insert, then append.

    Entries are written as in `window.entry_text`.
    """

    remove: Spans = ()
    replace: tuple[str, ...] = ()
    insert: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(key to go behind, "" = the front; entries)."""
    append: tuple[str, ...] = ()


class StoredBlock(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """`content.Block` with its contents replaced by body keys. Item id: `<version>.<index>`."""

    type: str
    body: BodyKey
    size: int
    """Bytes of the contents."""
    origin: Origin
    is_json: bool = False
    is_absent: bool = False
    tool_id: str = ""
    tool_name: str = ""
    is_error: bool | None = None
    rest: BodyKey | None = None
    meta: BodyKey | None = None


class StoredMessage(Struct, frozen=True, omit_defaults=True):
    """Blocks that one event brings into one message; roles `system` and `tools` included."""

    message: str
    role: str
    blocks: tuple[StoredBlock, ...]


class Tokens(Struct, frozen=True):
    """A number of tokens and who counted."""

    n: int
    counter: str


class Verdict(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What became of one thing that had to survive."""

    kind: str
    verdict: Literal[
        "preserved", "mutated", "weakened", "dropped", "unverifiable", "paraphrased", "contradicted"
    ]
    text: BodyKey | None = None
    source: str = ""
    """Item id."""


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """The common part of all events."""

    at_ms: int | None = None
    """When it happened by the source's clock; order never depends on it."""


class SessionOpened(Event, frozen=True, kw_only=True, tag="session_opened"):
    """The first event of each session."""

    name: str
    format: str
    coverage: Coverage
    title: BodyKey | None = None
    model: str = ""
    limit_tokens: int = 0
    limit_source: str = ""
    folder: BodyKey | None = None
    branch: BodyKey | None = None
    relation: Relation = ""
    parent: int = 0
    """Session id of the parent (fork, subagent, side)."""
    parent_version: int = 0
    """Forks: this session's versions continue after it; older ids are the parent's."""


class SystemSet(Event, frozen=True, kw_only=True, tag="system_set"):
    """The system blocks in force from here on; one item each."""

    messages: tuple[StoredMessage, ...]
    delta: Delta


class ToolsSet(Event, frozen=True, kw_only=True, tag="tools_set"):
    """The tool definitions in force from here on; one item each."""

    messages: tuple[StoredMessage, ...]
    delta: Delta


class MessageAppended(Event, frozen=True, kw_only=True, tag="message_appended"):
    """A message at the end of the window."""

    messages: tuple[StoredMessage, ...]
    delta: Delta


class MessageExtended(Event, frozen=True, kw_only=True, tag="message_extended"):
    """Late blocks of an earlier message."""

    messages: tuple[StoredMessage, ...]
    delta: Delta


class ModelCalled(Event, frozen=True, kw_only=True, tag="model_called"):
    """A request was sent; the window at this version is what was sent."""

    number: int
    """1, 2, 3 ... in the session: `call7`."""
    call: str
    """The source's id of the call."""
    model: str = ""
    digest: bytes = b""
    """Digest of the request as parsed JSON; empty when it was not recorded."""
    params: BodyKey | None = None
    marks: BodyKey | None = None
    is_retry: bool = False


class CallCompleted(Event, frozen=True, kw_only=True, tag="call_completed"):
    """What came back; a later one for the same call replaces the earlier."""

    called: int
    """Version of the `ModelCalled`; 0 when it is not on record."""
    outcome: str = "ok"
    stop_reason: str = ""
    usage: Usage | None = None
    iterations: tuple[Usage, ...] = ()
    latency_ms: int | None = None
    error: BodyKey | None = None
    edits: BodyKey | None = None
    messages: tuple[StoredMessage, ...] = ()
    """Texts that the provider put in the place of what it cleared."""
    effective: Delta | None = None
    """From the window as sent to what the model saw; None = no difference."""


class ItemsEvicted(Event, frozen=True, kw_only=True, tag="items_evicted"):
    """Items left the window reversibly; placeholders stand for them."""

    number: int
    items: Spans
    rule: str
    reason: BodyKey | None = None
    tokens: Tokens | None = None
    """What it freed, as reported or counted."""
    is_inferred: bool = False
    messages: tuple[StoredMessage, ...] = ()
    delta: Delta


class WindowCompacted(Event, frozen=True, kw_only=True, tag="window_compacted"):
    """A span became a brief."""

    number: int
    sources: Spans
    """Raw items it was made from, in window order at `base_version`."""
    brief: tuple[str, ...] = ()
    """Item ids of the brief's blocks (and state texts) in `messages`."""
    method: str
    prompt_version: str = ""
    trigger: str = ""
    reason: BodyKey | None = None
    base_version: int
    outcome: Outcome
    depth: int = 1
    """1 = made from raw; 2 = a summary of a summary; ..."""
    tokens_before: Tokens | None = None
    tokens_after: Tokens | None = None
    cost: Usage | None = None
    messages: tuple[StoredMessage, ...] = ()
    delta: Delta


class ItemsReinjected(Event, frozen=True, kw_only=True, tag="items_reinjected"):
    """Items came back into the window."""

    items: Spans
    reason: BodyKey | None = None
    messages: tuple[StoredMessage, ...] = ()
    delta: Delta


class CheckRan(Event, frozen=True, kw_only=True, tag="check_ran"):
    """Verdicts on the window at `subject`."""

    subject: int
    outcome: Literal["passed", "failed", "reported"]
    verdicts: tuple[Verdict, ...] = ()


class RolledBack(Event, frozen=True, kw_only=True, tag="rolled_back"):
    """Earlier events were undone, or a version restored; nothing was deleted."""

    number: int
    undid: tuple[int, ...] = ()
    """Versions of the events undone."""
    to: int = 0
    """Version restored, 0 when single events were undone."""
    is_raw: bool = False
    reason: BodyKey | None = None
    messages: tuple[StoredMessage, ...] = ()
    delta: Delta


class WindowRewritten(Event, frozen=True, kw_only=True, tag="window_rewritten"):
    """An outside agent's window changed otherwise; `is_inferred` where it is only deduced."""

    cause: Cause
    is_inferred: bool = False
    evidence: BodyKey | None = None
    messages: tuple[StoredMessage, ...] = ()
    delta: Delta


class CompactionProposed(Event, frozen=True, kw_only=True, tag="compaction_proposed"):
    """A draft for a person to apply or discard: `p<number>`."""

    number: int
    base_version: int
    sources: Spans
    method: str
    prompt_version: str = ""
    brief: tuple[str, ...] = ()
    messages: tuple[StoredMessage, ...] = ()
    proposed: Delta
    """The delta that applying it would have."""


class ProposalDiscarded(Event, frozen=True, kw_only=True, tag="proposal_discarded"):
    """A draft was dropped, or went stale."""

    proposal: int
    reason: Literal["discarded", "stale", "replaced"] = "discarded"


class StateNoted(Event, frozen=True, kw_only=True, tag="state_noted"):
    """Something that must survive, noted by a person, a tool or a model."""

    kind: str
    text: BodyKey
    status: str = ""
    source: Spans = ()
    source_text: BodyKey | None = None
    supersedes: int = 0
    """Version of the note it replaces; 0 = none."""
    is_pinned: bool = False


class ItemPinned(Event, frozen=True, kw_only=True, tag="item_pinned"):
    """The item must stay verbatim."""

    items: Spans


class ItemUnpinned(Event, frozen=True, kw_only=True, tag="item_unpinned"):
    """The pin is off."""

    items: Spans


class PhaseChanged(Event, frozen=True, kw_only=True, tag="phase_changed"):
    """The work entered another phase."""

    name: BodyKey


class ItemsRecalled(Event, frozen=True, kw_only=True, tag="items_recalled"):
    """What left the window was searched."""

    query: BodyKey
    items: Spans = ()


class RecordQuarantined(Event, frozen=True, kw_only=True, tag="record_quarantined"):
    """A record could not be read; its bytes stay in the source."""

    source: int
    offset: int
    length: int
    reason: str


class ContentRedacted(Event, frozen=True, kw_only=True, tag="content_redacted"):
    """Contents were removed for good; only digests are left."""

    bodies: tuple[BodyKey, ...] = ()
    instead: tuple[BodyKey, ...] = ()
    """What is read in the place of each of `bodies`, empty bytes = a note alone; or none at all."""
    items: Spans = ()
    reason: str
    """What was asked for: `secrets`, `pattern`, `text`, `item`."""
    rule: str = ""
    """The finder and the date of its table."""
    kinds: tuple[tuple[str, int], ...] = ()
    """What was found, and how often."""
    sources: tuple[int, ...] = ()
    """Sources with bytes that were overwritten."""
    masked_bytes: int = 0
    """Bytes of all these sources together."""
    note: BodyKey | None = None
    """Why, in a person's words."""


AnyEvent = (
    SessionOpened
    | SystemSet
    | ToolsSet
    | MessageAppended
    | MessageExtended
    | ModelCalled
    | CallCompleted
    | ItemsEvicted
    | WindowCompacted
    | ItemsReinjected
    | CheckRan
    | RolledBack
    | WindowRewritten
    | CompactionProposed
    | ProposalDiscarded
    | StateNoted
    | ItemPinned
    | ItemUnpinned
    | PhaseChanged
    | ItemsRecalled
    | RecordQuarantined
    | ContentRedacted
)
WindowEvent = (
    SystemSet
    | ToolsSet
    | MessageAppended
    | MessageExtended
    | ItemsEvicted
    | WindowCompacted
    | ItemsReinjected
    | RolledBack
    | WindowRewritten
)
EVENT_TYPES: dict[str, type[Event]] = {
    str(cls.__struct_config__.tag): cls for cls in AnyEvent.__args__
}
WINDOW_TYPES: tuple[str, ...] = tuple(
    str(cls.__struct_config__.tag) for cls in WindowEvent.__args__
)


def messages_of(event: AnyEvent) -> tuple[StoredMessage, ...]:
    """What the event brought along; item `<version>.<i>` is block i over all of them."""
    return getattr(event, "messages", ())
