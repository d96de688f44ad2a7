"""What every fold of recorded traffic keeps: its sessions, the numbers of its calls.

One provider's fold says how requests and answers are read; naming sessions and calls, and
knowing a longer copy of a recording again, is the same for all.
Knows nothing about a provider's bodies.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..content import digest_of, is_label
from ..drafts import OpenSession, QuarantineRecord
from .anthropic_exchange import Exchange
from .anthropic_join import Directory, Member


class Traffic:
    """The sessions of one source."""

    def __init__(self, format_name: str, default_session: str) -> None:
        self.format, self.default = format_name, default_session
        self.directory = Directory()
        self.number = 0
        """Requests and unasked answers so far; part of message and call ids."""
        self._sides = 0
        self._call_ids: set[str] = set()
        self._earlier: list[bytes] = []
        """Digests of the last recording's exchanges, to know a longer copy of it."""

    def refusal(self, reason: str) -> QuarantineRecord:
        """The draft for a record that cannot be read."""
        return QuarantineRecord(session=self.default, reason=reason)

    def new_in(self, exchanges: Sequence[Exchange]) -> Sequence[Exchange]:
        """All exchanges of a recording; of a longer copy of the one before, only what is new."""
        try:
            digests = [_digest_of(exchange) for exchange in exchanges]
        except TypeError:
            return exchanges  # each is judged alone
        known = len(self._earlier)
        is_longer_copy = known > 0 and digests[:known] == self._earlier
        self._earlier = digests
        return exchanges[known if is_longer_copy else 0 :]

    def new_member(self, *, is_helper: bool) -> Member:
        """A new session: the first that is no helper call is the main one."""
        name = self.default
        if is_helper or name in self.directory.members:
            self._sides += 1
            name = f"{self.default}.side{self._sides}"
        member = Member(name=name)
        self.directory.members[name] = member
        return member

    def opening(
        self, member: Member, model: str, at_ms: int | None, *, is_exact: bool = True
    ) -> OpenSession:
        """The first draft of a session."""
        is_side = member.name != self.default
        return OpenSession(
            session=member.name,
            at_ms=at_ms,
            format=self.format,
            model=model,
            coverage="exact" if is_exact else "conversation",
            relation="side" if is_side else "",
            parent=self.default if is_side else "",
        )

    def call_id(self, wanted: str) -> str:
        """An id for the call at hand: its own, if it has one that is new."""
        call = wanted
        if not is_label(call) or call in self._call_ids:
            call = f"call-{self.number}"
        self._call_ids.add(call)
        return call


def _digest_of(exchange: Exchange) -> bytes:
    answer = exchange.answer.body if exchange.answer is not None else None
    return digest_of([exchange.request, answer, exchange.status])
