"""Branches of a Claude Code transcript: which earlier messages the model still saw.

Records form a tree by `parentUuid`, but most forks are parallel calls or progress. A rewind is
read only where a human prompt arrives whose path leaves out a prompt of the branch in force;
one that was left goes on when the model answers on it. Knows nothing about drafts or files.
"""

from __future__ import annotations

from ..drafts import Cause
from .claude_code_conversation import Conversation, Doubt, Node, Rewrite


class Tree:
    """All records of a source by uuid."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.damaged_count = 0
        """Unreadable records that no missing parent has been explained by yet."""
        self._explained: set[str] = set()

    def place(
        self,
        talk: Conversation,
        uuid: str,
        parent: str,
        *,
        prompt: bool,
        digest: int,
        is_clear: bool = False,
    ) -> tuple[Node, Rewrite | None, bool]:
        """Hang a record below its parent; a human prompt may show another branch.

        Args:
            is_clear: it is the command `/clear`: no later usage can make that doubtful.

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
        if is_clear:
            talk.doubt = None
        if prompt:
            node.prompt = talk.last_prompt = uuid
            talk.root = node.root
        else:
            node.is_on_branch = node.prompt == talk.last_prompt and node.root == talk.root
        self.nodes[uuid] = node
        talk.tip = uuid
        return node, rewrite, is_missing and node.index > 0

    def place_boundary(
        self, talk: Conversation, uuid: str, logical: str, digest: int
    ) -> tuple[Node, Rewrite | None]:
        """Hang a compaction boundary (a root in the file) behind the branch it compacts.

        Returns: the node; the rewrite that goes back to that branch, if it had been left.
        """
        parent = logical if logical in self.nodes else talk.tip
        above = self.nodes.get(parent)
        rewrite = self._back_to(talk, above, len(self.nodes)) if above is not None else None
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
        return node, rewrite

    def returned(self, talk: Conversation, node: Node) -> Rewrite | None:
        """Go back to the branch of a record that the model saw, if a rewind had left its prompt.

        Two clients can write one file in turns, and a call can be answered after a rewind.
        """
        above = self.nodes.get(node.parent)
        if node.is_on_branch or above is None:
            return None
        rewrite = self._back_to(talk, above, node.index)
        node.is_on_branch = rewrite is not None
        return rewrite

    def _back_to(self, talk: Conversation, above: Node, index: int) -> Rewrite | None:
        prompt = self.nodes.get(above.prompt)
        if prompt is None or prompt.message not in talk.left or prompt.uuid == talk.last_prompt:
            return None
        messages, _ = self._window_below(talk, above)
        talk.leave(index, messages)
        talk.last_prompt, talk.root = above.prompt, above.root
        return Rewrite("branch", messages, above.uuid)

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
        child.left = set(parent.left)
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
            talk.doubt = Doubt(seen, _floor_tokens(talk, rewrite.cause), rewrite.evidence)
        talk.leave(node.index, rewrite.messages)
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


def _floor_tokens(talk: Conversation, cause: Cause) -> int:
    """Context at which a call still saw what was cut.

    A missing parent says little: halfway between the first call's context and the last one's
    (the last if there was one). A new root mostly is a cut: more than there ever was.
    """
    if cause == "clear":
        return talk.last_context_tokens + 1
    return (talk.first_context_tokens + talk.last_context_tokens + 1) // 2
