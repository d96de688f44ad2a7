"""The simplest window there is, to check that drafts alone rebuild what was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from ctxledger.ledger.content import Block, digest_of
from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    ExtendMessage,
    Keep,
    RewriteWindow,
    SetSystem,
    SetTools,
    StartCall,
)
from ctxledger.ledger.render.base import Placed
from ctxledger.ledger.render.recorded import render_recorded

Json = dict[str, Any]


class SessionModel:
    """A session's window, kept the simplest way: what the drafts say, done to lists."""

    def __init__(self) -> None:
        self.system: tuple[Block, ...] = ()
        self.tools: tuple[Block, ...] = ()
        self.known: dict[str, list[Block]] = {}
        self.roles: dict[str, str] = {}
        self.window: list[tuple[str, int]] = []

    def introduce(self, message: str, role: str, blocks: Iterable[Block]) -> list[tuple[str, int]]:
        assert self.roles.setdefault(message, role) == role
        known = self.known.setdefault(message, [])
        first = len(known)
        known.extend(blocks)
        return [(message, place) for place in range(first, len(known))]

    def take(self, draft: AnyDraft) -> None:
        if isinstance(draft, SetSystem):
            self.system = draft.blocks
        elif isinstance(draft, SetTools):
            self.tools = draft.tools
        elif isinstance(draft, AppendMessage):
            assert draft.message
            assert draft.message not in self.known, "message ids are unique in a session"
            self.window += self.introduce(draft.message, draft.role, draft.blocks)
        elif isinstance(draft, ExtendMessage):
            role = self.roles[draft.message]
            self.window += self.introduce(draft.message, role, draft.blocks)
        elif isinstance(draft, RewriteWindow):
            self.rewrite(draft)

    def rewrite(self, draft: RewriteWindow) -> None:
        window: list[tuple[str, int]] = []
        for part in draft.parts:
            if isinstance(part, Keep):
                places = range(len(self.known[part.message]))
                last = None if part.count < 0 else part.first + part.count
                window += [(part.message, place) for place in places[part.first : last]]
            else:
                window += self.introduce(part.message, part.role, part.blocks)
        self.window = window

    def placed(self) -> list[Placed]:
        placed = [Placed("", "verbatim", "", "tools", block) for block in self.tools]
        placed += [Placed("", "verbatim", "", "system", block) for block in self.system]
        return placed + [
            Placed("", "verbatim", message, self.roles[message], self.known[message][place])
            for message, place in self.window
        ]


def rebuilt_requests(drafts: Iterable[AnyDraft]) -> list[Json]:
    """Each call's request, rendered from the window that the drafts before it make."""
    sessions: dict[str, SessionModel] = {}
    bodies = []
    for draft in drafts:
        model = sessions.setdefault(draft.session, SessionModel())
        model.take(draft)
        if isinstance(draft, StartCall) and draft.digest:
            body = render_recorded(model.placed(), draft.params, draft.marks)
            assert digest_of(body) == draft.digest
            bodies.append(body)
    return bodies


@pytest.fixture(scope="session")
def rebuild() -> Callable[[Iterable[AnyDraft]], list[Json]]:
    """Give the requests that drafts record."""
    return rebuilt_requests
