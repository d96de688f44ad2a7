"""Windows from storage: the nearest snapshot, then the deltas behind it.

Snapshots are caches, each behind a digest of itself: a damaged or foreign one is passed over.
Knows nothing about contents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from ..errors import CorruptLedger
from ..event_codec import decode
from ..events import WINDOW_TYPES, AnyEvent
from ..window import PROJECTOR_VERSION, Entry, Window, WindowBuilder, entries_of, texts_of
from .chain import content_digest
from .codec import pack, unpack
from .connection import Connection

_WINDOW_TYPES_SQL = "(" + ",".join(f"'{name}'" for name in WINDOW_TYPES) + ")"
SNAPSHOT_EVERY = 64
"""Window changes between snapshots, for windows of up to 1,024 entries; more for larger ones."""


SNAPSHOT_DIGEST_BYTES = 8


def snapshot_texts(data: bytes) -> list[str] | None:
    """The entries of a stored snapshot, as `texts_of` wrote them; None when it is damaged."""
    digest, packed = data[:SNAPSHOT_DIGEST_BYTES], data[SNAPSHOT_DIGEST_BYTES:]
    if content_digest(packed)[:SNAPSHOT_DIGEST_BYTES] != digest:
        return None
    texts: list[str] = json.loads(unpack(packed))
    return texts


class Lineage(Struct, frozen=True):
    """The part of a session's history that one stream holds."""

    session: int
    after: int
    """Versions in (after, to]."""
    to: int


def snapshot_interval(entries: int) -> int:
    """Window changes between snapshots: 64, and a sixteenth of larger windows."""
    return max(SNAPSHOT_EVERY, entries // 16)


class Windows:
    """The `snapshots` table, and windows built from it."""

    def __init__(self, connection: Connection, lineage: Callable[[int], Sequence[Lineage]]) -> None:
        """`lineage` gives the streams that hold a session's history, oldest first."""
        self._db = connection
        self._lineage = lineage

    def read(self, session: int, version: int) -> Window:
        """The window after `version`: the nearest snapshot, then the deltas behind it."""
        base_version, entries = self._snapshot(session, version)
        builder = WindowBuilder(entries)
        for delta_version, event in self._deltas(session, base_version, version):
            try:
                builder.apply(event.delta)  # type: ignore[union-attr]
            except AttributeError as error:
                raise CorruptLedger(
                    f"Event {delta_version} is not what its row says.", "Run `ctxledger verify`."
                ) from error
            except KeyError as error:
                raise CorruptLedger(
                    f"Event {delta_version} changes {error}, which is not in the window.",
                    "Run `ctxledger rebuild`; if it stays, `ctxledger verify`.",
                ) from error
            except ValueError as error:
                raise CorruptLedger(
                    f"Event {delta_version} changes the window in a way that cannot be read.",
                    "Run `ctxledger verify`.",
                ) from error
        return builder.window(version)

    def _deltas(self, session: int, after: int, to: int) -> Iterator[tuple[int, AnyEvent]]:
        for part in self._lineage(session):
            if part.after >= to or part.to <= after:
                continue
            for version, data in self._db.rows(
                "SELECT version, data FROM events WHERE session = ? AND version > ? AND"
                f" version <= ? AND type IN {_WINDOW_TYPES_SQL} ORDER BY version",
                (part.session, max(after, part.after), min(to, part.to)),
            ):
                yield version, decode(unpack(data))

    def _snapshot(self, session: int, version: int) -> tuple[int, Iterable[Entry]]:
        for part in reversed(self._lineage(session)):
            if part.after >= version:
                continue
            for at, data in self._db.rows(
                "SELECT version, data FROM snapshots WHERE session = ? AND version <= ? AND"
                " projector = ? ORDER BY version DESC",
                (part.session, min(version, part.to), PROJECTOR_VERSION),
            ):
                texts = snapshot_texts(data)
                if texts is not None:  # else a damaged cache: the one before it will do
                    return int(at), tuple(entries_of(texts))
        return 0, ()

    def keep(self, session: int, window: Window) -> None:
        """Keep a window's structure, inside a transaction.

        Raises:
            CorruptLedger: it has entries that are no items, from a damaged event.
        """
        try:
            texts = texts_of(window.entries)
        except ValueError as error:
            raise CorruptLedger(
                f"The window at {window.version} holds what is no item.", "Run `ctxledger verify`."
            ) from error
        packed = pack(json.dumps(texts, separators=(",", ":")).encode())
        data = content_digest(packed)[:SNAPSHOT_DIGEST_BYTES] + packed
        self._db.execute(
            "INSERT OR REPLACE INTO snapshots(session, version, projector, data)"
            " VALUES (?, ?, ?, ?)",
            (session, window.version, PROJECTOR_VERSION, data),
        )
        self._db.note_written(len(data))

    def changes_since_snapshot(self, session: int) -> int:
        """Window changes behind the newest snapshot of a session."""
        row = self._db.row(
            "SELECT count(*) FROM events WHERE session = ? AND version > coalesce((SELECT"
            " max(version) FROM snapshots WHERE session = ? AND projector = ?), 0)"
            f" AND type IN {_WINDOW_TYPES_SQL}",
            (session, session, PROJECTOR_VERSION),
        )
        return int(row[0]) if row is not None else 0

    def first_of_last_changes_by(self, session: int, actor: str) -> int | None:
        """The first version of the unbroken run of window changes by `actor` at the head."""
        first = None
        for version, by in self._db.rows(
            "SELECT version, actor FROM events WHERE session = ?"
            f" AND type IN {_WINDOW_TYPES_SQL} ORDER BY version DESC",
            (session,),
        ):
            if by != actor:
                break
            first = int(version)
        return first

    def change_before(self, session: int, version: int, steps: int) -> int:
        """The version just before the last `steps` window changes up to `version`; 0 at least."""
        for part in reversed(self._lineage(session)):
            if part.after >= version:
                continue
            for (changed,) in self._db.rows(
                "SELECT version FROM events WHERE session = ? AND version > ? AND version <= ?"
                f" AND type IN {_WINDOW_TYPES_SQL} ORDER BY version DESC",
                (part.session, part.after, min(version, part.to)),
            ):
                steps -= 1
                if steps == 0:
                    return int(changed) - 1
        return 0
