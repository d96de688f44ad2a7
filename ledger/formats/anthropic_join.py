"""Which session a request belongs to (DESIGN 10).

First by what only that session can know: blocks and call ids of its earlier answers. Else by
overlap of messages - never by one shared prefix or system prompt alone: ten helper calls with
the same instructions are ten sessions. Knows nothing about drafts or recordings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from ..content import CALL_TYPES, Block, digest_of, is_result
from ..render.recorded import SplitMessage, SplitRequest
from .anthropic_align import MessageWindow, Shown

SIMILAR_SHARE = 0.5
"""Two system prompts with this share of common beginning are versions of one (dates change)."""
MEMBERS_PER_KEY_MAX = 64
"""Sessions remembered for one block or call id, the newest; a common preamble stays cheap."""
CANDIDATES_MAX = 32

_SUMMARY_LIKE = re.compile(
    r"continued from a previous conversation|<(conversation_)?summary>"
    r"|summary of (the|our|this) (conversation|session|work)|conversation summary",
    re.IGNORECASE,
)


class Member(Struct):
    """A session that requests can join."""

    name: str
    window: MessageWindow = field(default_factory=MessageWindow)
    system: tuple[bytes, ...] = ()
    system_text: str = ""
    tools: tuple[bytes, ...] = ()
    tool_names: frozenset[str] = frozenset()
    seen: set[Shown] = field(default_factory=set)
    """Every message it ever showed in a request."""
    last_request: bytes = b""
    """Digest of the last request while nothing came back for it, else empty."""


def system_digests(split: SplitRequest) -> tuple[bytes, ...]:
    """Digests of the system blocks, cache marks apart."""
    return _digests(split.system)


def tool_digests(split: SplitRequest) -> tuple[bytes, ...]:
    """Digests of the tool definitions, cache marks apart."""
    return _digests(split.tools)


def _digests(blocks: Sequence[Block]) -> tuple[bytes, ...]:
    return tuple(digest_of([block.type, block.text, block.rest]) for block in blocks)


def tool_names(split: SplitRequest) -> frozenset[str]:
    """Names of the defined tools."""
    return frozenset(tool.tool_name for tool in split.tools)


def system_text(split: SplitRequest) -> str:
    """The system prompt as one text."""
    return "\n".join(block.text for block in split.system)


class Directory:
    """All sessions of a source, by what answers and messages they hold."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        """By name; whoever opens a session adds it."""
        self._by_answer: dict[bytes | str, dict[str, Member]] = {}
        self._by_block: dict[bytes | str, dict[str, Member]] = {}

    def note_request(self, member: Member, split: SplitRequest) -> None:
        """Remember what a session sent."""
        for message in split.messages:
            member.seen.add((message.role, message.digests))
            for digest in message.digests:
                _enter(self._by_block, digest, member)

    def note_answer(self, member: Member, answer: SplitMessage) -> None:
        """Remember what came back to a session."""
        for key in _answer_keys(answer):
            _enter(self._by_answer, key, member)

    def find(self, split: SplitRequest) -> Member | None:
        """The session that a request continues, None when it is a new one."""
        proofs: Counter[str] = Counter()
        overlaps: Counter[str] = Counter()
        known: dict[str, Member] = {}
        for message in split.messages:
            for key in _answer_keys(message):
                _count(self._by_answer.get(key, {}), proofs, known)
            for digest in message.digests:
                _count(self._by_block.get(digest, {}), overlaps, known)
        ranked = sorted(known, key=lambda name: (proofs[name], overlaps[name]), reverse=True)
        for name in ranked[:CANDIDATES_MAX]:
            member = known[name]
            if proofs[name] > 0 and is_same_harness(member, split):
                return member
            if is_continuation(member, split):
                return member
        return None


def _enter(index: dict[bytes | str, dict[str, Member]], key: bytes | str, member: Member) -> None:
    members = index.setdefault(key, {})
    members[member.name] = member
    if len(members) > MEMBERS_PER_KEY_MAX:
        del members[next(iter(members))]


def _count(members: dict[str, Member], counter: Counter[str], known: dict[str, Member]) -> None:
    counter.update(members.keys())
    known.update(members)


def _answer_keys(message: SplitMessage) -> list[bytes | str]:
    """What proves a session: assistant blocks, ids of calls and of their results."""
    keys: list[bytes | str] = []
    for block, digest in zip(message.blocks, message.digests, strict=True):
        if message.role == "assistant":
            keys.append(digest)
        if block.tool_id and (block.type in CALL_TYPES or is_result(block.type)):
            keys.append(block.tool_id)
    return keys


def is_same_harness(member: Member, split: SplitRequest) -> bool:
    """False for a helper that resends a session's messages under another set-up.

    A summariser without the agent's tools and with its own system prompt is a helper; an agent
    whose tools or whose system prompt changed is not.
    """
    is_same_system = member.system == system_digests(split)
    names = tool_names(split)
    if member.tool_names and names:
        return bool(member.tool_names & names) or is_same_system
    return (not member.tool_names and not names) or is_same_system


def is_continuation(member: Member, split: SplitRequest) -> bool:
    """True when the messages alone show that a request continues a session.

    Either a whole user message of the session is sent again (fork, retry, a recording without
    answers), or, with the same system and tools, the session's last message became longer, or a
    conversation kept parts of messages: a preamble with a summary behind it, a later message.
    """
    if not is_same_harness(member, split):
        return False
    is_same_system = member.system == system_digests(split)
    shown = {(message.role, message.digests) for message in split.messages}
    held = [message.shown for message in member.window.messages]
    if any(role == "user" and (role, digests) in member.seen for role, digests in shown):
        is_covered = len(held) > 1 and all(message in shown for message in held)
        return is_same_system or is_covered or _is_similar(member.system_text, system_text(split))
    if not is_same_system or member.tools != tool_digests(split):
        return False
    if member.window.is_begun_by(split.messages):
        return True
    if len(held) <= 2:
        return False
    user_blocks = {d for role, digests in member.seen if role == "user" for d in digests}
    shares = [
        index
        for index, message in enumerate(split.messages)
        if message.role == "user" and user_blocks & set(message.digests)
    ]
    return bool(shares) and (shares[-1] > 0 or _has_summary(split.messages))


def _has_summary(messages: Iterable[SplitMessage]) -> bool:
    return any(
        block.type == "text" and _SUMMARY_LIKE.search(block.text)
        for message in messages
        for block in message.blocks
    )


def _is_similar(old: str, new: str) -> bool:
    common = next(
        (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    return common > 0 and common >= SIMILAR_SHARE * max(len(old), len(new))
