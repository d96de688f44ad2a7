"""One conversation of a Claude Code transcript: its window, and the windows that it had before.

Kept at each reset, so that the window at an earlier record is found without walking the tree:
walks lose the results of parallel calls. Knows nothing about drafts, contents or files.
"""

from __future__ import annotations

from msgspec import Struct

from ..drafts import Cause


class Node(Struct):
    """One record with a uuid."""

    uuid: str
    session: str
    parent: str
    """uuid of the record above, as read or as bridged; "" = a root."""
    root: str
    prompt: str
    """uuid of the nearest human prompt on its path, itself included; "" = none."""
    index: int
    """Its place in the source, counting records with a uuid."""
    is_on_branch: bool = True
    """It was written on the branch then in force."""
    message: str = ""
    """Id of the message it belongs to; "" = the model never saw it."""
    digest: int = 0


class Rewrite(Struct, frozen=True):
    """The window that a human prompt makes known."""

    cause: Cause
    messages: tuple[str, ...]
    """Ids of the messages that stay, in window order; the prompt itself is not among them."""
    evidence: str


class Doubt(Struct, frozen=True):
    """A cut that the next reported usage may disprove."""

    before: tuple[str, ...]
    floor_tokens: int
    """A call with at least this much context still saw what was cut."""
    evidence: str


class Conversation:
    """The window of one session, as far as its transcript tells it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sessions = {name}
        """Names whose records may be parents here: its own, and those it was forked from."""
        self.window: dict[str, None] = {}
        self.first_index: dict[str, int] = {}
        self.calls: dict[str, list[str]] = {}
        """Message id -> ids of the tool calls in it."""
        self.answers: dict[str, str] = {}
        """Tool call id -> id of the message with its result."""
        self.resets: list[tuple[int, tuple[str, ...]]] = []
        """(index of the record that reset the window, the window before it), ascending."""
        self.message_of: dict[str, str] = {}
        """uuid of a record -> id of the message it belongs to."""
        self.kept: dict[str, tuple[int, str]] = {}
        """Messages that a compaction kept -> (index of its boundary, its summary)."""
        self.left: set[str] = set()
        """Messages that a rewind or a clear left behind."""
        self.root = ""
        self.tip = ""
        self.last_prompt = ""
        self.has_turns = False
        self.first_context_tokens = 0
        self.last_context_tokens = 0
        self.doubt: Doubt | None = None

    def add(self, message: str, index: int) -> None:
        """Put a message at the end of the window."""
        self.window[message] = None
        self.first_index.setdefault(message, index)

    def note_tools(self, message: str, calls: list[str], answers: list[str]) -> None:
        """Remember which message holds which tool calls and results."""
        if calls:
            self.calls.setdefault(message, []).extend(calls)
        for tool_id in answers:
            self.answers[tool_id] = message

    def reset(self, index: int, messages: tuple[str, ...]) -> None:
        """Set the window, and keep the one before for later rewinds."""
        self.resets.append((index, tuple(self.window)))
        self.window = dict.fromkeys(messages)
        self.left.difference_update(messages)

    def leave(self, index: int, messages: tuple[str, ...]) -> None:
        """Reset the window, and remember what was left behind."""
        before = set(self.window)
        self.reset(index, messages)
        self.left |= before.difference(messages)

    def compact(self, index: int, summary: str, kept: tuple[str, ...], *, is_first: bool) -> None:
        """Replace the window by a summary and the messages kept behind (or before) it."""
        self.reset(index, (*kept, summary) if is_first else (summary, *kept))
        self.first_index.setdefault(summary, index)
        for message in kept:
            self.kept[message] = (index, summary)

    def window_at(self, node: Node) -> list[str]:
        """Give the window as it was when `node`, a record of the branch in force, was written."""
        anchor = self.kept.get(node.message)
        start = anchor[0] if anchor else node.index
        base = next((before for index, before in self.resets if index > start), tuple(self.window))
        summary = anchor[1] if anchor else ""
        first = self.first_index
        stay = [m for m in base if first.get(m, 0) <= node.index or m == summary]
        known = set(stay)
        late = {
            self.answers[tool_id]
            for message in stay
            for tool_id in self.calls.get(message, ())
            if tool_id in self.answers
        } - known
        return stay + sorted(late, key=lambda m: first.get(m, 0))

    def between(self, head: str, tail: str) -> tuple[str, ...]:
        """Messages of the window from `head` to `tail`; () when either is not in it."""
        order = list(self.window)
        if head not in self.window or tail not in self.window:
            return ()
        return tuple(order[order.index(head) : order.index(tail) + 1])

    def note_context(self, tokens: int) -> None:
        """Remember the context size that a call reported."""
        self.first_context_tokens = self.first_context_tokens or tokens
        self.last_context_tokens = tokens

    def settle_doubt(self, context_tokens: int) -> Rewrite | None:
        """Take a cut back if the first call after it still had the old context."""
        doubt, self.doubt = self.doubt, None
        if doubt is None or context_tokens < doubt.floor_tokens:
            return None
        self.window = dict.fromkeys((*doubt.before, *self.window))
        self.left.difference_update(self.window)
        return Rewrite("restore", tuple(self.window), doubt.evidence)
