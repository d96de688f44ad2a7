"""Empties all caches to make room; they are made anew when they are next needed.

Knows nothing about events.
"""

from __future__ import annotations

from ..storage.migrations import CACHE_TABLES
from ..storage.store import Store


def drop_caches(store: Store) -> int:
    """Empty all caches and give the room back; gives the bytes that the file lost.

    Raises:
        LedgerBusy: somebody else writes or reads; the caches may be gone already.
    """
    db = store.db
    before = _size_bytes(store)
    with store.transaction():
        for name in CACHE_TABLES:
            if name not in ("session_rows", "search"):
                db.execute(f"DELETE FROM {name}")
        db.execute("INSERT INTO search(search) VALUES ('delete-all')")
        db.execute("UPDATE session_rows SET data = CAST('{}' AS BLOB)")
    db.execute("VACUUM")
    db.checkpoint()
    return before - _size_bytes(store)


def _size_bytes(store: Store) -> int:
    pages, page_bytes = (store.db.row(f"PRAGMA {name}") for name in ("page_count", "page_size"))
    assert pages is not None, "BUG: no page count"
    assert page_bytes is not None, "BUG: no page size"
    return int(pages[0]) * int(page_bytes[0])
