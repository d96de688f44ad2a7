"""Ledgers of a known size, made by appending events as a long-running agent would."""

from __future__ import annotations

from pathlib import Path

from ctxledger.ledger import Ledger
from ctxledger.ledger.content import Block
from ctxledger.ledger.drafts import AppendMessage, ImportCompaction, OpenSession

WINDOW_ITEMS = 360
KEPT_ITEMS = 180
EVENTS_PER_COMMIT = 10_000


def long_session(path: Path, versions: int, window_items: int = WINDOW_ITEMS) -> str:
    """A session of `versions` events whose window grows to `window_items` and is compacted.

    Returns:
        Its name.
    """
    name = "long"
    with Ledger.open(path, is_durable=False) as ledger:
        with ledger.store.transaction():
            ledger.writer.write(OpenSession(session=name, format="native", title="long"))
        version, in_window = 1, 0
        recent: list[str] = []
        while version < versions:
            with ledger.store.transaction():
                for _ in range(min(EVENTS_PER_COMMIT, versions - version)):
                    if in_window >= window_items:
                        keep = recent[-KEPT_ITEMS:]
                        ledger.writer.write(_compaction(name, version, keep))
                        in_window = len(keep) + 1
                    else:
                        ledger.writer.write(_message(name, version))
                        recent.append(f"id{version}")
                        in_window += 1
                    version += 1
            recent = recent[-window_items:]
    return name


def _message(name: str, version: int) -> AppendMessage:
    role = "user" if version % 2 else "assistant"
    text = f"message {version}: the quick brown fox jumps over the lazy dog in file_{version}.py. "
    block = Block(type="text", text=text * 4, origin="human" if version % 2 else "assistant")
    return AppendMessage(session=name, role=role, blocks=(block,), message=f"id{version}")


def _compaction(name: str, version: int, keep: list[str]) -> ImportCompaction:
    block = Block(type="text", text=f"Summary up to {version}.", origin="summary")
    return ImportCompaction(
        session=name,
        message=f"s{version}",
        role="user",
        blocks=(block,),
        keep=tuple(keep),
        trigger="auto",
    )
