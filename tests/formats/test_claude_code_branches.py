"""Claude Code transcripts: rewinds, gaps, compactions, forks and subagents, by their windows."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    ImportCompaction,
    Keep,
    OpenSession,
    RewriteWindow,
    StartCall,
)  # fmt: skip
from ctxledger.ledger.formats.base import Record
from ctxledger.ledger.formats.claude_code import ClaudeCodeFold

Row = dict[str, Any]


def read(*rows: Row, faults: tuple[int, ...] = ()) -> list[AnyDraft]:
    """Feed rows; those at the places `faults` come as unreadable."""
    fold = ClaudeCodeFold("unnamed")
    drafts: list[AnyDraft] = []
    for place, row in enumerate(rows):
        fault = "not_json" if place in faults else ""
        value = None if fault else row
        record = Record(offset=place, data=json.dumps(row).encode(), value=value, fault=fault)
        drafts.extend(fold.feed(record).drafts)
    return drafts


def windows(drafts: list[AnyDraft]) -> dict[str, list[str]]:
    """Replay drafts: session -> message ids in window order."""
    found: dict[str, list[str]] = {}
    for draft in drafts:
        window = found.setdefault(draft.session, [])
        if isinstance(draft, OpenSession) and draft.relation == "fork":
            past = found[draft.parent]
            window[:] = past[: past.index(draft.parent_message) + 1]
        elif isinstance(draft, AppendMessage):
            window.append(draft.message)
        elif isinstance(draft, ImportCompaction):
            kept = [message for message in window if message in draft.keep]
            window[:] = [*kept, draft.message] if draft.keep_first else [draft.message, *kept]
        elif isinstance(draft, RewriteWindow):
            window[:] = [part.message for part in draft.parts if isinstance(part, Keep)]
    return found


def causes(drafts: list[AnyDraft]) -> list[str]:
    return [draft.cause for draft in drafts if isinstance(draft, RewriteWindow)]


def user(uuid: str, parent: str | None, content: object = "go", **fields: object) -> Row:
    return {
        "type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s",
        "message": {"role": "user", "content": content}, **fields,
    }  # fmt: skip


def result(uuid: str, parent: str, tool_id: str) -> Row:
    return user(uuid, parent, [{"type": "tool_result", "tool_use_id": tool_id, "content": "ok"}])


def answer(uuid: str, parent: str, message: str, tool_id: str = "", context: int = 0) -> Row:
    block = {"type": "tool_use", "id": tool_id, "name": "Bash", "input": {}}
    text = {"type": "text", "text": message}
    body = {"id": message, "model": "m", "content": [block if tool_id else text],
            "usage": {"input_tokens": context}}  # fmt: skip
    ids = {"uuid": uuid, "parentUuid": parent, "sessionId": "s"}
    return {"type": "assistant", **ids, "message": body}


def boundary(uuid: str, logical: str, **meta: object) -> Row:
    return {
        "type": "system", "subtype": "compact_boundary", "uuid": uuid, "parentUuid": None,
        "logicalParentUuid": logical, "sessionId": "s",
        "compactMetadata": {"trigger": "auto", "preTokens": 170000, **meta},
    }  # fmt: skip


def summary(uuid: str, parent: str) -> Row:
    return user(uuid, parent, "This session is being continued", isCompactSummary=True,
                isVisibleInTranscriptOnly=True)  # fmt: skip


TWO_TURNS = (
    user("p1", None), answer("a1", "p1", "m1", "t1"), result("r1", "a1", "t1"),
    answer("a2", "r1", "m2"), user("p2", "a2"), answer("a3", "p2", "m3"),
)  # fmt: skip


def test_a_prompt_from_an_earlier_place_is_a_rewind() -> None:
    drafts = read(*TWO_TURNS, user("p3", "a2"))
    (rewrite,) = (draft for draft in drafts if isinstance(draft, RewriteWindow))
    assert (rewrite.cause, rewrite.evidence, rewrite.is_inferred) == ("rewind", "a2", True)
    assert windows(drafts)["s"] == ["p1", "m1", "r1", "m2", "p3"]


def test_two_rewinds_and_back_to_the_first_branch() -> None:
    drafts = read(
        *TWO_TURNS, user("p3", "a2"), answer("a4", "p3", "m4"),
        user("p4", "a2"), answer("a5", "p4", "m5"),
        user("p5", "a3"),
    )  # fmt: skip
    assert causes(drafts) == ["rewind"] * 3
    assert windows(drafts)["s"] == ["p1", "m1", "r1", "m2", "p2", "m3", "p5"]


def test_records_of_the_new_branch_before_its_prompt_stay() -> None:
    made = answer("a9", "a2", "m9")
    made["message"]["model"] = "<synthetic>"
    drafts = read(*TWO_TURNS, made, user("p3", "a9"))
    assert windows(drafts)["s"] == ["p1", "m1", "r1", "m2", "m9", "p3"]


def test_parallel_calls_are_no_rewind_and_keep_all_their_results() -> None:
    parallel = (
        user("p1", None), answer("a1", "p1", "m1", "t1"), answer("a2", "a1", "m1", "t2"),
        {"type": "progress", "uuid": "x1", "parentUuid": "a2", "sessionId": "s",
         "data": {"type": "hook_progress"}},
        result("r1", "a1", "t1"), result("r2", "a2", "t2"), answer("a3", "r2", "m2"),
        user("p2", "a3"),
    )  # fmt: skip
    assert causes(read(*parallel)) == []
    drafts = read(*parallel, user("p3", "a3"))
    assert causes(drafts) == ["rewind"]
    assert windows(drafts)["s"] == ["p1", "m1", "r1", "r2", "m2", "p3"]


def test_a_rewind_into_a_call_keeps_results_that_came_later() -> None:
    drafts = read(*TWO_TURNS, user("p3", "a1"))
    assert windows(drafts)["s"] == ["p1", "m1", "r1", "p3"]


def test_parallel_calls_of_the_case(case: Callable[[str], Row]) -> None:
    drafts = read(*case("k06-08")["input"]["rows"])
    assert causes(drafts) == []
    assert windows(drafts)["s1"] == ["u1", "msg_1", "r1", "r2", "msg_2"]
    assert sum(isinstance(draft, StartCall) for draft in drafts) == 2


def test_a_missing_parent_is_a_marked_gap(case: Callable[[str], Row]) -> None:
    told = case("k06-07")
    drafts = read(*told["input"]["rows"])
    (gap,) = (draft for draft in drafts if isinstance(draft, RewriteWindow))
    assert (gap.cause, gap.evidence, gap.parts) == ("unexplained", "missing:MISSING", ())
    assert windows(drafts)["s1"] == told["expect"]["active_chain"]


def test_a_gap_closes_when_the_next_call_still_had_the_old_context() -> None:
    start = (user("p1", None), answer("a1", "p1", "m1", context=20_000), user("p2", "a1"),
             answer("a2", "p2", "m2", context=60_000), user("p3", "GONE"))  # fmt: skip
    kept = read(*start, answer("a3", "p3", "m3", context=61_000))
    assert causes(kept) == ["unexplained", "restore"]
    assert windows(kept)["s"] == ["p1", "m1", "p2", "m2", "p3", "m3"]
    twice = read(*start, user("p4", "GONE2"), answer("a3", "p4", "m3", context=61_000))
    assert windows(twice)["s"] == ["p1", "m1", "p2", "m2", "p3", "p4", "m3"]
    lost = read(*start, answer("a3", "p3", "m3", context=21_000))
    assert causes(lost) == ["unexplained"]
    assert windows(lost)["s"] == ["p3", "m3"]


def test_an_unreadable_record_explains_a_missing_parent() -> None:
    drafts = read(*TWO_TURNS, answer("a4", "a3", "m4"), user("p3", "a4"), faults=(6,))
    assert causes(drafts) == []
    assert windows(drafts)["s"][-2:] == ["m3", "p3"]


def test_an_answer_without_its_parent_continues_the_window() -> None:
    drafts = read(*TWO_TURNS, answer("a4", "GONE", "m4"), user("p3", "a4"))
    assert causes(drafts) == []
    assert windows(drafts)["s"][-3:] == ["m3", "m4", "p3"]


def test_a_file_that_begins_in_the_middle_has_no_gap() -> None:
    drafts = read(answer("a1", "GONE", "m1"), user("p1", "a1"))
    assert causes(drafts) == []
    assert windows(drafts)["s"] == ["m1", "p1"]


def test_a_new_root_in_the_middle_is_a_clear() -> None:
    caveat = user("c1", None, "Caveat: The messages below", isMeta=True)
    drafts = read(*TWO_TURNS, caveat, user("p3", "c1", "<command-name>/clear</command-name>"))
    assert causes(drafts) == ["clear"]
    assert windows(drafts)["s"] == ["c1", "p3"]
    assert causes(read(caveat, user("p1", None))) == []


def test_compaction_waits_for_its_summary_and_what_comes_between_follows_it() -> None:
    between = {"type": "attachment", "uuid": "x1", "parentUuid": "b1", "sessionId": "s",
               "attachment": {"type": "edited_text_file", "snippet": "1 x"}}  # fmt: skip
    drafts = read(*TWO_TURNS, boundary("b1", "a3"), between, summary("s1", "x1"), user("p3", "s1"))
    (compaction,) = (draft for draft in drafts if isinstance(draft, ImportCompaction))
    assert (compaction.trigger, compaction.tokens_before) == ("auto", 170000)
    assert [block.origin for block in compaction.blocks] == ["summary"]
    assert causes(drafts) == []
    assert windows(drafts)["s"] == ["s1", "x1", "p3"]


def test_a_compaction_whose_summary_never_comes_is_not_lost() -> None:
    drafts = read(*TWO_TURNS, boundary("b1", "a3"), user("p3", "b1"), summary("s1", "p3"))
    (compaction,) = (draft for draft in drafts if isinstance(draft, ImportCompaction))
    assert (compaction.message, compaction.blocks) == ("b1", ())
    assert windows(drafts)["s"] == ["b1", "p3", "s1"]
    assert not any(isinstance(d, ImportCompaction) for d in read(*TWO_TURNS, boundary("b1", "a3")))


def test_a_rewind_across_a_compaction_brings_the_raw_messages_back() -> None:
    drafts = read(
        *TWO_TURNS, boundary("b1", "a3"), summary("s1", "b1"), user("p3", "s1"),
        answer("a4", "p3", "m4"), user("p4", "a2"),
    )  # fmt: skip
    assert causes(drafts) == ["rewind"]
    assert windows(drafts)["s"] == ["p1", "m1", "r1", "m2", "p4"]


def test_a_rewind_behind_a_compaction_keeps_its_summary() -> None:
    drafts = read(
        *TWO_TURNS, boundary("b1", "a3"), summary("s1", "b1"), user("p3", "s1"),
        answer("a4", "p3", "m4"), user("p4", "s1"),
    )  # fmt: skip
    assert windows(drafts)["s"] == ["s1", "p4"]


def test_preserved_messages_stay_behind_the_summary() -> None:
    listed = {"anchorUuid": "s1", "uuids": ["p2", "a3"]}
    segment = {"anchor_uuid": "s1", "head_uuid": "p2", "tail_uuid": "a3"}
    for meta in ({"preservedMessages": listed}, {"preserved_segment": segment}):
        compacted = (*TWO_TURNS, boundary("b1", "a3", **meta), summary("s1", "b1"))
        drafts = read(*compacted, user("p3", "a3"), answer("a4", "p3", "m4"))
        assert windows(drafts)["s"] == ["s1", "p2", "m3", "p3", "m4"]
        again = read(*compacted, user("p3", "a3"), answer("a4", "p3", "m4"), user("p4", "a3"))
        assert causes(again) == ["rewind"]
        assert windows(again)["s"] == ["s1", "p2", "m3", "p4"]
    first = {"anchorUuid": "b1", "headUuid": "p1", "tailUuid": "a2"}
    drafts = read(*TWO_TURNS, boundary("b1", "a3", preservedSegment=first), summary("s1", "b1"))
    assert windows(drafts)["s"] == ["p1", "m1", "r1", "m2", "s1"]


def test_a_second_session_hanging_from_the_first_is_a_fork(case: Callable[[str], Row]) -> None:
    (copy,) = (file for file in case("k04-05")["input"]["files"] if file["path"] == "s2.jsonl")
    lines = base64.b64decode(copy["data"]).splitlines()
    drafts = read(*map(json.loads, lines))
    opened = [(d.session, d.relation, d.parent) for d in drafts if isinstance(d, OpenSession)]
    assert opened == [("s1", "", ""), ("s2", "fork", "s1")]
    assert len([draft for draft in drafts if isinstance(draft, StartCall)]) == 2


def test_a_fork_shares_its_past_and_rewinds_into_it() -> None:
    fork = user("f1", "a2") | {"sessionId": "f"}
    drafts = read(*TWO_TURNS, fork, user("f2", "r1") | {"sessionId": "f"}, user("p3", "a3"))
    (opened,) = (d for d in drafts if isinstance(d, OpenSession) and d.relation)
    assert (opened.relation, opened.parent, opened.parent_message) == ("fork", "s", "m2")
    assert windows(drafts) == {
        "s": ["p1", "m1", "r1", "m2", "p2", "m3", "p3"],
        "f": ["p1", "m1", "r1", "f2"],
    }
    fresh = read(*TWO_TURNS, user("g1", None) | {"sessionId": "g"})
    assert windows(fresh)["g"] == ["g1"]


def test_inline_sidechains_are_sessions_of_their_own(case: Callable[[str], Row]) -> None:
    drafts = read(*case("k04-04")["input"]["rows"])
    assert windows(drafts) == {"s1": ["u1", "msg_1"], "s1.side-s1": ["s1", "msg_2"]}
    (side,) = (d for d in drafts if isinstance(d, OpenSession) and d.relation)
    assert (side.relation, side.parent) == ("subagent", "s1")


def test_subagent_records_go_to_the_agents_session_and_their_prompt_is_the_models() -> None:
    rows = [row | {"isSidechain": True, "agentId": "ab12"} for row in TWO_TURNS]
    drafts = read(*rows)
    assert windows(drafts) == {"agent-ab12": ["p1", "m1", "r1", "m2", "p2", "m3"]}
    task = next(draft for draft in drafts if isinstance(draft, AppendMessage))
    assert task.blocks[0].origin == "assistant"


def test_embedded_subagent_messages_come_once() -> None:
    def progress(uuid: str, inner: Row, prompt: str = "") -> Row:
        message = {key: inner[key] for key in ("type", "uuid", "message")}
        data = {"type": "agent_progress", "agentId": "ab12", "prompt": prompt, "message": message}
        ids = {"uuid": uuid, "parentUuid": "a1", "sessionId": "s"}
        return {"type": "progress", **ids, "data": data}

    drafts = read(
        *TWO_TURNS[:2],
        progress("x1", answer("b1", "", "n1", "t9"), prompt="look around"),
        progress("x2", result("b2", "", "t9")),
        progress("x3", result("b2", "", "t9")),
        *TWO_TURNS[2:],
    )
    assert windows(drafts) == {
        "s": ["p1", "m1", "r1", "m2", "p2", "m3"],
        "agent-ab12": ["agent-ab12.task", "n1", "b2"],
    }
