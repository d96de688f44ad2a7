"""A ledger as a program uses it: open, list sessions, take in sources, prove integrity.

Reads the clock and makes randomness; joins store and core. Knows nothing about terminals.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from .caches.counting import TokenCache
from .content import label
from .drafts import OpenSession
from .errors import BadInput, LedgerError, UnknownReference
from .events import OPERATOR, SessionOpened
from .references import resolve_session
from .session import Session
from .storage.connection import MEMORY, Connection
from .storage.sources import Sources
from .storage.store import Store
from .tokens import counter
from .writing.writer import Writer

OpenMode = Literal["write", "read", "auto"]
"""`auto`: write if the file exists and can be written (to keep caches), else read."""


class Ledger:
    """An open ledger file; a context manager."""

    def __init__(
        self,
        store: Store,
        *,
        clock_us: Callable[[], int],
        counter_name: str = "",
    ) -> None:
        self.store = store
        self.writer = Writer(store)
        self.sources = Sources(store.db)
        self.tokens = TokenCache(store, counter(counter_name))
        self._clock_us = clock_us

    @classmethod
    def open(
        cls,
        path: str | Path = MEMORY,
        mode: OpenMode = "write",
        *,
        counter_name: str = "",
        clock_us: Callable[[], int] | None = None,
        entropy: Callable[[int], bytes] = os.urandom,
        is_durable: bool = True,
    ) -> Ledger:
        """Open a ledger file; "write" creates it when it is missing.

        Args:
            path: a file, or `:memory:`.
            counter_name: who counts tokens (tokens.py); "" = the default.
            clock_us: Unix microseconds; the system clock unless given.
            entropy: random bytes; the system's unless given.
            is_durable: acknowledged events survive a power cut (False: only a crash).

        Raises:
            BadInput, ForeignLedger, CorruptLedger, LedgerBusy, StorageFailed.
        """
        clock = clock_us or (lambda: time.time_ns() // 1000)
        name = str(path)

        def store(how: Literal["write", "read"]) -> Store:
            return Store(name, how, clock_us=clock, entropy=entropy, is_durable=is_durable)

        if mode == "auto":
            if name != MEMORY and not os.access(name, os.W_OK):
                opened = store("read")
            else:
                try:
                    opened = store("write")
                except BadInput:
                    raise
                except LedgerError:
                    opened = store("read")
        else:
            opened = store(mode)
        return cls(opened, clock_us=clock, counter_name=counter_name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.store.close()

    @property
    def db(self) -> Connection:
        """The open file, for caches and checks."""
        return self.store.db

    def now_ms(self) -> int:
        """The clock, Unix milliseconds."""
        return self._clock_us() // 1000

    def session(
        self,
        name: str,
        *,
        model: str = "",
        title: str = "",
        limit_tokens: int = 0,
        folder: str = "",
        concurrent: bool = False,
    ) -> Session:
        """A handle on the session of this name, which is opened when there is none.

        Args:
            concurrent: append behind whatever others wrote in between, instead of a conflict.
        """
        session = self.store.session_id(label(name))
        if session is None:
            draft = OpenSession(
                session=name,
                format="api",
                coverage="exact",
                model=model,
                title=title,
                limit_tokens=limit_tokens,
                folder=folder,
                at_ms=self.now_ms(),
                actor="api",
            )
            with self.store.transaction():
                session = self.writer.write(draft).session
        return Session(self, session, concurrent=concurrent)

    def fork(self, session: Session, at: str | int = "head", name: str = "") -> Session:
        """Open a session that goes on from a version of another; the other stays as it is.

        Its versions continue behind that version, and older items are the parent's: nothing is
        copied.

        Args:
            name: "" = the parent's name with `.fork1`, `.fork2` ... behind it.

        Raises:
            UnknownReference: there is no such version.
            BadInput: version 0, before anything was recorded.
            ConflictError: the name is taken.
        """
        version = session.resolve(at)
        if version < 1:
            raise BadInput("There is nothing to fork before version 1.", "Name a later version.")
        taken = {taken_name for _, taken_name in self.store.session_names()}
        candidates = (f"{session.name}.fork{number}" for number in count(1))
        name = name or next(candidate for candidate in candidates if candidate not in taken)
        opened = session.opened
        event = SessionOpened(
            name=label(name),
            format="api",
            coverage=opened.coverage,
            title=opened.title,
            model=opened.model,
            limit_tokens=opened.limit_tokens,
            limit_source=opened.limit_source,
            folder=opened.folder,
            branch=opened.branch,
            relation="fork",
            parent=session.id,
            parent_version=version,
            at_ms=self.now_ms(),
        )
        with self.store.transaction():
            opened_id = self.store.open_session(event, OPERATOR)
        return Session(self, opened_id)

    def find(self, reference: str) -> Session:
        """A handle on the session a person means: name, title, unique prefix, `@` = newest.

        Raises:
            UnknownReference: none or several; `nearest` are the candidates.
        """
        exact = self.store.session_id(label(reference))
        if exact is not None:
            return Session(self, exact)
        names = self.store.session_names()
        if reference == "@" and names:
            return Session(self, self._newest())
        try:
            return Session(self, resolve_session(names, {}, reference))
        except UnknownReference:
            return Session(self, resolve_session(names, self._titles(), reference))

    def _newest(self) -> int:
        """The session written to last, helper calls and subagents only if there is no other."""
        side: dict[int, bool] = {}
        for session in self.store.written_last():
            if session not in side:
                opened = Session(self, session).opened
                side[session] = opened.relation in ("side", "subagent")
                if not side[session]:
                    return session
        return next(iter(side))

    def _titles(self) -> dict[int, str]:
        from .finding.catalogue import session_rows

        return {row.id: row.title for row in session_rows(self.store) if row.title}
