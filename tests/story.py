"""A small session told step by step, for tests of what happens to items."""

from __future__ import annotations

from pathlib import Path

from ctxledger.ledger import Ledger
from ctxledger.ledger.content import Block
from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    CompleteCall,
    EvictItems,
    ImportCompaction,
    Keep,
    OpenSession,
    ReinjectItems,
    RewriteWindow,
    StartCall,
    Usage,
)
from ctxledger.ledger.session import Session


class Story:
    """Writes drafts of one observed session; each gives the item it brought."""

    def __init__(self, ledger: Ledger, name: str = "story", **opened: object) -> None:
        self.ledger, self.name = ledger, name
        self.tell(OpenSession(session=name, format="test", **opened))  # type: ignore[arg-type]

    def tell(self, draft: AnyDraft) -> str:
        with self.ledger.store.transaction():
            written = self.ledger.writer.write(draft)
        return f"{written.first_version}.0"

    def say(
        self, text: str, role: str = "user", message: str = "", at_ms: int | None = None
    ) -> str:
        block = Block(type="text", text=text, origin="human" if role == "user" else "assistant")
        return self.put(block, role=role, message=message, at_ms=at_ms)

    def put(
        self, *blocks: Block, role: str = "user", message: str = "", at_ms: int | None = None
    ) -> str:
        return self.tell(
            AppendMessage(session=self.name, role=role, blocks=blocks, message=message, at_ms=at_ms)
        )

    def compact(self, brief: str, keep: tuple[str, ...] = ()) -> str:
        block = Block(type="text", text=brief, origin="summary")
        return self.tell(
            ImportCompaction(
                session=self.name,
                message="",
                role="user",
                blocks=(block,),
                keep=keep,
                trigger="auto",
                tokens_before=174_247,
            )
        )

    def call(self, name: str, context_tokens: int, model: str = "model-1") -> None:
        self.tell(StartCall(session=self.name, call=name, model=model))
        usage = Usage(input_tokens=context_tokens)
        self.tell(CompleteCall(session=self.name, call=name, usage=usage))

    def evict(self, item: str, placeholder: str = "") -> None:
        self.tell(EvictItems(session=self.name, items=(item,), placeholder=placeholder))

    def reinject(self, item: str) -> None:
        self.tell(ReinjectItems(session=self.name, items=(item,)))

    def rewind(self, *messages: str) -> None:
        parts = tuple(Keep(message) for message in messages)
        self.tell(RewriteWindow(session=self.name, parts=parts, cause="rewind"))

    @property
    def session(self) -> Session:
        return self.ledger.find(self.name)


def open_ledger(path: Path | str = ":memory:", mode: str = "write") -> Ledger:
    """A ledger with a counter that needs no table and a clock that stands still."""
    return Ledger.open(path, mode, clock_us=lambda: 1_800_000_000_000_000)  # type: ignore[arg-type]
