"""One session of a Claude Code transcript: its records become drafts.

Drafts come at once, without looking ahead; only a compaction boundary waits for its summary, and
attachments between the two wait with it. Decisions that the files leave open:
a typed slash command is the person's, its expansion and output the harness's; API errors that
the client shows (`<synthetic>`, `isApiErrorMessage`) are never sent, other synthetic texts
("No response requested.") are. Knows nothing about routing, files or versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..content import CALL_TYPES, Block, is_result, label
from ..drafts import (
    AnyDraft,
    AppendMessage,
    CompleteCall,
    ExtendMessage,
    Keep,
    OpenSession,
    Relation,
    RewriteWindow,
    StartCall,
)
from .base import Fed
from .claude_code_compaction import Boundary, compaction
from .claude_code_conversation import Conversation, Node, Rewrite
from .claude_code_records import (
    SYNTHETIC_MODEL,
    at_ms,
    iterations_of,
    mapping_of,
    outcome_of,
    text_of,
    usage_of,
)
from .claude_code_responses import Response, Responses


class SessionReader:
    """Turns the records of one session into drafts."""

    def __init__(
        self,
        talk: Conversation,
        *,
        relation: Relation = "",
        parent: str = "",
        parent_message: str = "",
    ) -> None:
        self.talk = talk
        self.is_subagent = relation == "subagent"
        self._relation = relation
        self._parent = parent
        self._parent_message = parent_message
        self._is_open = False
        self._responses = Responses()
        self._boundary: Boundary | None = None
        self._is_opaque = False
        """The last compaction went without its summary; a late one is an ordinary message."""

    def open(self, value: Mapping[str, Any], model: str = "") -> list[AnyDraft]:
        """Give the opening draft the first time, nothing afterwards."""
        if self._is_open:
            return []
        self._is_open = True
        return [
            OpenSession(
                session=self.talk.name,
                at_ms=at_ms(value.get("timestamp")),
                format="claude-code",
                model=model,
                folder=text_of(value.get("cwd")),
                branch=text_of(value.get("gitBranch")),
                relation=self._relation,
                parent=self._parent,
                parent_message=self._parent_message,
            )
        ]

    @property
    def has_boundary(self) -> bool:
        """True if the next summary belongs to a boundary that was read."""
        return self._boundary is not None or self._is_opaque

    def flush(self, value: Mapping[str, Any]) -> list[AnyDraft]:
        """Give a waiting compaction without its summary, so that it is not lost."""
        if self._boundary is None:
            return []
        self._is_opaque = True
        return self.open(value) + self._compaction(self._boundary.node.uuid, ())

    def message(
        self,
        value: Mapping[str, Any],
        node: Node,
        rewrite: Rewrite | None,
        blocks: tuple[Block, ...],
    ) -> list[AnyDraft]:
        """Append a message of role `user`; a rewrite that it shows comes first."""
        drafts = self.open(value)
        time = at_ms(value.get("timestamp"))
        if rewrite is not None:
            drafts.append(self._rewritten(rewrite, time))
        self._note(node, node.uuid, blocks)
        self.talk.add(node.uuid, node.index)
        drafts.append(
            AppendMessage(
                session=self.talk.name, at_ms=time, role="user", blocks=blocks, message=node.uuid
            )
        )
        return drafts

    def attachment(
        self,
        value: Mapping[str, Any],
        node: Node,
        rewrite: Rewrite | None,
        blocks: tuple[Block, ...],
        what: str,
    ) -> Fed:
        """Append what the harness slipped in; behind the summary while a compaction waits."""
        if self._boundary is None:
            return Fed("window", tuple(self.message(value, node, rewrite, blocks)), what)
        self._note(node, node.uuid, blocks)
        self._boundary.held_nodes.append(node)
        self._boundary.held.append(
            AppendMessage(
                session=self.talk.name,
                at_ms=at_ms(value.get("timestamp")),
                role="user",
                blocks=blocks,
                message=node.uuid,
            )
        )
        return Fed("held", (), what)

    def assistant(
        self,
        value: Mapping[str, Any],
        message: Mapping[str, Any],
        node: Node,
        rewrite: Rewrite | None,
        blocks: tuple[Block, ...],
    ) -> list[AnyDraft]:
        """Append a response, or extend it by one more of its split records."""
        name = self._responses.name_of(value, message, node)
        model = text_of(message.get("model"))
        time = at_ms(value.get("timestamp"))
        self._note(node, name, blocks)
        known = self._responses.get(name)
        if known is not None:
            drafts: list[AnyDraft] = [self._rewritten(rewrite, time)] if rewrite else []
            if blocks:
                drafts.append(
                    ExtendMessage(session=self.talk.name, at_ms=time, message=name, blocks=blocks)
                )
            return drafts + self._completed(known, message, time, is_first=False)
        is_made_here = model == SYNTHETIC_MODEL
        known = self._responses.begin(name, value, node, is_made_here=is_made_here)
        drafts = self.open(value, "" if is_made_here else model)
        if rewrite is not None:
            drafts.append(self._rewritten(rewrite, time))
        if known.call:
            drafts += self._settled(message, time)
            drafts.append(
                StartCall(session=self.talk.name, at_ms=time, call=known.call, model=model)
            )
        self.talk.add(name, node.index)
        self.talk.has_turns = True
        drafts.append(
            AppendMessage(
                session=self.talk.name, at_ms=time, role="assistant", blocks=blocks, message=name
            )
        )
        return drafts + self._completed(known, message, time, is_first=True)

    def boundary(
        self, value: Mapping[str, Any], node: Node, rewrite: Rewrite | None
    ) -> list[AnyDraft]:
        """Take a compaction boundary; gives drafts only for an earlier one, or a return."""
        drafts = self.flush(value)
        if rewrite is not None:
            drafts.append(self._rewritten(rewrite, at_ms(value.get("timestamp"))))
        meta = mapping_of(value.get("compactMetadata") or value.get("compact_metadata"))
        self._boundary = Boundary(
            node=node, meta=meta, at_ms=at_ms(value.get("timestamp")), held=[], held_nodes=[]
        )
        return drafts

    def summary(
        self,
        value: Mapping[str, Any],
        node: Node,
        rewrite: Rewrite | None,
        blocks: tuple[Block, ...],
    ) -> list[AnyDraft]:
        """Take the summary of a compaction; its boundary may be missing."""
        if self._boundary is None and self._is_opaque:
            self._is_opaque = False
            return self.message(value, node, rewrite, blocks)
        time = at_ms(value.get("timestamp"))
        drafts = self.open(value) + ([self._rewritten(rewrite, time)] if rewrite else [])
        if self._boundary is None:
            self._boundary = Boundary(node=node, meta={}, at_ms=time, held=[], held_nodes=[])
        self._note(node, node.uuid, blocks)
        self._is_opaque = False
        return drafts + self._compaction(node.uuid, blocks)

    def _compaction(self, summary: str, blocks: tuple[Block, ...]) -> list[AnyDraft]:
        boundary, self._boundary = self._boundary, None
        assert boundary is not None, "BUG: a compaction without a boundary"
        return compaction(self.talk, boundary, summary, blocks)

    def _note(self, node: Node, message: str, blocks: tuple[Block, ...]) -> None:
        node.message = self.talk.message_of[node.uuid] = message
        calls = [b.tool_id for b in blocks if b.tool_id and b.type in CALL_TYPES]
        answers = [b.tool_id for b in blocks if b.tool_id and is_result(b.type)]
        self.talk.note_tools(message, calls, answers)

    def _rewritten(self, rewrite: Rewrite, time: int | None) -> RewriteWindow:
        return RewriteWindow(
            session=self.talk.name,
            at_ms=time,
            cause=rewrite.cause,
            parts=tuple(Keep(message) for message in rewrite.messages),
            evidence=label(rewrite.evidence),
            is_return=True,
        )

    def _settled(self, message: Mapping[str, Any], time: int | None) -> list[AnyDraft]:
        if self.talk.doubt is None:
            return []
        usage = usage_of(message.get("usage"))
        if usage is None or not usage.context_tokens:
            return []
        rewrite = self.talk.settle_doubt(usage.context_tokens)
        return [] if rewrite is None else [self._rewritten(rewrite, time)]

    def _completed(
        self, response: Response, message: Mapping[str, Any], time: int | None, *, is_first: bool
    ) -> list[AnyDraft]:
        if not response.call:
            return []
        raw = message.get("usage")
        reported = (raw, message.get("stop_reason"))
        if not is_first and reported == response.reported:
            return []
        response.reported = reported
        usage, stop_reason = usage_of(raw), label(message.get("stop_reason"))
        if not is_first:
            usage = usage or response.usage
            stop_reason = stop_reason or response.stop_reason
            if usage == response.usage and stop_reason == response.stop_reason:
                return []
        response.usage, response.stop_reason = usage, stop_reason
        if usage is not None and usage.context_tokens:
            self.talk.note_context(usage.context_tokens)
        return [
            CompleteCall(
                session=self.talk.name,
                at_ms=time,
                call=response.call,
                outcome=outcome_of(stop_reason),
                stop_reason=stop_reason,
                usage=usage,
                iterations=iterations_of(raw),
            )
        ]
