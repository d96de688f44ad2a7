"""Contents, apart from events: each under a key that commits to it and can outlive it.

Contents of 1 KB and more are stored once. Redaction removes contents, salt and lookup; the key
stays, so the chain still verifies, and may name other contents to be read instead. Knows nothing
about events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..content import REDACTED_TEXT
from ..errors import CorruptLedger
from .chain import commit_to, content_digest
from .codec import pack, unpack
from .connection import Connection, Row

SHARED_BYTES_MIN = 1024
SALT_BYTES = 16
LOOKUP_BATCH = 500
REPLACED_TIMES_MAX = 1000
"""Contents that were replaced more often are damage."""
REDACTED = REDACTED_TEXT.encode()
"""What reads back for contents that were removed."""


class Bodies:
    """The `bodies` table."""

    def __init__(self, connection: Connection, entropy: Callable[[int], bytes]) -> None:
        self._db = connection
        self._entropy = entropy

    def put(self, data: bytes) -> bytes:
        """Store contents inside a transaction and give their key.

        Equal contents of `SHARED_BYTES_MIN` or more are stored once.
        """
        lookup = None
        if len(data) >= SHARED_BYTES_MIN:
            lookup = content_digest(data)
            row = self._db.row("SELECT key FROM bodies WHERE lookup = ?", (lookup,))
            if row is not None:
                return bytes(row[0])
        salt = self._entropy(SALT_BYTES)
        key = commit_to(salt, data)
        packed = pack(data)
        self._db.execute(
            "INSERT INTO bodies(key, salt, size, data, lookup) VALUES (?, ?, ?, ?, ?)",
            (key, salt, len(data), packed, lookup),
        )
        self._db.note_written(len(packed) + 100)
        return key

    def get(self, key: bytes) -> bytes:
        """Contents by key; what stands in their place, or `REDACTED`, when they were removed.

        Raises:
            CorruptLedger: missing, or not what the key commits to.
        """
        return self.get_many((key,))[key]

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Contents for many keys in few queries; each is checked against its key.

        Raises:
            CorruptLedger: one is missing, or not what its key commits to.
        """
        found, faults = self.get_sound(keys)
        for fault in faults.values():
            raise fault
        return found

    def get_sound(
        self, keys: Iterable[bytes]
    ) -> tuple[dict[bytes, bytes], dict[bytes, CorruptLedger]]:
        """(contents that are as they were stored, what is wrong with the others), by key."""
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, bytes] = {}
        faults: dict[bytes, CorruptLedger] = {}
        asked_by = {key: [key] for key in wanted}
        for _ in range(REPLACED_TIMES_MAX):
            if not asked_by:
                break
            asked_by = self._read(asked_by, found, faults)
        for key in wanted:
            if key not in found and key not in faults:
                faults[key] = _fault(key, "are missing")
        return found, faults

    def _read(
        self,
        asked_by: dict[bytes, list[bytes]],
        found: dict[bytes, bytes],
        faults: dict[bytes, CorruptLedger],
    ) -> dict[bytes, list[bytes]]:
        """Read keys for those who asked; gives the keys that stand in for others, and for whom."""
        further: dict[bytes, list[bytes]] = {}
        for key, salt, data, instead in self._rows("key, salt, data, instead", list(asked_by)):
            if data is None and instead is not None:
                further.setdefault(instead, []).extend(asked_by[key])
                continue
            try:
                contents = self._checked(key, salt, data)
            except CorruptLedger as fault:
                faults.update(dict.fromkeys(asked_by[key], fault))
            else:
                found.update(dict.fromkeys(asked_by[key], contents))
        return further

    def _rows(self, columns: str, keys: list[bytes]) -> Iterator[Row]:
        for start in range(0, len(keys), LOOKUP_BATCH):
            batch = keys[start : start + LOOKUP_BATCH]
            marks = ",".join("?" * len(batch))
            yield from self._db.rows(f"SELECT {columns} FROM bodies WHERE key IN ({marks})", batch)

    def redacted(self, keys: Iterable[bytes]) -> set[bytes]:
        """Those of the keys whose contents were removed, replaced ones too."""
        found = self._rows("key, data IS NULL", list(dict.fromkeys(keys)))
        return {key for key, is_removed in found if is_removed}

    def redact(self, key: bytes, instead: bytes | None) -> bytes | None:
        """Remove contents for good, inside a transaction.

        Args:
            instead: contents to be read in their place, None = a note alone.

        Returns:
            The key of what stands in their place.
        """
        new = self.put(instead) if instead is not None else None
        self._db.execute(
            "UPDATE bodies SET data = NULL, salt = NULL, lookup = NULL, instead = ? WHERE key = ?",
            (new, key),
        )
        return new

    def all(self) -> Iterator[tuple[bytes, bytes]]:
        """(key, contents) of all that are there, oldest first; damaged ones are left out."""
        for key, salt, data in self._db.rows(
            "SELECT key, salt, data FROM bodies WHERE data IS NOT NULL ORDER BY id"
        ):
            try:
                yield key, self._checked(key, salt, data)
            except CorruptLedger:
                continue  # `verify` reports it

    def ids_of(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """Row ids for keys, for the caches."""
        return dict(self._rows("key, id", list(dict.fromkeys(keys))))

    def _checked(self, key: bytes, salt: bytes | None, packed: bytes | None) -> bytes:
        if salt is None or packed is None:
            return REDACTED
        try:
            data = unpack(packed)
        except CorruptLedger as error:
            raise _fault(key, "cannot be read") from error
        if commit_to(salt, data) != key:
            raise _fault(key, "were changed on disk")
        return data


def _fault(key: bytes, what: str) -> CorruptLedger:
    return CorruptLedger(
        f"The contents {key.hex()} {what}.", "Run `ctxledger verify` to see what is affected."
    )
