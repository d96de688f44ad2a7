"""From drafts to events: what a draft means for the window as it stands.

`decide` reads the state and gives events; contents are put away through a function that is an
argument. Knows nothing about the database, clocks or formats.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..blocks import Put, keys_in, load_block, store_message
from ..content import Block, digest_of, label, to_bytes
from ..deltas import delta_between
from ..drafts import (
    AnyDraft,
    AppendMessage,
    ChangePhase,
    CompleteCall,
    EvictItems,
    EvictResults,
    ExtendMessage,
    ImportCompaction,
    Note,
    ReinjectItems,
    RewriteWindow,
    SetSystem,
    SetTools,
    StartCall,
)
from ..errors import UnknownReference
from ..events import (
    AnyEvent,
    CallCompleted,
    Delta,
    ItemPinned,
    MessageAppended,
    MessageExtended,
    ModelCalled,
    PhaseChanged,
    StateNoted,
    StoredBlock,
    StoredMessage,
    SystemSet,
    ToolsSet,
)
from ..window import Entry
from .decisions_window import (
    body_of,
    evict_items,
    evict_results,
    import_compaction,
    reinject,
    rewrite,
)
from .session_state import SessionState, resolve_item


def decide(draft: AnyDraft, state: SessionState, put: Put) -> list[AnyEvent]:
    """The events that a draft amounts to, 0 to 2.

    Raises:
        UnknownReference: a native line names an item that does not exist.
        BadInput: it asks for something impossible.
    """
    match draft:
        case AppendMessage():
            return [_append_message(draft, state, put)]
        case ExtendMessage():
            return [_extend_message(draft, state, put)]
        case SetSystem():
            return _set_fixed(draft.blocks, "system", draft.at_ms, state, put)
        case SetTools():
            return _set_fixed(draft.tools, "tools", draft.at_ms, state, put)
        case StartCall():
            return [_start_call(draft, state, put)]
        case CompleteCall():
            return [_complete_call(draft, state, put)]
        case EvictResults():
            return evict_results(draft, state, put)
        case EvictItems():
            return evict_items(draft, state, put)
        case ImportCompaction():
            return [import_compaction(draft, state, put)]
        case ReinjectItems():
            return [reinject(draft, state, put)]
        case RewriteWindow():
            return [rewrite(draft, state, put)]
        case Note():
            return _note(draft, state, put)
        case ChangePhase():
            return [PhaseChanged(name=put(to_bytes(draft.name)), at_ms=draft.at_ms)]
        case _:
            raise AssertionError(f"BUG: no decision for {type(draft).__name__}")


def _run(version: int, first: int, count: int) -> tuple[str, ...]:
    if count == 0:
        return ()
    return (f"{version}.{first}" if count == 1 else f"{version}.{first}-{first + count - 1}",)


def _append_message(draft: AppendMessage, state: SessionState, put: Put) -> AnyEvent:
    version = state.version + 1
    message = store_message(draft.message or f"m{version}", draft.role, draft.blocks, put)
    delta = Delta(append=_run(version, 0, len(draft.blocks)))
    return MessageAppended(messages=(message,), delta=delta, at_ms=draft.at_ms)


def _extend_message(draft: ExtendMessage, state: SessionState, put: Put) -> AnyEvent:
    version = state.version + 1
    items = state.names.items_of(draft.message)
    role = state.names.roles.get(label(draft.message))
    if role is None:
        raise UnknownReference(
            f"There is no message {draft.message} to extend.", "Give the id of an earlier message."
        )
    message = store_message(draft.message, role, draft.blocks, put)
    run = _run(version, 0, len(draft.blocks))
    own = frozenset(items)
    # In window order, which a rewritten message does not share with `items`.
    last = next((key for key in reversed(state.window.entries) if key in own), "")
    if items and not last:
        delta = Delta()  # the message has left the window, and so have its late blocks
    elif not items or last == next(reversed(state.window.entries)):
        delta = Delta(append=run)
    else:
        delta = Delta(insert=((last, run),))
    return MessageExtended(messages=(message,), delta=delta, at_ms=draft.at_ms)


def _set_fixed(
    blocks: Sequence[Block], role: str, at_ms: int | None, state: SessionState, put: Put
) -> list[AnyEvent]:
    """Replace the tool definitions or system blocks in force; equal ones keep their items."""
    version = state.version + 1
    entries = state.entries
    fixed = entries[: state.fixed_count()]
    names = state.names

    def is_tool(key: str) -> bool:
        return names.fixed[key].type == "tool"

    mine = [e for e in fixed if is_tool(e.key) == (role == "tools")]
    others = [e for e in fixed if is_tool(e.key) != (role == "tools")]
    known: dict[bytes, list[Entry]] = {}
    for entry in mine:
        known.setdefault(_digest(_load(state, names.fixed[entry.key])), []).append(entry)
    new_blocks: list[Block] = []
    target: list[Entry] = []
    for block in blocks:
        same = known.get(_digest(block))
        if same:
            target.append(same.pop(0))
        else:
            target.append(Entry(f"{version}.{len(new_blocks)}"))
            new_blocks.append(block)
    if target == mine:
        return []
    front = [*target, *others] if role == "tools" else [*others, *target]
    delta = delta_between(entries, [*front, *entries[len(fixed) :]])
    messages = (store_message("", role, new_blocks, put),) if new_blocks else ()
    event_type = ToolsSet if role == "tools" else SystemSet
    return [event_type(messages=messages, delta=delta, at_ms=at_ms)]


def _load(state: SessionState, stored: StoredBlock) -> Block:
    return load_block(stored, {key: state.read_body(key) for key in keys_in(stored)})


def _digest(block: Block) -> bytes:
    return digest_of([block.type, block.text, block.rest])


def _start_call(draft: StartCall, state: SessionState, put: Put) -> AnyEvent:
    return ModelCalled(
        number=state.calls.count() + 1,
        call=label(draft.call),
        model=label(draft.model),
        digest=draft.digest,
        params=body_of(draft.params, put),
        marks=body_of(draft.marks, put),
        is_retry=draft.is_retry,
        at_ms=draft.at_ms,
    )


def _complete_call(draft: CompleteCall, state: SessionState, put: Put) -> AnyEvent:
    version = state.version + 1
    called = state.calls.version_of(draft.call)
    messages, effective = _effective(draft, state, version, put)
    return CallCompleted(
        called=called,
        outcome=draft.outcome,
        stop_reason=label(draft.stop_reason),
        usage=draft.usage,
        iterations=draft.iterations,
        latency_ms=draft.latency_ms,
        error=body_of(draft.error, put),
        edits=body_of(draft.edits, put),
        messages=messages,
        effective=effective,
        at_ms=draft.at_ms,
    )


def _effective(
    draft: CompleteCall, state: SessionState, version: int, put: Put
) -> tuple[tuple[StoredMessage, ...], Delta | None]:
    """What the provider took away before the model saw it, as a delta on the window as sent."""
    entries = list(state.entries)
    target = list(entries)
    messages: tuple[StoredMessage, ...] = ()
    if draft.dropped_before:
        items = state.names.items_of(draft.dropped_before)
        start = items[draft.dropped_before_block] if len(items) > draft.dropped_before_block else ""
        places = {entry.key: place for place, entry in enumerate(entries)}
        if start in places:
            target = entries[: state.fixed_count()] + entries[places[start] :]
    cleared = {i for tool in draft.cleared_tool_ids for i in state.names.results_of(tool)}
    if cleared:
        cleared_text = Block(type="text", text="[cleared by the provider]", origin="system")
        messages = (store_message("", "", (cleared_text,), put),)
        target = [
            Entry(e.key, "placeholder", e.item, f"{version}.0") if e.item_id in cleared else e
            for e in target
        ]
    if target == entries:
        return (), None
    return messages, delta_between(entries, target)


def _note(draft: Note, state: SessionState, put: Put) -> list[AnyEvent]:
    source = _source_item(draft.source, state)
    items = (source,) if source else ()
    events: list[AnyEvent] = [
        StateNoted(
            kind=label(draft.kind),
            text=put(to_bytes(draft.text)),
            status=label(draft.status),
            source=items,
            source_text=None if items else body_of(draft.source, put),
            is_pinned=draft.is_pinned,
            at_ms=draft.at_ms,
        )
    ]
    if draft.is_pinned and items:
        events.append(ItemPinned(items=items, at_ms=draft.at_ms))
    return events


def _source_item(source: str, state: SessionState) -> str:
    """The item that a note names as its source; "" when it is some other text (a path, a name)."""
    try:
        return resolve_item(source, state)
    except UnknownReference:
        return ""
