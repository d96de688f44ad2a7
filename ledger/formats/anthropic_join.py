"""Which session a request belongs to (DESIGN 10).

First by what only that session can know: ids of its calls, its answers behind the words that
they answered. Two sessions may both have heard "Done.", so a short text alone is no proof. Else
by overlap of messages - never by one shared prefix or system prompt alone: ten helper calls
with the same instructions and examples are ten sessions. Knows nothing about recordings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from ..content import CALL_TYPES, Block, digest_of, from_json, is_result
from ..render.recorded import SplitMessage, SplitRequest
from .anthropic_align import MessageWindow, Shown

SIMILAR_SHARE = 0.5
"""Two system prompts with this share of common beginning and end are versions of one."""
MEMBERS_PER_KEY_MAX = 64
"""Sessions remembered for one block or call id, the newest; a common preamble stays cheap."""
CANDIDATES_MAX = 32
TELLING_CHARS_MIN = 64
"""An answer of this length is no other session's by chance."""
SUMMARY_START_CHARS = 300
"""A summary that stands for a whole conversation says so this early."""

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
    """Of every tool it ever had: one call without tools makes no other agent."""
    seen: set[Shown] = field(default_factory=set)
    """Every message it ever showed in a request."""
    last_sent: tuple[SplitMessage, ...] = ()
    """The messages of its last request."""
    manner: tuple[object, ...] = ()
    """Model and output limit of the last request."""
    answers: int = 0
    """Answers recorded so far."""
    is_waiting: bool = False
    """Nothing whole came back for the last request."""
    last_request: bytes = b""
    """Digest of the last request while nothing whole came back for it, else empty."""


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
        """By name, the one that called last at the end; whoever opens a session adds it."""
        self._by_answer: dict[bytes | str, dict[str, Member]] = {}
        self._by_block: dict[bytes | str, dict[str, Member]] = {}

    def note_request(self, member: Member, split: SplitRequest) -> None:
        """Remember what a session sent."""
        self.members[member.name] = self.members.pop(member.name, member)
        member.last_sent, member.is_waiting = split.messages, True
        member.manner = _manner(split)
        for message in split.messages:
            member.seen.add((message.role, message.digests))
            for digest in message.digests:
                _enter(self._by_block, digest, member)

    def note_answer(self, member: Member, answer: SplitMessage, is_whole: bool) -> None:
        """Remember what came back to a session."""
        member.answers += 1
        member.is_waiting = not is_whole
        asked = member.last_sent[-1] if member.last_sent else None
        for key in _proofs(answer, asked):
            _enter(self._by_answer, key, member)

    def find(self, split: SplitRequest) -> Member | None:
        """The session that a request continues, None when it is a new one."""
        proofs: Counter[str] = Counter()
        overlaps: Counter[str] = Counter()
        known: dict[str, Member] = {}
        before: SplitMessage | None = None
        for message in split.messages:
            for key in _proofs(message, before):
                _count(self._by_answer.get(key, {}), proofs, known)
            for digest in message.digests:
                _count(self._by_block.get(digest, {}), overlaps, known)
            before = message
        likely = sorted(known, key=lambda name: (proofs[name], overlaps[name]), reverse=True)
        ranks = {
            name: (proofs[name], known[name].window.shared_start(split.messages), overlaps[name])
            for name in likely[:CANDIDATES_MAX]
        }
        for name in sorted(ranks, key=lambda name: ranks[name], reverse=True):
            member = known[name]
            if proofs[name] > 0 and is_same_harness(member, split):
                return member
            if is_continuation(member, split):
                return member
        return self._summed_up(split)

    def _summed_up(self, split: SplitRequest) -> Member | None:
        """The newest conversation of this very agent, when all of it became one summary."""
        if not _starts_with_summary(split.messages):
            return None
        system, tools = system_digests(split), tool_digests(split)
        for member in reversed(self.members.values()):
            is_same = member.system == system and member.tools == tools
            if is_same and len(member.window.messages) > 2:
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


def _proofs(message: SplitMessage, before: SplitMessage | None) -> set[bytes | str]:
    """What proves a session: ids of calls and results, telling answers, answers to its words."""
    keys: set[bytes | str] = set()
    asked = before.digests if before is not None and before.role == "user" else ()
    for block, digest in zip(message.blocks, message.digests, strict=True):
        if block.tool_id and (block.type in CALL_TYPES or is_result(block.type)):
            keys.add(block.tool_id)
        elif message.role == "assistant":
            # Clients trim answers and leave citations out when they send them again.
            said = digest_of(["said", block.text.strip()]) if block.type == "text" else digest
            if block.type != "text" or len(block.text) >= TELLING_CHARS_MIN:
                keys.add(said)
            keys.update(one + said for one in asked)
    return keys


def _manner(split: SplitRequest) -> tuple[object, ...]:
    params = from_json(split.params) if split.params else {}
    return params.get("model"), params.get("max_tokens")


def is_same_harness(member: Member, split: SplitRequest) -> bool:
    """False for a helper that resends a session's messages under another set-up.

    A summariser without the agent's tools and with its own system prompt is a helper, and so is
    one that borrows the tools but has another prompt, model and limit; an agent whose tools or
    whose system prompt changed is not.
    """
    if member.system == system_digests(split):
        return True
    names = tool_names(split)
    if not (member.tool_names & names if member.tool_names or names else True):
        return False
    return member.manner == _manner(split) or is_similar(member.system_text, system_text(split))


def is_continuation(member: Member, split: SplitRequest) -> bool:
    """True when the messages alone show that a request continues a session.

    Either whole messages of the session are sent again (fork, retry, a recording without
    answers), or, with the same system and tools, the session's last message became longer, or a
    conversation kept parts of messages: a preamble with a summary behind it, a later message.
    Where answers were recorded and none is sent again, its newest question must be.
    """
    if not is_same_harness(member, split):
        return False
    is_same_system = member.system == system_digests(split)
    shown = {(message.role, message.digests) for message in split.messages}
    held = [message.shown for message in member.window.messages]
    if _sends_again(member, split, shown):
        is_covered = len(held) > 1 and all(message in shown for message in held)
        is_alike = is_similar(member.system_text, system_text(split))
        return is_same_system or is_covered or is_alike
    if not is_same_system or member.tools != tool_digests(split):
        return False
    if member.window.is_begun_by(split.messages):
        return True
    if member.is_waiting and _holds_all(split.messages, member.last_sent):
        return True
    if len(held) <= 2:
        return False
    user_blocks = {d for role, digests in member.seen if role == "user" for d in digests}
    shares = [
        index
        for index, message in enumerate(split.messages)
        if message.role == "user" and user_blocks & set(message.digests)
    ]
    is_later = bool(shares) and shares[-1] > 0 and member.answers == 0
    return bool(shares) and (is_later or _has_summary(split.messages))


def _sends_again(member: Member, split: SplitRequest, shown: set[Shown]) -> bool:
    """True when whole user messages of the session are in a request, and enough of them."""
    again = [(role, digests) for role, digests in shown if (role, digests) in member.seen]
    if not any(role == "user" for role, _ in again):
        return False
    if member.answers == 0 or _has_summary(split.messages):
        return True
    asked = [message for message in member.last_sent if message.role == "user"]
    if not asked or (asked[-1].role, asked[-1].digests) not in shown:
        return False  # the same examples in front of another question
    return len(again) > 1 or member.window.shared_start(split.messages) > 0


def _holds_all(sent: Iterable[SplitMessage], earlier: Iterable[SplitMessage]) -> bool:
    """True when the blocks of an earlier request are all in a new one."""
    blocks = Counter(digest for message in earlier for digest in message.digests)
    return blocks.total() > 0 and blocks <= Counter(d for message in sent for d in message.digests)


def _has_summary(messages: Iterable[SplitMessage]) -> bool:
    return any(
        block.type == "text" and _SUMMARY_LIKE.search(block.text)
        for message in messages
        for block in message.blocks
    )


def _starts_with_summary(messages: Sequence[SplitMessage]) -> bool:
    first = messages[0].blocks if messages and messages[0].role == "user" else ()
    return any(
        block.type == "text" and _SUMMARY_LIKE.search(block.text[:SUMMARY_START_CHARS])
        for block in first
    )


def is_similar(old: str, new: str) -> bool:
    """True when two system prompts are versions of one (dates and roles change)."""
    longest, shortest = max(len(old), len(new)), min(len(old), len(new))
    front = _common(old, new, shortest)
    back = _common(old[::-1], new[::-1], shortest - front)
    return front + back > 0 and front + back >= SIMILAR_SHARE * longest


def _common(a: str, b: str, chars_max: int) -> int:
    """How many characters two texts have in common from the start, at most so many."""
    pairs = enumerate(zip(a[:chars_max], b[:chars_max], strict=True))
    return next((at for at, (one, other) in pairs if one != other), chars_max)
