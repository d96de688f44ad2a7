"""Branches of a Claude Code transcript: which earlier messages the model still saw.

Records form a tree by `parentUuid`, but most forks are parallel calls or progress. A rewind is
read only where a human prompt arrives whose path leaves out a prompt of the branch in force.
The window at any earlier record is found from the windows kept at each reset, not by walking:
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
        return Rewrite("restore", tuple(self.window), doubt.evidence)


class Tree:
    """All records of a source by uuid."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.damaged_count = 0
        """Unreadable records that no missing parent has been explained by yet."""
        self._explained: set[str] = set()

    def place(
        self, talk: Conversation, uuid: str, parent: str, *, prompt: bool, digest: int
    ) -> tuple[Node, Rewrite | None, bool]:
        """Hang a record below its parent; a human prompt may show another branch.

        Returns: the node; the rewrite that it shows, if any; whether its parent is missing.
        A record that is no prompt continues at the tip when its parent is missing.
        """
        above = self.nodes.get(parent) if parent else None
        is_missing = parent != "" and above is None
        if above is not None and above.session not in talk.sessions:
            above = self.nodes.get(talk.tip)
        is_cut = is_missing and prompt and talk.tip != "" and not self._is_damage(parent)
        if is_missing and not is_cut:
            above = self.nodes.get(talk.tip)
        node = Node(
            uuid=uuid,
            session=talk.name,
            index=len(self.nodes),
            digest=digest,
            parent=above.uuid if above else "",
            root=above.root if above else uuid,
            prompt=above.prompt if above else "",
        )
        talk.root = talk.root or node.root
        rewrite = self._rewrite(talk, node, parent if is_cut else "") if prompt else None
        if prompt:
            node.prompt = talk.last_prompt = uuid
            talk.root = node.root
        else:
            node.is_on_branch = node.prompt == talk.last_prompt and node.root == talk.root
        self.nodes[uuid] = node
        talk.tip = uuid
        return node, rewrite, is_missing and node.index > 0

    def place_boundary(self, talk: Conversation, uuid: str, logical: str, digest: int) -> Node:
        """Hang a compaction boundary (a root in the file) behind the branch it compacts."""
        parent = logical if logical in self.nodes else talk.tip
        node = Node(
            uuid=uuid,
            session=talk.name,
            index=len(self.nodes),
            digest=digest,
            parent=parent,
            root=talk.root or uuid,
            prompt=talk.last_prompt,
        )
        talk.root = node.root
        self.nodes[uuid] = node
        talk.tip = uuid
        return node

    def fork(self, name: str, parent: Conversation, above: Node) -> Conversation:
        """Begin a session that shares its past with `parent` up to the record `above`."""
        child = Conversation(name)
        child.sessions |= parent.sessions
        messages, _ = self._window_below(parent, above)
        child.window = dict.fromkeys(messages)
        child.first_index = dict(parent.first_index)
        child.calls = {message: list(calls) for message, calls in parent.calls.items()}
        child.answers = dict(parent.answers)
        child.message_of = dict(parent.message_of)
        child.resets = list(parent.resets)
        child.kept = dict(parent.kept)
        child.root, child.tip, child.last_prompt = above.root, above.uuid, above.prompt
        child.has_turns = parent.has_turns
        return child

    def _is_damage(self, parent: str) -> bool:
        """True if an unreadable record explains the missing parent."""
        if parent not in self._explained and self.damaged_count > 0:
            self.damaged_count -= 1
            self._explained.add(parent)
        return parent in self._explained

    def _rewrite(self, talk: Conversation, node: Node, missing: str) -> Rewrite | None:
        if not talk.window or not (talk.last_prompt or talk.has_turns):
            return None
        if not missing and node.root == talk.root and node.prompt == talk.last_prompt:
            return None
        messages, fork = self._window_below(talk, self.nodes.get(node.parent))
        if missing:
            rewrite = Rewrite("unexplained", (), f"missing:{missing}")
        elif fork is None:
            rewrite = Rewrite("clear", messages, f"root:{node.root}")
        else:
            rewrite = Rewrite("rewind", messages, fork.uuid)
        if fork is None and talk.last_context_tokens:
            before = talk.doubt.before if talk.doubt else ()
            seen = (*before, *talk.window)
            talk.doubt = Doubt(seen, _floor_tokens(talk), rewrite.evidence)
        talk.reset(node.index, rewrite.messages)
        return rewrite

    def _window_below(
        self, talk: Conversation, above: Node | None
    ) -> tuple[tuple[str, ...], Node | None]:
        """Give the window that a new child of `above` continues, and where it left the branch."""
        path: list[str] = []
        while above is not None and not above.is_on_branch:
            if above.message:
                path.append(above.message)
            above = self.nodes.get(above.parent)
        stay = talk.window_at(above) if above is not None else []
        return tuple(dict.fromkeys([*stay, *reversed(path)])), above


def _floor_tokens(talk: Conversation) -> int:
    """Halfway between the first call's context and the last one's; the last if there was one."""
    return (talk.first_context_tokens + talk.last_context_tokens + 1) // 2
