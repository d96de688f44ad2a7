"""Claude Code transcripts (`~/.claude/projects/.../<session>.jsonl`): records in, drafts out.

Routes each record to its session: the main conversation by `sessionId`, subagents by `agentId`
(from `agent-*.jsonl`, or embedded in `progress` records), old inline sidechains by their root.
Records that the model never saw stay in the tree, because later records hang from them.
Knows nothing about files, splitting or storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ..content import Block, label
from ..drafts import AnyDraft, QuarantineRecord
from .base import Fed, Record
from .claude_code_attachments import attachment_blocks, local_command_blocks
from .claude_code_compaction import cleared, replaced
from .claude_code_conversation import Conversation, Node, Rewrite
from .claude_code_identity import agent_message, agent_rows, message_content, record_digest
from .claude_code_records import (
    OUTSIDE_TYPES,
    SYNTHETIC_MODEL,
    is_clear,
    is_prompt,
    mapping_of,
    response_blocks,
    result_facts,
    user_blocks,
    user_origin,
)
from .claude_code_session import SessionReader
from .claude_code_tree import Tree

# An unknown type is a Claude Code record if it carries one of these.
_OWN_FIELDS = ("sessionId", "uuid", "messageId", "leafUuid")


class ClaudeCodeFold:
    """Reads one transcript."""

    name = "claude-code"

    def __init__(self, default_session: str) -> None:
        """`default_session` names the session of records that name none."""
        self._default_session = default_session
        self._current = ""
        self._sessions: dict[str, SessionReader] = {}
        self._tree = Tree()
        self._anonymous: dict[str, int] = {}

    def key(self, record: Record) -> str:
        """Give the uuid of the record, or of the subagent's message in it; "" when it has none."""
        if not isinstance(record.value, dict):
            return ""
        inner = agent_message(record.value)
        return label((inner or record.value).get("uuid"))

    def feed(self, record: Record) -> Fed:
        """Take the next record."""
        value = record.value
        if record.fault:
            self._tree.damaged_count += 1
            return self._quarantined(record.fault, "")
        if not isinstance(value, dict):
            return self._quarantined("not_an_object", "")
        kind = value.get("type")
        if not isinstance(kind, str):
            return self._quarantined("wrong_format", "")
        try:
            fed = self._read(value, kind, record_digest(record.data, value))
            inner = agent_message(value)
            return fed if inner is None else replace(fed, content=message_content(inner))
        except ValueError:  # a number or text that cannot be written as JSON again
            return self._quarantined("not_json", kind)

    def _read(self, value: Mapping[str, Any], kind: str, digest: int) -> Fed:
        uuid = label(value.get("uuid"))
        known = self._tree.nodes.get(uuid)
        if known is not None:
            if digest == 0 or known.digest in (digest, 0):
                return Fed("outside", (), "duplicate")
            return self._quarantined("same_id_other_bytes", kind)
        if kind == "user":
            return self._user(value, uuid, digest)
        if kind == "assistant":
            return self._assistant(value, uuid, digest)
        if kind == "attachment":
            return self._attachment(value, uuid, digest)
        if kind == "system":
            return self._system(value, uuid, digest)
        if kind == "progress":
            return self._progress(value, uuid, digest)
        if kind == "content-replacement":
            session = self._session(value, uuid)
            evicted = replaced(session.talk, value)
            return _fed([*session.open(value), *evicted] if evicted else [], kind)
        if kind not in OUTSIDE_TYPES and not any(name in value for name in _OWN_FIELDS):
            return self._quarantined("wrong_format", kind)
        if uuid:
            self._place(self._session(value, uuid), value, uuid, digest)
        return Fed("outside" if kind in OUTSIDE_TYPES else "unknown", (), kind)

    def _user(self, value: Mapping[str, Any], uuid: str, digest: int) -> Fed:
        session = self._session(value, uuid)
        is_summary = value.get("isCompactSummary") is True
        is_shown_only = value.get("isVisibleInTranscriptOnly") is True and not is_summary
        if is_shown_only or value.get("isVirtual") is True:
            self._place(session, value, uuid, digest)
            return Fed("outside", (), "user/transcript_only")
        blocks = user_blocks(
            mapping_of(value.get("message")).get("content"),
            user_origin(value, is_subagent=session.is_subagent),
            result_facts(value.get("toolUseResult")),
        )
        if not blocks:
            self._place(session, value, uuid, digest)
            return Fed("outside", (), "user/empty") if blocks == () else self._bad(session, "user")
        if is_summary:
            node, rewrite = self._summary_node(session, value, uuid, digest)
            drafts = session.summary(value, node, rewrite, blocks)
            return Fed("window", tuple(drafts), "user/summary")
        drafts = session.flush(value)
        node, rewrite, is_gap = self._place(session, value, uuid, digest, blocks, is_asking=True)
        drafts += session.message(value, node, rewrite, blocks)
        return Fed("window", tuple(drafts), "user/gap" if is_gap else "user")

    def _assistant(self, value: Mapping[str, Any], uuid: str, digest: int) -> Fed:
        session = self._session(value, uuid)
        message = mapping_of(value.get("message"))
        if message.get("model") == SYNTHETIC_MODEL and value.get("isApiErrorMessage") is True:
            self._place(session, value, uuid, digest)
            return Fed("outside", (), "assistant/api_error")
        blocks = response_blocks(message)
        drafts = session.flush(value) if blocks is not None else []
        node, rewrite, is_gap = self._place(session, value, uuid, digest, blocks or ())
        if blocks is None:
            return self._bad(session, "assistant")
        drafts += session.assistant(value, message, node, rewrite, blocks)
        return _fed(drafts, "assistant/gap" if is_gap else "assistant")

    def _attachment(self, value: Mapping[str, Any], uuid: str, digest: int) -> Fed:
        session = self._session(value, uuid)
        what = f"attachment/{label(mapping_of(value.get('attachment')).get('type'))}"
        blocks = attachment_blocks(value)
        node, rewrite, _ = self._place(session, value, uuid, digest, blocks)
        if not blocks:
            return Fed("outside", (), what)
        return session.attachment(value, node, rewrite, blocks, what)

    def _system(self, value: Mapping[str, Any], uuid: str, digest: int) -> Fed:
        session = self._session(value, uuid)
        subtype = label(value.get("subtype"))
        what = f"system/{subtype}"
        if subtype == "compact_boundary":
            uuid = uuid or self._anonymous_id(value)
            above = label(value.get("logicalParentUuid")) or label(value.get("parentUuid"))
            node, rewrite = self._tree.place_boundary(session.talk, uuid, above, digest)
            return Fed("held", tuple(session.boundary(value, node, rewrite)), what)
        blocks: tuple[Block, ...] = ()
        if subtype == "local_command":
            blocks = local_command_blocks(value)
        drafts = session.flush(value) if blocks else []
        node, rewrite, _ = self._place(session, value, uuid, digest, blocks, is_asking=True)
        if blocks:
            drafts += session.message(value, node, rewrite, blocks)
        elif subtype == "microcompact_boundary":
            drafts = [*session.open(value), cleared(session.talk, value)]
        return _fed(drafts, what)

    def _progress(self, value: Mapping[str, Any], uuid: str, digest: int) -> Fed:
        """Place a progress record; one of a subagent carries that agent's next message."""
        main = self._session(value, uuid)
        node, _, _ = self._place(main, value, uuid, digest)
        data = mapping_of(value.get("data"))
        what = f"progress/{label(data.get('type'))}"
        agent = label(data.get("agentId"))
        if data.get("type") != "agent_progress" or not agent:
            return Fed("outside", (), what)
        drafts: list[AnyDraft] = []
        for inner in agent_rows(value, node.uuid, is_new=f"agent-{agent}" not in self._sessions):
            drafts += self._read(inner, str(inner["type"]), 0).drafts
        return _fed(drafts, what)

    def _place(
        self,
        session: SessionReader,
        value: Mapping[str, Any],
        uuid: str,
        digest: int,
        blocks: tuple[Block, ...] = (),
        *,
        is_asking: bool = False,
    ) -> tuple[Node, Rewrite | None, bool]:
        """Hang a record into the tree; without a `parentUuid` at all it continues at the tip.

        Args:
            blocks: what the model saw of it.
            is_asking: words in it may be a prompt.
        """
        talk = session.talk
        parent = value.get("parentUuid", talk.tip)
        if not isinstance(parent, str) or parent not in self._tree.nodes:
            parent = label(parent)
        uuid = uuid or self._anonymous_id(value)
        node, rewrite, is_gap = self._tree.place(
            talk,
            uuid,
            parent,
            prompt=is_asking and is_prompt(blocks),
            digest=digest,
            is_clear=is_asking and is_clear(blocks),
        )
        if blocks and rewrite is None:
            rewrite = self._tree.returned(talk, node)
        return node, rewrite, is_gap

    def _summary_node(
        self, session: SessionReader, value: Mapping[str, Any], uuid: str, digest: int
    ) -> tuple[Node, Rewrite | None]:
        """Hang a summary below its boundary; without one it stands where the boundary would."""
        if session.has_boundary:
            return self._place(session, value, uuid, digest)[:2]
        uuid = uuid or self._anonymous_id(value)
        parent = label(value.get("parentUuid"))
        return self._tree.place_boundary(session.talk, uuid, parent, digest)

    def _anonymous_id(self, value: Mapping[str, Any]) -> str:
        base = label(dict(value))
        count = self._anonymous[base] = self._anonymous.get(base, 0) + 1
        return base if count == 1 else f"{base}.{count}"

    def _session(self, value: Mapping[str, Any], uuid: str) -> SessionReader:
        """Find the session of a record, or begin it."""
        agent = label(value.get("agentId"))
        is_side = value.get("isSidechain") is True
        if not agent and not is_side and value.get("sessionId") == self._current != "":
            return self._sessions[self._current]
        main = label(value.get("sessionId")) or label(value.get("session_id"))
        main = main or self._current or self._default_session
        above = self._tree.nodes.get(label(value.get("parentUuid")))
        if agent:
            name = f"agent-{agent}"
        elif is_side:
            side = f"{main}.side-"
            is_inside = above is not None and above.session.startswith(side)
            name = above.session if above is not None and is_inside else side + uuid[:8]
        else:
            name = self._current = main
        found = self._sessions.get(name)
        if found is None:
            found = self._sessions[name] = self._begin(name, main, above)
        return found

    def _begin(self, name: str, main: str, above: Node | None) -> SessionReader:
        if name != main:
            return SessionReader(Conversation(name), relation="subagent", parent=main)
        parent = self._sessions.get(above.session) if above is not None else None
        if above is None or parent is None or parent.is_subagent:
            return SessionReader(Conversation(name))
        talk = self._tree.fork(name, parent.talk, above)
        shared = next(reversed(talk.window), "")
        if not shared:  # a fork from before any message shares nothing
            return SessionReader(talk)
        return SessionReader(talk, relation="fork", parent=parent.talk.name, parent_message=shared)

    def _bad(self, session: SessionReader, what: str) -> Fed:
        return self._quarantined("bad_message", what, session.talk.name)

    def _quarantined(self, reason: str, what: str, session: str = "") -> Fed:
        name = session or self._current or self._default_session
        return Fed("quarantined", (QuarantineRecord(session=name, reason=reason),), what)


def _fed(drafts: list[AnyDraft], what: str) -> Fed:
    return Fed("window" if drafts else "outside", tuple(drafts), what)
