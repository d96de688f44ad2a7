"""Claude Code transcripts: messages, calls, origins, facts, attachments, damage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxledger.ledger.content import Block
from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    CompleteCall,
    EvictResults,
    ExtendMessage,
    ImportCompaction,
    OpenSession,
    QuarantineRecord,
    RewriteWindow,
    StartCall,
)
from ctxledger.ledger.formats.base import Fed, Record
from ctxledger.ledger.formats.claude_code import ClaudeCodeFold

FIXTURE = Path(__file__).parents[1] / "fixtures" / "claude-code-interrupts.jsonl"
# Distinct message ids that were real calls, rewinds, compactions, evictions; counted by hand.
RECORDINGS = {
    "auto-compaction.jsonl": (50, 0, 1, 0),
    "growing-at-line-128.jsonl": (25, 0, 0, 0),
    "growing-at-line-257.jsonl": (54, 0, 0, 1),
    "image-and-interrupts.jsonl": (11, 0, 0, 0),
    "microcompaction.jsonl": (91, 0, 0, 1),
    "rewind.jsonl": (38, 1, 0, 0),
    "small.jsonl": (11, 0, 0, 0),
}


def records_of(data: bytes) -> list[Record]:
    records, offset = [], 0
    for line in data.split(b"\n"):
        if line.strip():
            records.append(Record(offset=offset, data=line + b"\n", value=json.loads(line)))
        offset += len(line) + 1
    return records


def records_from(rows: Iterable[object]) -> list[Record]:
    return records_of(b"\n".join(json.dumps(row).encode() for row in rows))


def feed(records: Iterable[Record]) -> list[Fed]:
    fold = ClaudeCodeFold("unnamed")
    return [fold.feed(record) for record in records]


def drafts_of(fed: Iterable[Fed]) -> list[AnyDraft]:
    return [draft for one in fed for draft in one.drafts]


def read(*rows: object) -> list[AnyDraft]:
    return drafts_of(feed(records_from(rows)))


def count(drafts: Iterable[AnyDraft], kind: type[AnyDraft]) -> int:
    return sum(isinstance(draft, kind) for draft in drafts)


def blocks_of(drafts: Iterable[AnyDraft]) -> list[Block]:
    return [
        block
        for draft in drafts
        if isinstance(draft, AppendMessage | ExtendMessage | ImportCompaction)
        for block in draft.blocks
    ]


def user(uuid: str, parent: str | None, content: object, **fields: object) -> dict[str, Any]:
    return {
        "type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s",
        "message": {"role": "user", "content": content}, **fields,
    }  # fmt: skip


def assistant(
    uuid: str, parent: str, message: str, content: object, **extra: object
) -> dict[str, Any]:
    body = {"id": message, "model": "model-x", "content": content, **extra}
    return {
        "type": "assistant", "uuid": uuid, "parentUuid": parent, "sessionId": "s",
        "requestId": f"req_{message}", "message": body,
    }  # fmt: skip


def usage_totals(drafts: Iterable[AnyDraft]) -> dict[str, int]:
    last = {draft.call: draft.usage for draft in drafts if isinstance(draft, CompleteCall)}
    total: Counter[str] = Counter()
    for usage in last.values():
        assert usage is not None
        total["input_tokens"] += usage.input_tokens or 0
        total["output_tokens"] += usage.output_tokens or 0
        total["cache_read_input_tokens"] += usage.cache_read_tokens or 0
        total["cache_creation_input_tokens"] += usage.cache_write_tokens or 0
    return dict(total)


def check_whole_recording(data: bytes, calls: int, rewinds: int, full: int, micro: int) -> None:
    drafts = drafts_of(feed(records_of(data)))
    assert count(drafts, StartCall) == calls
    assert len({d.call for d in drafts if isinstance(d, StartCall)}) == calls
    assert {d.call for d in drafts if isinstance(d, CompleteCall)} == {
        d.call for d in drafts if isinstance(d, StartCall)
    }
    assert [d.cause for d in drafts if isinstance(d, RewriteWindow)] == ["rewind"] * rewinds
    assert count(drafts, ImportCompaction) == full
    assert count(drafts, EvictResults) == micro
    assert count(drafts, OpenSession) == 1
    assert count(drafts, QuarantineRecord) == 0
    blocks = blocks_of(drafts)
    used = {block.tool_id for block in blocks if block.type == "tool_use"}
    assert used == {block.tool_id for block in blocks if block.type == "tool_result"}
    assert {block.origin for block in blocks if block.type == "tool_result"} == {"tool"}


def test_the_bundled_transcript_reads_whole() -> None:
    check_whole_recording(FIXTURE.read_bytes(), *RECORDINGS["image-and-interrupts.jsonl"])


@pytest.mark.recordings
@pytest.mark.parametrize("name", RECORDINGS)
def test_recordings_read_whole(recordings: Path, name: str) -> None:
    check_whole_recording((recordings / "claude-code" / name).read_bytes(), *RECORDINGS[name])


@pytest.mark.recordings
def test_the_rewind_leaves_the_line_with_the_queued_exit(recordings: Path) -> None:
    records = records_of((recordings / "claude-code" / "rewind.jsonl").read_bytes())
    fed = feed(records)
    (rewrite,) = (draft for draft in fed[167].drafts if isinstance(draft, RewriteWindow))
    assert rewrite.evidence == records[154].value["uuid"]
    gone = {records[at].value["uuid"] for at in (158, 160, 161, 162)}
    gone.add(records[156].value["message"]["id"])
    kept = [getattr(part, "message", "") for part in rewrite.parts]
    shown = [d.message for d in drafts_of(fed[:168]) if isinstance(d, AppendMessage)]
    assert [message for message in shown[:-1] if message not in gone] == kept


def test_origins_of_the_bundled_transcript() -> None:
    drafts = drafts_of(feed(records_of(FIXTURE.read_bytes())))
    origins = Counter(block.origin for block in blocks_of(drafts))
    # 4 typed prompts and /clear; caveat, its output, two interruptions.
    assert origins == {"assistant": 16, "tool": 10, "human": 5, "harness": 4}


def test_cutting_anywhere_and_reading_twice_give_the_same_drafts() -> None:
    records = records_of(FIXTURE.read_bytes())
    whole = feed(records)
    for end in range(len(records)):
        assert feed(records[:end]) == whole[:end]


@pytest.mark.parametrize(("case_id", "calls"), [("k04-01", 1), ("k04-02", 1)])
def test_usage_counts_once(case: Callable[[str], dict[str, Any]], case_id: str, calls: int) -> None:
    told = case(case_id)
    drafts = read(*told["input"]["rows"])
    assert count(drafts, StartCall) == calls
    assert usage_totals(drafts) == told["expect"]["totals"]
    types = [block.type for block in blocks_of(drafts)][1:]
    assert types == told["expect"].get("content_blocks", types)


def test_a_later_record_completes_the_usage() -> None:
    early = {"input_tokens": 2, "output_tokens": 1}
    drafts = read(
        user("u1", None, "hi"),
        assistant("a1", "u1", "m1", [{"type": "text", "text": "x"}], usage=early, stop_reason=None),
        user("r1", "a1", [{"type": "tool_result", "tool_use_id": "t0", "content": "late"}]),
        assistant("a2", "a1", "m1", [{"type": "text", "text": "y"}],
                  usage=early | {"output_tokens": 9}, stop_reason="max_tokens"),
    )  # fmt: skip
    assert count(drafts, StartCall) == 1
    done = [d for d in drafts if isinstance(d, CompleteCall)]
    assert [(d.outcome, d.usage.output_tokens if d.usage else None) for d in done] == [
        ("ok", 1),
        ("cut_off", 9),
    ]
    assert [d.message for d in drafts if isinstance(d, ExtendMessage)] == ["m1"]


def test_zero_usage_is_no_usage() -> None:
    zero = {"input_tokens": 0, "output_tokens": 0}
    drafts = read(user("u1", None, "hi"), assistant("a1", "u1", "m1", "x", usage=zero))
    assert [d.usage for d in drafts if isinstance(d, CompleteCall)] == [None]


def test_synthetic_answers_are_no_calls_and_api_errors_are_not_in_the_window() -> None:
    text = [{"type": "text", "text": "No response requested."}]
    error = assistant("a2", "a1", "m2", "API Error", model="<synthetic>")
    drafts = read(
        user("u1", None, "hi"),
        assistant("a1", "u1", "m1", text, model="<synthetic>"),
        error | {"isApiErrorMessage": True},
    )
    assert count(drafts, StartCall) == 0
    assert [(b.origin, b.text) for b in blocks_of(drafts)][1:] == [
        ("harness", "No response requested.")
    ]


def test_one_message_can_hold_blocks_of_several_origins() -> None:
    parts = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "ok"},
        {"type": "text", "text": "<system-reminder>todo</system-reminder>"},
        {"type": "text", "text": "stop, use staging"},
    ]
    blocks = blocks_of(read(user("u1", None, parts)))
    assert [block.origin for block in blocks] == ["tool", "harness", "human"]
    assert blocks[2].text == "stop, use staging"


def test_meta_and_summary_records_are_not_the_persons() -> None:
    drafts = read(
        user("u1", None, "Base directory for this skill: x", isMeta=True),
        user("u2", "u1", "shown only", isVisibleInTranscriptOnly=True),
    )
    assert [(block.origin, block.text[:4]) for block in blocks_of(drafts)] == [("harness", "Base")]


def test_known_records_stay_outside_and_new_types_are_counted() -> None:
    rows = [
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        {"type": "summary", "summary": "t", "leafUuid": "x"},
        {"type": "system", "subtype": "turn_duration", "uuid": "y", "parentUuid": None},
        {"type": "hologram", "sessionId": "s"},
        {"type": "session_meta", "payload": {}},
        {"role": "user", "content": "native"},
    ]
    kinds = [fed.kind for fed in feed(records_from(rows))]
    assert kinds == ["outside", "outside", "outside", "unknown", "quarantined", "quarantined"]


def test_a_uuid_twice_is_told_apart_by_its_bytes() -> None:
    fold = ClaudeCodeFold("unnamed")
    first, other = records_from([user("u1", None, "a"), user("u1", None, "b")])
    assert fold.feed(first).kind == "window"
    assert (fold.feed(first).kind, fold.feed(first).what) == ("outside", "duplicate")
    (draft,) = fold.feed(other).drafts
    assert isinstance(draft, QuarantineRecord)
    assert draft.reason == "same_id_other_bytes"
    assert fold.key(first) == "u1"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
ROWS = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "progress", "attachment"])},
    optional={
        name: JSON | st.sampled_from(["u1", "u2", "compact_boundary", "microcompact_boundary"])
        for name in (
            "uuid", "parentUuid", "sessionId", "message", "subtype", "data", "attachment",
            "agentId", "isSidechain", "isCompactSummary", "compactMetadata", "timestamp",
            "microcompactMetadata", "toolUseResult", "rendered", "requestId",
        )
    }
    | {"message": st.fixed_dictionaries({}, optional={"id": JSON, "content": JSON, "usage": JSON})},
)  # fmt: skip


@given(st.lists(ROWS | JSON, max_size=12))
def test_damage_never_raises_and_every_record_gets_an_answer(rows: list[Any]) -> None:
    for fed in feed(records_from(rows)):
        assert fed.kind != "quarantined" or any(isinstance(d, QuarantineRecord) for d in fed.drafts)


@pytest.mark.parametrize(
    "row",
    [7, None, [], {}, {"type": 7}, user("u1", None, 7), {"type": "assistant", "uuid": "a"},
     {"type": "user", "uuid": "a", "message": "x"}, user("u1", None, ["x"])],
)  # fmt: skip
def test_damaged_values_are_quarantined(row: object) -> None:
    (draft,) = read(row)
    assert isinstance(draft, QuarantineRecord)
    assert draft.session in ("s", "unnamed")
