"""Windows of a session as people see them: contents, counted tokens, what the provider reported.

Knows nothing about terminals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..events import CallCompleted
from ..storage.store import StoredEvent
from ..window import Entry, Window, WindowBuilder
from .calls import call_at
from .contents import (
    ViewEntry,
    WindowView,
    behind_compaction,
    category_of,
    load_items,
    load_sound_contents,
    place,
)
from .context_size import Reported, Weighed, size_of
from .limits import limit_at, max_tokens_of, model_at

if TYPE_CHECKING:
    from ..session import Session

View = Literal["sent", "effective"]


def view_window(session: Session, version: int, view: View) -> WindowView:
    """The window at a version with contents and counted tokens."""
    window = session.store.window(session.id, version)
    if view == "effective":
        window = _effective(session, window)
    entries = view_entries(session, window.entries)
    if view == "effective":
        entries = behind_compaction(entries)
    call = call_at(session, version)
    reported = _reported(session, call)
    limit = limit_at(session, call)
    context = size_of(
        entries,
        reported,
        model=model_at(session, call),
        counter=session.ledger.tokens.name,
        is_exact=session.opened.coverage == "exact",
        limit=limit,
        max_tokens=max_tokens_of(session, call),
    )
    return WindowView(
        session=session.name,
        version=version,
        view=view,
        coverage=session.opened.coverage,
        entries=entries,
        tokens_method=session.ledger.tokens.name,
        reported=reported.tokens if reported is not None else None,
        unrecorded=reported.unrecorded if reported is not None else None,
        limit=limit.tokens,
        limit_source=limit.source,
        context=context,
    )


def view_entries(session: Session, entries: Sequence[Entry]) -> tuple[ViewEntry, ...]:
    """Entries with contents and tokens, in the given order.

    Contents that are missing or changed on disk are never served: a note stands for them.
    """
    items = load_items(session.store, session.id, _ids(entries))
    blocks, damaged = load_sound_contents(session.store, items.values())
    placed = place(entries, items, blocks)
    # A stand-in is counted as what is shown: its own text, not the item's.
    bodies = {
        item: stored.block.body if item not in damaged else b"damaged:" + item.encode()
        for item, stored in items.items()
    }
    counts = session.ledger.tokens.count(
        {
            entry.key: (bodies[entry.text_id], shown.block)
            for entry, shown in zip(entries, placed, strict=True)
        }
    )
    redacted = session.store.bodies.redacted(item.block.body for item in items.values())
    return tuple(
        ViewEntry(
            key=entry.key,
            item=shown.item,
            form="redacted" if items[entry.text_id].block.body in redacted else entry.form,
            message=shown.message,
            role=shown.role,
            type=shown.block.type,
            origin=shown.block.origin,
            category=category_of(shown.role, shown.block.type, shown.block.origin, entry.form),
            tokens=counts[entry.key],
            block=shown.block,
        )
        for entry, shown in zip(entries, placed, strict=True)
    )


def count_tokens(session: Session, entries: Sequence[Entry]) -> dict[Entry, int]:
    """Counted tokens by entry; contents are read only where they were never counted."""
    items = load_items(session.store, session.id, {entry.text_id for entry in entries})
    known = session.ledger.tokens.known(stored.block.body for stored in items.values())
    bodies = {entry: items[entry.text_id].block.body for entry in entries}
    counts = {entry: known[body] for entry, body in bodies.items() if body in known}
    uncounted = [entry for entry in bodies if entry not in counts]
    views = view_entries(session, uncounted)
    return counts | {entry: view.tokens for entry, view in zip(uncounted, views, strict=True)}


def _ids(entries: Sequence[Entry]) -> set[str]:
    return {e.item_id for e in entries} | {e.text_id for e in entries}


def _completed_call(session: Session, version: int) -> tuple[StoredEvent, CallCompleted] | None:
    found = call_at(session, version)
    if found is None or found[1] is None:
        return None
    return found[0], found[1]


def _effective(session: Session, window: Window) -> Window:
    """The window less what the provider took away in the newest call up to its version."""
    found = _completed_call(session, window.version)
    if found is None or found[1].effective is None:
        return window
    call, completed = found
    assert completed.effective is not None, "BUG: checked above"
    sent = session.store.window(session.id, call.version).entries
    builder = WindowBuilder(sent)
    builder.apply(completed.effective)
    known = {entry.key for entry in sent}
    for entry in window.entries:
        if entry.key not in known:
            builder.entries[entry.key] = entry
    return builder.window(window.version)


def _reported(
    session: Session, call: tuple[StoredEvent, CallCompleted | None] | None
) -> Reported | None:
    """The context size that a call's provider reported, and the window it is the size of."""
    if call is None or call[1] is None or call[1].usage is None:
        return None
    called, completed = call[0], call[1]
    usage = completed.usage
    assert usage is not None, "BUG: checked above"
    if completed.iterations and completed.effective is None:
        usage = completed.iterations[0]  # later ones ran on what the provider made of it
    if not usage.context_tokens:
        return None
    sent = session.store.window(session.id, called.version)
    if completed.effective is not None:
        sent = _effective(session, sent)
    is_complete = bool(completed.stop_reason) and not completed.iterations
    return Reported(
        usage.context_tokens,
        weigh(session, sent.entries),
        (usage.output_tokens or 0) if is_complete else 0,
    )


def weigh(session: Session, entries: Sequence[Entry]) -> tuple[Weighed, ...]:
    """Entries with their counts, for estimates; contents are read only where never counted."""
    items = load_items(session.store, session.id, _ids(entries))
    counts = count_tokens(session, entries)
    return tuple(
        Weighed(
            key=entry.key,
            role=items[entry.item_id].role,
            type=items[entry.text_id].block.type,
            origin=items[entry.item_id].block.origin,
            tokens=counts[entry],
        )
        for entry in entries
    )
