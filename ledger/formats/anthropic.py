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

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..content import digest_of, label
from ..drafts import AnyDraft, AppendMessage, QuarantineRecord, StartCall
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
from .anthropic_join import Member
from .anthropic_reading import read
from .anthropic_sse import Streamed
from .base import Fed, Record
from .traffic import Traffic


class AnthropicFold:
    """One source of traffic being read (see `base.Fold`)."""

    name = "anthropic"

    def __init__(self, default_session: str) -> None:
        self._traffic = Traffic(self.name, default_session)
        self._open: OpenCall | None = None

    def key(self, record: Record) -> str:  # noqa: ARG002 - the protocol asks with a record
        """Traffic has no id that a retry does not share: always ""."""
        return ""

    def feed(self, record: Record) -> Fed:
        """Take the next record."""
        reading = read(record)
        if reading.fault:
            return Fed("quarantined", (self._traffic.refusal(reading.fault),), reading.what)
        if not reading.exchanges:
            return Fed("outside", what=reading.what)
        exchanges: Sequence[Exchange] = reading.exchanges
        if reading.what == "recording":
            exchanges = self._traffic.new_in(exchanges)
        drafts: list[AnyDraft] = []
        for exchange in exchanges:
            drafts += self._exchange(exchange)
        is_refused = bool(drafts) and all(isinstance(d, QuarantineRecord) for d in drafts)
        return Fed("quarantined" if is_refused else "window", tuple(drafts), reading.what)

    def _exchange(self, exchange: Exchange) -> list[AnyDraft]:
        """Drafts of one call. Contents are read before the first change of state."""
        answer = exchange.answer
        try:
            said = message_of(answer) if answer is not None else None
            body = exchange.request
            split = None if body is None else split_request(body, origin_in_traffic)
            digest = digest_of(body)
        except ValueError:
            return [self._traffic.refusal("not_a_number")]
        except TypeError:
            return [self._traffic.refusal("not_json")]
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
        self._traffic.number += 1
        model = body.get("model")
        model_name = model if isinstance(model, str) else ""
        sent_ms = exchange.sent_ms
        member = self._traffic.directory.find(split)
        if member is None:
            member = self._traffic.new_member(is_helper=is_helper_call(body, exchange.client))
            yield self._traffic.opening(member, model_name, sent_ms)
        yield from set_up(member, split, sent_ms)
        call, number = self._traffic.call_id(exchange.request_id), self._traffic.number
        places = [place for place, message in enumerate(split.messages) if message.blocks]
        sent = [split.messages[place] for place in places]
        change = member.window.move_to(sent, lambda index: f"q{number}.{places[index]}")
        yield from change_drafts(member.name, change, call, sent_ms)
        self._traffic.directory.note_request(member, split)
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
        self._traffic.number += 1
        body: Mapping[str, Any] = exchange.answer.body if exchange.answer is not None else {}
        model = body.get("model")
        model_name = model if isinstance(model, str) else ""
        member = self._traffic.directory.members.get(self._traffic.default)
        if member is None:
            member = self._traffic.new_member(is_helper=False)
            yield self._traffic.opening(member, model_name, exchange.answered_ms, is_exact=False)
        call = self._traffic.call_id(exchange.request_id)
        yield StartCall(session=member.name, at_ms=exchange.sent_ms, call=call, model=model_name)
        self._open = OpenCall(member, call, {}, [])

    def _answer(
        self, exchange: Exchange, member: Member, answer: Streamed, said: SplitMessage
    ) -> AppendMessage:
        wanted = label(answer.body.get("id")) or f"a{self._traffic.number}"
        message = member.window.append(wanted, said, is_response=True)
        is_whole = answer.is_complete
        member.last_request = b"" if is_whole else member.last_request
        self._traffic.directory.note_answer(member, said, is_whole)
        return AppendMessage(
            session=member.name,
            at_ms=exchange.answered_ms,
            role="assistant",
            blocks=said.blocks,
            message=message,
        )
