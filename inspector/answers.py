"""What the feed answers, as plain values. Knows nothing about Textual and storage."""

from __future__ import annotations

from msgspec import Struct

from ctxledger.ledger.content import Block, readable
from ctxledger.ledger.views.contents import ViewEntry


class SessionLine(Struct, frozen=True, kw_only=True):
    """A session as the list shows it; zero and "" = not known."""

    id: int
    name: str
    title: str = ""
    format: str = ""
    model: str = ""
    relation: str = ""
    version: int = 0
    calls: int = 0
    compactions: int = 0
    reported_tokens: int = 0
    limit_tokens: int = 0
    last_at_ms: int | None = None


class SessionOverview(Struct, frozen=True, kw_only=True):
    """What the screens must know of a session to begin with."""

    id: int
    name: str
    head: int
    compactions: tuple[int, ...]


class Provenance(Struct, frozen=True, kw_only=True):
    """Where an item came from."""

    version: int
    event: str
    """Type of the event that introduced it."""
    actor: str
    at_ms: int | None
    source: str = ""
    """Name of the file or pipe; "" when it was recorded through the API."""
    source_format: str = ""
    offset: int = 0
    length: int = 0


class ItemPicture(Struct, frozen=True, kw_only=True):
    """One item in full."""

    item: str
    block: Block
    """The raw contents."""
    shown: ViewEntry | None
    """How the window at `at` shows it; None = not in that window."""
    at: int
    tokens: int
    tokens_method: str
    message: str
    role: str
    origin: Provenance
    is_in_head: bool
    left_at: tuple[int, str] = (0, "")
    """Version and words (`c1`, `rewrite at 60`) of what took it out last; (0, "") = nothing."""

    @property
    def raw(self) -> str:
        """Its words exactly as recorded, for copying."""
        return readable(self.block)
