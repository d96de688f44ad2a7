"""Counted tokens of stored blocks, each body counted once for each counter.

Knows nothing about windows; see tokens.py for the counters themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..content import Block
from ..errors import ConflictError, StorageFailed
from ..storage.store import Store
from ..tokens import Counter, count_block

LOOKUP_BATCH = 500


class TokenCache:
    """The `tokens` table, and counts that could not be kept there."""

    def __init__(self, store: Store, counter: Counter) -> None:
        self._store = store
        self._counter = counter
        self._memory: dict[bytes, int] = {}

    @property
    def name(self) -> str:
        """The counter's name, shown with each number."""
        return self._counter.name

    def forget(self) -> None:
        """Count again what was counted: contents may have been redacted."""
        self._memory.clear()

    def count(self, blocks: Mapping[str, tuple[bytes, Block]]) -> dict[str, int]:
        """Count blocks, given as id -> (body key, block); contents are read only if needed."""
        self.known(key for key, _ in blocks.values())
        fresh: dict[bytes, int] = {}
        for key, block in blocks.values():
            if key not in self._memory:
                fresh[key] = self._memory[key] = count_block(self._counter, block)
        if fresh:
            self._keep(fresh)
        return {item: self._memory[key] for item, (key, _) in blocks.items()}

    def known(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """The counts that are known already, by body key; no contents are read."""
        wanted = set(keys)
        self._memory.update(self._known([key for key in wanted if key not in self._memory]))
        return {key: self._memory[key] for key in wanted if key in self._memory}

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for start in range(0, len(keys), LOOKUP_BATCH):
            batch = keys[start : start + LOOKUP_BATCH]
            found.update(
                self._store.db.rows(
                    "SELECT key, n FROM bodies JOIN tokens ON tokens.body = bodies.id"
                    f" WHERE key IN ({','.join('?' * len(batch))}) AND counter = ?",
                    (*batch, self._counter.name),
                )
            )
        return found

    def _keep(self, fresh: Mapping[bytes, int]) -> None:
        """Save counts for the next time; another writer or a read-only file is no obstacle."""
        if self._store.db.mode == "read" or self._store.db.in_transaction:
            return
        ids = self._store.bodies.ids_of(fresh)
        try:
            with self._store.db.transaction(wait_s=0.02):
                self._store.db.executemany(
                    "INSERT OR IGNORE INTO tokens(body, counter, n) VALUES (?, ?, ?)",
                    [(ids[key], self._counter.name, n) for key, n in fresh.items() if key in ids],
                )
        except (ConflictError, StorageFailed):
            return  # a cache: counted again next time
