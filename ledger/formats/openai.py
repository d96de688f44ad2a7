"""Traffic of OpenAI's chat completions and Responses APIs: requests and responses in.

One record is a pair, a request body, a response body, a cassette, a stream, or a chat message
that stands alone. Each request is joined to a session, its differences to that session's window
become drafts, and a call starts; its answer completes the call and joins the window. Of a
chained request the window holds what the provider brings back too. Headers are never stored.
Knows nothing about files, storage or versions.

    openai_reading      record -> exchanges           (_stream: answers from chunks and events)
    openai_chain        what `previous_response_id` and item references stand for
    anthropic_join      request -> its session        (the same for all traffic, as is traffic.py)
    anthropic_align     request -> what changed in the session's window
    openai_calls        a call between its request and its answer
    openai_naming       ids that pair calls and results
    openai_answers      answers -> messages, usage, outcome

Source of the fields: https://platform.openai.com/docs/api-reference
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ..content import digest_of, label
from ..drafts import (
    AnyDraft,
    AppendMessage,
    ImportCompaction,
    NewBlocks,
    QuarantineRecord,
    StartCall,
)
from ..render.openai_chat import piece_of_message
from ..render.openai_recorded import (
    message_of,
    origin_in_openai,
    split_openai,
)
from ..render.recorded import SplitMessage
from .anthropic_align import Change
from .anthropic_drafts import change_drafts, set_up
from .anthropic_exchange import Exchange
from .anthropic_join import Member
from .anthropic_sse import Streamed
from .base import Fed, Record
from .openai_answers import (
    Said,
    is_compaction,
    model_of,
    said_in,
    usage_of,
)
from .openai_calls import Asked, OpenCall, completion, kept_messages, marks_of
from .openai_chain import Chains, Link, conversation_of, previous_of
from .openai_naming import Naming, unnamed
from .openai_reading import read
from .traffic import Traffic

Json = dict[str, Any]
COMPACT_METHOD = "responses/compact"
PAIRED_MESSAGES_MAX = 32
"""How far back a result that stands alone looks for its call."""


class OpenAIFold:
    """One source of traffic being read (see `base.Fold`)."""

    name = "openai"

    def __init__(self, default_session: str) -> None:
        self._traffic = Traffic(self.name, default_session)
        self._chains = Chains()
        self._naming: dict[str, Naming] = {}
        self._inline_compactions: set[tuple[str, str]] = set()
        """(session, message) of compactions that came in the middle of an answer."""
        self._lone_messages: list[SplitMessage] = []
        """The last messages that came without a request."""
        self._open: OpenCall | None = None

    def key(self, record: Record) -> str:  # noqa: ARG002 - the protocol asks with a record
        """Traffic has no id that a retry does not share: always ""."""
        return ""

    def feed(self, record: Record) -> Fed:
        """Take the next record."""
        reading = read(record)
        if reading.fault:
            return Fed("quarantined", (self._traffic.refusal(reading.fault),), reading.what)
        exchanges: Sequence[Exchange] = reading.exchanges
        if reading.what == "recording":
            exchanges = self._traffic.new_in(exchanges)
        drafts = [draft for exchange in exchanges for draft in self._exchange(exchange)]
        drafts += [draft for message in reading.messages for draft in self._lone(message)]
        if not drafts:
            return Fed("outside", what=reading.what)
        is_refused = all(isinstance(draft, QuarantineRecord) for draft in drafts)
        return Fed("quarantined" if is_refused else "window", tuple(drafts), reading.what)

    def _exchange(self, exchange: Exchange) -> list[AnyDraft]:
        """Drafts of one call. Contents are read before the first change of state."""
        answer = exchange.answer
        try:
            said = said_in(answer) if answer is not None else []
            model = model_of(answer.body) if answer is not None else ""
            facts = {"model": model} if model else {}
            spoken = [message_of(one.piece, origin_in_openai, facts) for one in said]
            asked = None if exchange.request is None else self._asked(exchange.request)
        except ValueError:
            return [self._traffic.refusal("not_a_number")]
        except TypeError:
            return [self._traffic.refusal("not_json")]
        drafts: list[AnyDraft] = []
        if asked is not None:
            drafts += self._request(exchange, asked)
        elif self._open is None:
            drafts += self._unasked(exchange)
        call = self._open
        if call is None or (answer is None and not exchange.status):
            return drafts
        drafts.append(completion(exchange, call))
        self._open = None
        if answer is not None and spoken:
            drafts += self._answer(exchange, call, answer, said, spoken)
        return drafts

    def _asked(self, body: Json) -> Asked:
        resolved, references = self._chains.resolved(body)
        return Asked(body, split_openai(resolved, origin_in_openai), digest_of(body), references)

    def _request(self, exchange: Exchange, asked: Asked) -> Iterator[AnyDraft]:
        traffic = self._traffic
        traffic.number += 1
        number, at_ms, body = traffic.number, exchange.sent_ms, asked.body
        fresh = tuple(unnamed(message) for message in asked.split.parts.messages)
        chained = self._chains.find(body)
        before = chained[1].messages() if chained is not None else []
        sent = [*before, *fresh]
        parts = msgspec.structs.replace(asked.split.parts, messages=tuple(sent))
        member = chained[0] if chained is not None else traffic.directory.find(parts)
        if member is None:
            member = traffic.new_member(is_helper=False)
            is_exact = not previous_of(body)  # else the model saw what was not recorded
            yield traffic.opening(member, model_of(body), at_ms, is_exact=is_exact)
        yield from set_up(member, parts, at_ms)
        call = traffic.call_id(exchange.request_id)
        change = member.window.move_to(sent, lambda index: f"q{number}.{index - len(before)}")
        naming = self._naming.setdefault(member.name, Naming())
        change = naming.settle(member.window.messages, sent, change)
        yield from change_drafts(member.name, change, call, at_ms)
        traffic.directory.note_request(member, parts)
        is_retry = asked.digest == member.last_request
        member.last_request = asked.digest
        yield StartCall(
            session=member.name,
            at_ms=at_ms,
            call=call,
            model=model_of(body),
            digest=asked.digest,
            params=parts.params,
            marks=marks_of(asked, member, naming, len(before)),
            is_retry=is_retry,
        )
        self._chains.note_items(body.get("input"))
        link = Link(chained[1] if chained is not None else None, fresh)
        self._open = OpenCall(member, call, body, link, self._dropped_before(member, len(before)))

    def _dropped_before(self, member: Member, chained: int) -> str:
        """Where the provider itself cut a chain: at the newest compaction that it made in it."""
        for held in reversed(member.window.messages[:chained]):
            if (member.name, held.message) in self._inline_compactions:
                return held.message
        return ""

    def _unasked(self, exchange: Exchange) -> Iterator[AnyDraft]:
        """An answer whose request was not recorded: it belongs to the main session."""
        traffic = self._traffic
        traffic.number += 1
        body = exchange.answer.body if exchange.answer is not None else {}
        model = model_of(body)
        member = traffic.directory.members.get(traffic.default)
        if member is None:
            member = traffic.new_member(is_helper=False)
            yield traffic.opening(member, model, exchange.answered_ms, is_exact=False)
        call = traffic.call_id(exchange.request_id)
        yield StartCall(session=member.name, at_ms=exchange.sent_ms, call=call, model=model)
        self._open = OpenCall(member, call, {}, Link(None, ()))

    def _answer(
        self,
        exchange: Exchange,
        call: OpenCall,
        answer: Streamed,
        said: Sequence[Said],
        spoken: Sequence[SplitMessage],
    ) -> Iterator[AnyDraft]:
        member, at_ms = call.member, exchange.answered_ms
        spoken = [unnamed(message) for message in spoken]
        names = (label(answer.body.get("id")), conversation_of(call.body))
        self._chains.note_items(answer.body.get("output"))
        if is_compaction(answer):
            yield from self._compaction(member, said, spoken, answer, at_ms)
            self._chains.note(names, member, Link(None, tuple(spoken)))
            return
        self._chains.note(names, member, Link(call.link, tuple(spoken)))
        is_whole = answer.is_complete
        member.last_request = b"" if is_whole else member.last_request
        joint = SplitMessage(
            "assistant",
            tuple(block for message in spoken for block in message.blocks),
            tuple(digest for message in spoken for digest in message.digests),
        )
        self._traffic.directory.note_answer(member, joint, is_whole)
        for place, (one, message) in enumerate(zip(said, spoken, strict=True)):
            wanted = one.name or f"a{self._traffic.number}.{place}"
            name = member.window.append(wanted, message, is_response=True)
            if one.piece.blocks[0].get("type") == "compaction":
                self._inline_compactions.add((member.name, name))
            naming = self._naming.setdefault(member.name, Naming())
            yield AppendMessage(
                session=member.name,
                at_ms=at_ms,
                role=message.role,
                blocks=naming.introduce(member.window.messages[-1], message),
                message=name,
            )

    def _compaction(
        self,
        member: Member,
        said: Sequence[Said],
        spoken: Sequence[SplitMessage],
        answer: Streamed,
        at_ms: int | None,
    ) -> Iterator[AnyDraft]:
        """The answer of `responses/compact` is the window to go on with."""
        number = self._traffic.number
        naming = self._naming.setdefault(member.name, Naming())
        self._traffic.directory.note_answer(member, spoken[-1], answer.is_complete)
        kept = kept_messages(member.window.messages, spoken[:-1])
        if kept is None or [block.type for block in spoken[-1].blocks] != ["compaction"]:
            change = member.window.move_to(
                spoken, lambda index: said[index].name or f"a{number}.{index}"
            )
            change = naming.settle(member.window.messages, spoken, change)
            yield from change_drafts(member.name, change, label(answer.body.get("id")), at_ms)
            return
        member.window.keep(kept)
        name = member.window.append(said[-1].name or f"a{number}", spoken[-1], is_response=True)
        usage = usage_of(answer.body)
        yield ImportCompaction(
            session=member.name,
            at_ms=at_ms,
            message=name,
            role=spoken[-1].role,
            blocks=naming.introduce(member.window.messages[-1], spoken[-1]),
            keep=tuple(held.message for held in kept),
            keep_first=True,
            trigger="manual",
            tokens_before=usage.context_tokens if usage is not None else None,
            method=COMPACT_METHOD,
        )

    def _lone(self, raw: object) -> Iterator[AnyDraft]:
        """A chat message without a request: the conversation of the main session."""
        traffic = self._traffic
        traffic.number += 1
        try:
            message = unnamed(message_of(piece_of_message(raw), origin_in_openai))
        except (TypeError, ValueError):
            yield traffic.refusal("not_json")
            return
        member = traffic.directory.members.get(traffic.default)
        if member is None:
            member = traffic.new_member(is_helper=False)
            yield traffic.opening(member, "", None, is_exact=False)
        name = member.window.append(f"q{traffic.number}.0", message)
        self._lone_messages = [*self._lone_messages[-PAIRED_MESSAGES_MAX:], message]
        held = member.window.messages[-len(self._lone_messages) :]
        new = NewBlocks(name, message.role, message.blocks)
        naming = self._naming.setdefault(member.name, Naming())
        change = naming.settle(held, self._lone_messages, Change(appended=(new,)))
        blocks = change.appended[0].blocks
        yield AppendMessage(session=member.name, role=message.role, blocks=blocks, message=name)
