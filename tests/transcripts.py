"""Makes Claude Code transcripts, and knows what the model saw at each call.

The client is played the simplest way: it keeps its own list of messages, writes records as the
real one does (split responses, results between blocks, progress, hooks), and remembers the list
at each call. So a test can compare that with what the ledger reads off the records.
"""

from __future__ import annotations

import json
import random
from typing import Any

Row = dict[str, Any]
VERSIONS = ("1.0.17", "2.0.14", "2.0.76", "2.1.1", "2.1.42", "2.1.204", "2.1.332")
TEXTS = (
    "Refactor auth.",
    "请不要碰生产数据库",
    "👩‍👩‍👧 fix \u202eit\u202c",
    "שלום",
    "a\u2028b\r\nc",
)
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}


class Client:
    """One session being recorded."""

    def __init__(self, seed: int, session: str = "s") -> None:
        self.random = random.Random(seed)
        self.session = session
        self.version = self.random.choice(VERSIONS)
        self.rows: list[Row] = []
        self.seen: dict[str, list[str]] = {}
        """Call -> ids of the messages that it saw."""
        self.usage: dict[str, tuple[int, int]] = {}
        """Call -> (input, output) tokens as reported last."""
        self.compactions: list[tuple[list[str], list[str]]] = []
        """(messages before, messages after) of each full compaction."""
        self.agents: dict[str, list[str]] = {}
        """Subagent -> ids of its messages."""
        self.cleared: set[str] = set()
        """Ids of calls whose results were cleared."""
        self.window: list[str] = []
        self.tip: str | None = None
        self._places: list[tuple[str | None, list[str]]] = []
        self.answers: dict[str, str] = {}
        """Tool id -> message with its result."""
        self._counts: dict[str, int] = {}

    def play(self, turns: int) -> list[Row]:
        """Do some turns, and the odd things between them."""
        self.turn()
        for _ in range(turns - 1):
            for act in self.random.sample((self.compact, self.rewind, self.micro, self.clear), 1):
                if self.random.random() < 0.35:
                    act()
            self.turn()
        return self.rows

    def id(self, kind: str) -> str:
        """A new id."""
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{self.session}-{kind}{count}"

    def write(self, kind: str, *, parent: str | None = "", uuid: str = "", **fields: Any) -> str:
        """Append a record behind the tip (or behind `parent`); gives its uuid."""
        uuid = uuid or self.id("u")
        above = self.tip if parent == "" else parent
        minute, second = divmod(len(self.rows), 60)
        row = {
            "parentUuid": above, "isSidechain": False, "userType": "external", "cwd": "/src/app",
            "sessionId": self.session, "version": self.version, "gitBranch": "main",
            "type": kind, **fields, "uuid": uuid,
            "timestamp": f"2030-01-01T{minute // 60:02}:{minute % 60:02}:{second:02}.000Z",
        }  # fmt: skip
        self.rows.append(row)
        self.tip = uuid
        return uuid

    def user(self, content: object, *, parent: str | None = "", **fields: Any) -> str:
        """A user record that the model sees."""
        message = {"role": "user", "content": content}
        uuid = self.write("user", parent=parent, message=message, **fields)
        self.window.append(uuid)
        return uuid

    def outside(self) -> None:
        """Sometimes a record that the model never sees."""
        pick = self.random.randrange(8)
        if pick == 0:
            self.write("progress", data={"type": "hook_progress"}, toolUseID="t")
        elif pick == 1:
            self.write("system", subtype="stop_hook_summary", hookCount=1)
        elif pick == 2:
            self.rows.append({"type": "queue-operation", "operation": "enqueue", "content": "x",
                              "sessionId": self.session})  # fmt: skip
        elif pick == 3:
            error = {"id": self.id("e"), "model": "<synthetic>", "role": "assistant",
                     "content": [{"type": "text", "text": "API Error"}]}  # fmt: skip
            self.write("assistant", message=error, isApiErrorMessage=True)

    def turn(self) -> None:
        """A prompt and the steps that answer it."""
        if self.random.random() < 0.15:
            self.user("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True)
        self._places.append((self.tip, list(self.window)))
        text = self.random.choice(TEXTS)
        self.user([{"type": "text", "text": text}, IMAGE] if text == TEXTS[0] else text)
        for _ in range(self.random.randrange(3)):
            self.outside()
            self.step()
        if self.random.random() < 0.8:
            self.response([{"type": "text", "text": "done"}])
        else:
            self.user([{"type": "text", "text": "[Request interrupted by user]"}])
        self.outside()

    def step(self) -> None:
        """A response with calls, and their results, which may come between its blocks."""
        tools = [self.id("t") for _ in range(self.random.randrange(1, 4))]
        uses = [{"type": "tool_use", "id": t, "name": "Bash", "input": {"n": 1}} for t in tools]
        blocks = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, *uses]
        is_early = self.random.random() < 0.3
        places = self.response(blocks, results=tools if is_early else ())
        if self.random.random() < 0.2:
            self.agent(tools[0])
        waiting = [] if is_early else list(zip(tools, places[1:], strict=True))
        self.random.shuffle(waiting)
        for tool, place in waiting:
            self.result(tool, place)
        if self.random.random() < 0.2:
            uuid = self.write("attachment", attachment={"type": "todo_reminder", "content": "todo"})
            self.window.append(uuid)

    def result(self, tool: str, parent: str) -> None:
        """The result of one call, hanging from the record of that call."""
        part = {"type": "tool_result", "tool_use_id": tool, "content": f"out of {tool}"}
        uuid = self.user([part], parent=parent, toolUseResult={"stdout": "x"})
        self.answers[tool] = uuid

    def response(self, blocks: list[Row], results: list[str] | tuple[()] = ()) -> list[str]:
        """One answer, a record for each block; gives their uuids."""
        message, call = self.id("msg"), self.id("req")
        self.seen[call] = list(self.window)
        self.window.append(message)
        tokens = 20_000 + 100 * len(self.window)
        places: list[str] = []
        for place, block in enumerate(blocks):
            is_last = place == len(blocks) - 1
            self.usage[call] = (tokens, 40 if is_last else 1)
            body = {"id": message, "type": "message", "role": "assistant", "model": "claude-x",
                    "content": [block], "stop_reason": None,
                    "usage": {"input_tokens": 7, "cache_read_input_tokens": tokens - 7,
                              "output_tokens": self.usage[call][1]}}  # fmt: skip
            above = places[-1] if places else ""
            places.append(self.write("assistant", parent=above, message=body, requestId=call))
            if results and block["type"] == "tool_use":
                self.result(block["id"], places[-1])
        return places

    def agent(self, tool: str) -> None:
        """A subagent, its messages inside progress records."""
        agent = f"{self.session}{self.id('a')}".replace("-", "")
        shown = self.agents[f"agent-{agent}"] = []
        for n in range(3):
            role = ("user", "assistant", "user")[n]
            uuid = self.id("i")
            use = {"type": "tool_use", "id": f"{uuid}t", "name": "Read", "input": {}}
            done = {"type": "tool_result", "tool_use_id": f"{shown[-1]}t" if shown else "",
                    "content": "x"}  # fmt: skip
            content = ("look around", [use], [done])[n]
            body = {"role": role, "content": content}
            if role == "assistant":
                body |= {"id": uuid, "model": "claude-h", "usage": {"input_tokens": 99_999}}
            shown.append(uuid)
            inner = {"type": role, "uuid": uuid if role == "user" else self.id("i"),
                     "message": body}  # fmt: skip
            self.write("progress", parentToolUseID=tool, data={
                "type": "agent_progress", "agentId": agent, "prompt": "look around",
                "message": inner, "normalizedMessages": [inner],
            })  # fmt: skip

    def compact(self) -> None:
        """A full compaction; newer clients may keep some of the messages."""
        before, above = list(self.window), self.tip
        uuid, summary = self.id("u"), self.id("u")
        kept: list[str] = []
        meta: Row = {"trigger": self.random.choice(("auto", "manual")), "preTokens": 150_000}
        by_id = {row["uuid"]: row for row in self.rows if "uuid" in row}
        if self.version >= "2.1.2" and self.random.random() < 0.5:
            users = [m for m in before if m in by_id]
            kept = users[-1:]
            meta["preservedMessages"] = {"anchorUuid": summary, "uuids": kept}
        self.write("system", parent=None, uuid=uuid, subtype="compact_boundary", isMeta=False,
                   content="Conversation compacted", logicalParentUuid=above,
                   compactMetadata=meta)  # fmt: skip
        words = "This session is being continued from a previous conversation that ran out."
        self.write("user", uuid=summary, isCompactSummary=True, isVisibleInTranscriptOnly=True,
                   message={"role": "user", "content": words})  # fmt: skip
        self.window = [summary, *kept]
        self.compactions.append((before, list(self.window)))
        if meta["trigger"] == "auto" and self.random.random() < 0.5:
            self.step()
            self.response([{"type": "text", "text": "on with it"}])

    def micro(self) -> None:
        """A microcompaction of results that are in the window."""
        tools = [t for t, m in self.answers.items() if m in self.window and t not in self.cleared]
        chosen = tools[: self.random.randrange(1, 4)]
        if chosen:
            self.cleared.update(chosen)
            meta = {"trigger": "auto", "preTokens": 90_000, "tokensSaved": 5_000,
                    "compactedToolIds": chosen, "clearedAttachmentUUIDs": []}  # fmt: skip
            self.write("system", subtype="microcompact_boundary", microcompactMetadata=meta)

    def rewind(self) -> None:
        """Back to before an earlier prompt, perhaps across compactions and other rewinds."""
        self.tip, window = self.random.choice(self._places)
        if self.tip is None:
            return self.clear()
        self.window = list(window)
        return None

    def clear(self) -> None:
        """`/clear`: a new root."""
        self.window = []
        self.tip = None
        self.user("<local-command-caveat>Caveat: x</local-command-caveat>", isMeta=True)
        self.user("<command-name>/clear</command-name>")


def as_bytes(rows: list[Row], end: bytes = b"\n") -> bytes:
    """Rows as a client writes them."""
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + end for row in rows)
