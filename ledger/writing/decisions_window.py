"""Decisions that rearrange the window: evictions, compactions, re-injections, rewrites.

The second half of decisions.py. Knows nothing about the database, clocks or formats.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..blocks import Put, store_block, store_message
from ..content import Block, is_opaque, label, to_bytes
from ..deltas import delta_between, spans_of
from ..drafts import EvictItems, EvictResults, ImportCompaction, Keep, ReinjectItems, RewriteWindow
from ..errors import BadInput
from ..events import (
    AnyEvent,
    BodyKey,
    Delta,
    ItemsEvicted,
    ItemsReinjected,
    StoredMessage,
    Tokens,
    WindowCompacted,
    WindowRewritten,
)
from ..window import Entry
from .session_state import SessionState, keys_standing_for, resolve_item

STAND_INS = frozenset({"placeholder", "offloaded", "truncated"})
"""Forms in which something shorter stands for an item."""


def body_of(text: str, put: Put) -> BodyKey | None:
    """Put a text away; None for no text."""
    return put(to_bytes(text)) if text else None


def _placeholders(
    keys: Sequence[str], text: str, state: SessionState, put: Put, version: int
) -> tuple[tuple[StoredMessage, ...], Delta]:
    block = store_block(Block(type="text", text=text, origin="system"), put)
    replaced = tuple(
        f"{key} placeholder {state.window.entries[key].item or '='} {version}.0" for key in keys
    )
    return (StoredMessage("", "", (block,)),), Delta(replace=replaced)


def evict_results(draft: EvictResults, state: SessionState, put: Put) -> list[AnyEvent]:
    """Put placeholders in the place of results that another agent cleared."""
    wanted = {item for tool in draft.tool_ids for item in state.names.results_of(tool)}
    keys = [e.key for e in state.entries if e.item_id in wanted and e.form == "verbatim"]
    version = state.version + 1
    messages: tuple[StoredMessage, ...] = ()
    delta = Delta()  # the agent cleared only what it never recorded: still a fact
    if keys:
        messages, delta = _placeholders(keys, draft.placeholder, state, put, version)
    tokens = None if draft.saved_tokens is None else Tokens(draft.saved_tokens, draft.counter)
    return [
        ItemsEvicted(
            number=state.names.evictions_count + 1,
            items=spans_of(keys, list(state.window.entries)),
            rule="agent",
            reason=body_of(draft.reason, put),
            tokens=tokens,
            is_inferred=draft.is_inferred,
            messages=messages,
            delta=delta,
            at_ms=draft.at_ms,
        )
    ]


def evict_items(draft: EvictItems, state: SessionState, put: Put) -> list[AnyEvent]:
    """Take items out of the window, or put placeholders in their place."""
    if not draft.items:
        raise BadInput("An eviction names no items.", "Give `items`.")
    version = state.version + 1
    keys = keys_standing_for(draft.items, state)
    if draft.placeholder:
        messages, delta = _placeholders(keys, draft.placeholder, state, put, version)
    else:
        messages, delta = (), Delta(remove=spans_of(keys, list(state.window.entries)))
    return [
        ItemsEvicted(
            number=state.names.evictions_count + 1,
            items=spans_of(keys, list(state.window.entries)),
            rule="agent",
            reason=body_of(draft.reason, put),
            messages=messages,
            delta=delta,
            at_ms=draft.at_ms,
        )
    ]


def import_compaction(draft: ImportCompaction, state: SessionState, put: Put) -> AnyEvent:
    """The summary takes the place of what left; kept messages stay in their order."""
    version = state.version + 1
    entries = state.entries
    fixed_count = state.fixed_count()
    brief = [
        Entry(f"{version}.{i}", "opaque" if is_opaque(block) else "brief")
        for i, block in enumerate(draft.blocks)
    ]
    if draft.sources is None:
        kept_items = {i for m in draft.keep for i in state.names.items_of(m)}
        body = entries[fixed_count:]
        kept = [e for e in body if e.item_id in kept_items]
        gone = [e for e in body if e.item_id not in kept_items]
        target = [*entries[:fixed_count], *(kept + brief if draft.keep_first else brief + kept)]
    else:
        gone_keys = set(keys_standing_for(draft.sources, state))
        gone = [e for e in entries if e.key in gone_keys]
        first = next((n for n, e in enumerate(entries) if e.key in gone_keys), len(entries))
        first = max(first, fixed_count)  # no brief among tools and system
        stays = [e for e in entries if e.key not in gone_keys]
        place = sum(e.key not in gone_keys for e in entries[:first])
        target = [*stays[:place], *brief, *stays[place:]]
    depth = 1 + max((state.names.depths.get(e.item_id, 0) for e in gone), default=0)
    before = None if draft.tokens_before is None else Tokens(draft.tokens_before, "provider")
    after = None if draft.tokens_after is None else Tokens(draft.tokens_after, "provider")
    message_id = draft.message or f"m{version}"
    return WindowCompacted(
        number=state.names.compactions_count + 1,
        sources=spans_of([e.key for e in gone], [e.key for e in entries]),
        brief=tuple(entry.key for entry in brief),
        method=draft.method,
        trigger=label(draft.trigger),
        reason=body_of(draft.reason, put),
        base_version=state.version,
        outcome="imported",
        depth=depth,
        tokens_before=before,
        tokens_after=after,
        messages=(store_message(message_id, draft.role, draft.blocks, put),),
        delta=delta_between(entries, target),
        at_ms=draft.at_ms,
    )


def reinject(draft: ReinjectItems, state: SessionState, put: Put) -> AnyEvent:
    """Stand-ins become verbatim again; what has left comes back as a copy at its new place."""
    version = state.version + 1
    items = list(dict.fromkeys(resolve_item(item, state) for item in draft.items))
    present = {e.item_id for e in state.entries}
    new = [Entry(item, "reinjected") for item in items if item not in present]
    messages: tuple[StoredMessage, ...] = ()
    if draft.text:
        block = Block(type="text", text=draft.text, origin="system")
        messages = (store_message(f"m{version}", "user", (block,), put),)
        new.append(Entry(f"{version}.0", "reinjected"))
    target = [
        Entry(e.key, "verbatim", e.item) if e.item_id in items and e.form in STAND_INS else e
        for e in state.entries
    ]
    place = len(target)
    if draft.after:
        after = keys_standing_for((draft.after,), state)[-1]
        place = 1 + next(n for n, e in enumerate(target) if e.key == after)
    front = state.fixed_count()
    fixed = [e for e in new if e.key in state.names.fixed]
    others = [e for e in new if e.key not in state.names.fixed]
    place = max(place, front)
    target = [*target[:front], *fixed, *target[front:place], *others, *target[place:]]
    return ItemsReinjected(
        items=tuple(items),
        reason=body_of(draft.reason, put),
        messages=messages,
        delta=delta_between(state.entries, target),
        at_ms=draft.at_ms,
    )


def rewrite(draft: RewriteWindow, state: SessionState, put: Put) -> AnyEvent:
    """Make the conversation part of the window exactly what the draft says."""
    version = state.version + 1
    entries = state.entries
    current = {e.item_id: e for e in entries}
    target = list(entries[: state.fixed_count()])
    stand_ins = state.names.stand_ins if draft.is_return else {}
    placed = {e.key for e in target}
    messages: list[StoredMessage] = []
    count = 0
    for part in draft.parts:
        if isinstance(part, Keep):
            items = state.names.items_of(part.message)
            last = None if part.count < 0 else part.first + part.count
            kept = [current.get(i) or stand_ins.get(i, Entry(i)) for i in items[part.first : last]]
            target.extend(e for e in kept if e.key not in placed)
            placed.update(e.key for e in kept)
            continue
        messages.append(store_message(part.message, part.role, part.blocks, put))
        target.extend(Entry(f"{version}.{count + i}") for i in range(len(part.blocks)))
        count += len(part.blocks)
    return WindowRewritten(
        cause=draft.cause,
        is_inferred=draft.is_inferred,
        evidence=body_of(draft.evidence, put),
        messages=tuple(messages),
        delta=delta_between(entries, target),
        at_ms=draft.at_ms,
    )
