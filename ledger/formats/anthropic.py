"""Traffic of the Anthropic Messages API: requests and responses in, sessions out.

One record is a pair, a request body, a response body, a cassette or a stream. Each request is
joined to a session, its differences to that session's window become drafts, and a call starts;
its answer completes the call and joins the window. Headers are never stored.
Knows nothing about files, storage or versions.

    anthropic_reading   record -> exchanges           (_exchange, _cassette, _sse: the wrappings)
    anthropic_join      request -> its session
    anthropic_align     request -> what changed in the session's window
    anthropic_drafts    changes and answers -> drafts (_effects: what the provider did)

Source of the fields: https://platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..content import digest_of, is_label, label
from ..drafts import AnyDraft, AppendMessage, OpenSession, QuarantineRecord, StartCall
from ..render.recorded import SplitMessage, SplitRequest, split_request
from .anthropic_drafts import (
    OpenCall,
    change_drafts,
    completion,
    is_helper_call,
    message_of,
    origin_in_traffic,
    set_up,
)
from .anthropic_exchange import Exchange
from .anthropic_join import Directory, Member
from .anthropic_reading import Reading, digest_of_exchange, read
from .anthropic_sse import Streamed
from .base import Fed, Record


class AnthropicFold:
    """One source of traffic being read (see `base.Fold`)."""

    name = "anthropic"

    def __init__(self, default_session: str) -> None:
        self._default = default_session
        self._directory = Directory()
        self._sides = 0
        self._number = 0
        """Requests and unasked answers so far; part of message and call ids."""
        self._call_ids: set[str] = set()
        self._open: OpenCall | None = None
        self._earlier: list[bytes] = []
        """Digests of the last recording's exchanges, to know a longer copy of it."""

    def key(self, record: Record) -> str:  # noqa: ARG002 - the protocol asks with a record
        """Traffic has no id that a retry does not share: always ""."""
        return ""

    def feed(self, record: Record) -> Fed:
        """Take the next record."""
        reading = read(record)
        if reading.fault:
            return Fed("quarantined", (self._refusal(reading.fault),), reading.what)
        if not reading.exchanges:
            return Fed("outside", what=reading.what)
        drafts: list[AnyDraft] = []
        for exchange in self._new_exchanges(reading):
            drafts += self._exchange(exchange)
        is_refused = bool(drafts) and all(isinstance(d, QuarantineRecord) for d in drafts)
        return Fed("quarantined" if is_refused else "window", tuple(drafts), reading.what)

    def _refusal(self, reason: str) -> QuarantineRecord:
        return QuarantineRecord(session=self._default, reason=reason)

    def _new_exchanges(self, reading: Reading) -> tuple[Exchange, ...]:
        """All of them; of a longer copy of the recording before, only what is new."""
        if reading.what != "recording":
            return reading.exchanges
        try:
            digests = [digest_of_exchange(exchange) for exchange in reading.exchanges]
        except TypeError:
            return reading.exchanges  # each is judged alone
        known = len(self._earlier)
        is_longer_copy = known > 0 and digests[:known] == self._earlier
        self._earlier = digests
        return reading.exchanges[known if is_longer_copy else 0 :]

    def _exchange(self, exchange: Exchange) -> list[AnyDraft]:
        """Drafts of one call. Contents are read before the first change of state."""
        answer = exchange.answer
        try:
            said = message_of(answer) if answer is not None else None
            body = exchange.request
            split = None if body is None else split_request(body, origin_in_traffic)
            digest = digest_of(body)
        except ValueError:
            return [self._refusal("not_a_number")]
        except TypeError:
            return [self._refusal("not_json")]
        drafts: list[AnyDraft] = []
        if body is not None and split is not None:
            drafts += self._request(exchange, body, split, digest)
        elif self._open is None:
            drafts += self._unasked(exchange)
        call = self._open
        if call is None:
            return drafts
        if answer is not None or exchange.status or call.dropped_before:
            drafts.append(completion(exchange, call))
        if answer is not None or exchange.status:
            self._open = None
        if answer is not None and said is not None and said.blocks:
            drafts.append(self._answer(exchange, call.member, answer, said))
        return drafts

    def _request(
        self, exchange: Exchange, body: dict[str, Any], split: SplitRequest, digest: bytes
    ) -> Iterator[AnyDraft]:
        self._number += 1
        model = body.get("model")
        model_name = model if isinstance(model, str) else ""
        sent_ms = exchange.sent_ms
        member = self._directory.find(split)
        if member is None:
            member = self._new_member(is_helper_call(body, exchange.client))
            yield self._opening(member, model_name, sent_ms)
        yield from set_up(member, split, sent_ms)
        call, number = self._call_id(exchange), self._number
        places = [place for place, message in enumerate(split.messages) if message.blocks]
        sent = [split.messages[place] for place in places]
        change = member.window.move_to(sent, lambda index: f"q{number}.{places[index]}")
        yield from change_drafts(member.name, change, call, sent_ms)
        self._directory.note_request(member, split)
        is_retry = digest == member.last_request
        member.last_request = digest
        yield StartCall(
            session=member.name,
            at_ms=sent_ms,
            call=call,
            model=model_name,
            digest=digest,
            params=split.params,
            marks=split.marks,
            is_retry=is_retry,
        )
        self._open = OpenCall(member, call, body, sent)

    def _unasked(self, exchange: Exchange) -> Iterator[AnyDraft]:
        """An answer whose request was not recorded: it belongs to the main session."""
        self._number += 1
        body: Mapping[str, Any] = exchange.answer.body if exchange.answer is not None else {}
        model = body.get("model")
        model_name = model if isinstance(model, str) else ""
        member = self._directory.members.get(self._default)
        if member is None:
            member = self._new_member(is_helper=False)
            yield self._opening(member, model_name, exchange.answered_ms, is_exact=False)
        call = self._call_id(exchange)
        yield StartCall(session=member.name, at_ms=exchange.sent_ms, call=call, model=model_name)
        self._open = OpenCall(member, call, {}, [])

    def _new_member(self, is_helper: bool) -> Member:
        """The first session that is no helper call is the main one."""
        name = self._default
        if is_helper or name in self._directory.members:
            self._sides += 1
            name = f"{self._default}.side{self._sides}"
        member = Member(name=name)
        self._directory.members[name] = member
        return member

    def _opening(
        self, member: Member, model: str, at_ms: int | None, is_exact: bool = True
    ) -> OpenSession:
        is_side = member.name != self._default
        return OpenSession(
            session=member.name,
            at_ms=at_ms,
            format=self.name,
            model=model,
            coverage="exact" if is_exact else "conversation",
            relation="side" if is_side else "",
            parent=self._default if is_side else "",
        )

    def _call_id(self, exchange: Exchange) -> str:
        call = exchange.request_id
        if not is_label(call) or call in self._call_ids:
            call = f"call-{self._number}"
        self._call_ids.add(call)
        return call

    def _answer(
        self, exchange: Exchange, member: Member, answer: Streamed, said: SplitMessage
    ) -> AppendMessage:
        wanted = label(answer.body.get("id")) or f"a{self._number}"
        message = member.window.append(wanted, said, is_response=True)
        is_whole = answer.is_complete
        member.last_request = b"" if is_whole else member.last_request
        self._directory.note_answer(member, said, is_whole)
        return AppendMessage(
            session=member.name,
            at_ms=exchange.answered_ms,
            role="assistant",
            blocks=said.blocks,
            message=message,
        )
