"""How many items an event moved into and out of the window, in words.

Knows nothing about layout.
"""

from __future__ import annotations

from ctxledger.ledger import Session
from ctxledger.ledger.deltas import diff


def moves(session: Session, version: int) -> str:
    """`57 items out, 1 in`, from the windows before and after; says so when they are equal."""
    before = session.store.window(session.id, version - 1)
    after = session.store.window(session.id, version)
    change = diff(before, after)
    parts = [
        f"{len(entries):,} {words}"
        for entries, words in (
            (change.dropped, "out"),
            (change.added, "in"),
            (change.changed, "in another form"),
            (change.moved, "moved"),
        )
        if entries
    ]
    if not parts:
        return "nothing in this window changed"
    count, _, words = parts[0].partition(" ")
    noun = "item" if count == "1" else "items"
    return ", ".join([f"{count} {noun} {words}", *parts[1:]])
