"""Claude Code transcripts: branches that go on, clears, copies, and messages that come twice."""

from __future__ import annotations

import json

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.drafts import OpenSession, QuarantineRecord, StartCall
from ctxledger.ledger.events import ItemsEvicted
from ctxledger.ledger.importing import open_pipe
from ctxledger.ledger.render.anthropic_rules import check_request

from .test_claude_code_branches import (
    TWO_TURNS,
    Row,
    answer,
    boundary,
    causes,
    read,
    result,
    summary,
    user,
    windows,
)

PAST = ["p1", "m1", "r1", "m2", "p2", "m3"]


def take(ledger: Ledger, *rows: Row) -> int:
    """Take rows in as one source; gives how many were quarantined."""
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    reader = open_pipe(ledger, data, name="t", format_name="claude-code")
    reader.push(data)
    return reader.finish().quarantined


def in_session(name: str, *rows: Row) -> list[Row]:
    return [row | {"sessionId": name} for row in rows]


def test_two_clients_that_write_one_file_in_turns_keep_their_own_windows() -> None:
    turns = (
        user("x1", "a3"), user("y1", "a3"), answer("xa", "x1", "mx1"), answer("ya", "y1", "my1"),
        user("x2", "xa"), user("y2", "ya"), answer("xb", "x2", "mx2", "tx"),
        answer("yb", "y2", "my2"), result("xr", "xb", "tx"),
    )  # fmt: skip
    ends = [windows(read(*TWO_TURNS, *turns[: n + 1]))["s"] for n in range(len(turns))]
    assert ends[2] == [*PAST, "x1", "mx1"]
    assert ends[3] == [*PAST, "y1", "my1"]
    assert ends[6] == [*PAST, "x1", "mx1", "x2", "mx2"]
    assert ends[7] == [*PAST, "y1", "my1", "y2", "my2"]
    assert ends[8] == [*PAST, "x1", "mx1", "x2", "mx2", "xr"]
    assert set(causes(read(*TWO_TURNS, *turns))) == {"rewind", "branch"}


def test_a_result_that_comes_after_its_branch_was_left_is_not_in_the_new_one() -> None:
    drafts = read(
        *TWO_TURNS, user("x1", "a3"), answer("xa", "x1", "mx", "tx"), user("y1", "a3"),
        result("xr", "xa", "tx"), answer("ya", "y1", "my"), user("y2", "ya"),
    )  # fmt: skip
    assert windows(drafts)["s"] == [*PAST, "y1", "my", "y2"]


def test_what_hangs_from_before_the_newest_prompt_is_no_return() -> None:
    queued = (
        user("p1", None), answer("a1", "p1", "m1", "t1"), user("p2", "a1"),
        result("r1", "a1", "t1"), answer("a2", "r1", "m2"),
    )  # fmt: skip
    assert causes(read(*queued)) == []


def test_words_beside_a_result_begin_no_branch() -> None:
    refused = [{"type": "tool_result", "tool_use_id": "t1", "content": "refused"},
               {"type": "text", "text": "use staging"}]  # fmt: skip
    drafts = read(
        user("p1", None), answer("a1", "p1", "m1", "t1"), answer("a2", "a1", "m1", "t2"),
        user("r1", "a1", refused), result("r2", "a2", "t2"), answer("a3", "r2", "m2"),
        user("p2", "a3"),
    )  # fmt: skip
    assert causes(drafts) == []
    assert windows(drafts)["s"] == ["p1", "m1", "r1", "r2", "m2", "p2"]


@pytest.mark.parametrize("command", ["/clear", "clear"])
def test_a_clear_is_not_taken_back_by_a_large_prompt(command: str) -> None:
    drafts = read(
        user("p1", None), answer("a1", "p1", "m1", context=20_000),
        user("c1", None, f"<command-name>{command}</command-name>"),
        user("p2", "c1", "a long paste"), answer("a2", "p2", "m2", context=60_000),
    )  # fmt: skip
    assert causes(drafts) == ["clear"]
    assert windows(drafts)["s"] == ["c1", "p2", "m2"]


def test_back_to_the_first_prompt_is_not_taken_back_by_a_longer_one() -> None:
    start = (user("p1", None), answer("a1", "p1", "m1", context=20_000), user("p2", "a1"),
             answer("a2", "p2", "m2", context=21_000), user("p3", None))  # fmt: skip
    drafts = read(*start, answer("a3", "p3", "m3", context=20_900))
    assert windows(drafts)["s"] == ["p3", "m3"]
    assert windows(read(*start, answer("a3", "p3", "m3", context=21_400)))["s"][0] == "p1"


def test_a_summary_without_a_boundary_stands_where_it_would() -> None:
    later = (
        answer("b1", "s1", "n1", "u1"), answer("b2", "b1", "n1", "u2"), result("c1", "b1", "u1"),
        result("c2", "b2", "u2"), answer("b3", "c2", "n2", context=50), user("p3", "b3"),
        answer("b4", "p3", "n3", context=60),
    )  # fmt: skip
    drafts = read(*TWO_TURNS, summary("s1", "") | {"parentUuid": None}, *later)
    assert causes(drafts) == []
    assert windows(drafts)["s"] == ["s1", "n1", "c1", "c2", "n2", "p3", "n3"]
    assert windows(read(*TWO_TURNS, summary("s1", "a3"), *later, user("p4", "a3")))["s"] == [
        *PAST,
        "p4",
    ]


def test_a_fork_from_before_any_message_is_a_session_of_its_own() -> None:
    hook = {"type": "system", "subtype": "x", "uuid": "z", "parentUuid": None, "sessionId": "s"}
    with Ledger.open() as ledger:
        take(ledger, hook, user("p1", "z"), answer("a1", "p1", "m1"),
             *in_session("t", user("q1", "z")))  # fmt: skip
        assert [entry.message for entry in ledger.find("t").window().entries] == ["q1"]


def test_a_copied_history_in_the_same_file_is_the_past_of_a_fork() -> None:
    more = in_session("other", user("p3", "a3"), answer("a4", "p3", "m4"))
    drafts = read(*TWO_TURNS, *in_session("other", *TWO_TURNS), *more, user("p4", "a3"))
    assert not any(isinstance(draft, QuarantineRecord) for draft in drafts)
    (fork,) = (d for d in drafts if isinstance(d, OpenSession) and d.relation)
    assert (fork.session, fork.relation, fork.parent_message) == ("other", "fork", "m3")
    assert windows(drafts) == {"s": [*PAST, "p4"], "other": [*PAST, "p3", "m4"]}
    changed = read(*TWO_TURNS, *in_session("other", user("p1", None, "forged")))
    assert any(isinstance(draft, QuarantineRecord) for draft in changed)


@pytest.mark.parametrize("is_parent_first", [True, False])
def test_a_subagent_told_by_its_own_file_and_by_its_parent_comes_once(
    is_parent_first: bool,
) -> None:
    task = user("i1", None, "look around")
    shown = [task, answer("i2", "i1", "n1", "t9"), result("i3", "i2", "t9")]
    own = [row | {"agentId": "ab12", "isSidechain": True} for row in shown]
    wrapped = [{"type": "text", "text": "look around"}]
    inner = [user("i1", None, wrapped), answer("i2", "i1", "n1", "t9", context=7), shown[2]]
    told = [
        {"type": "progress", "uuid": f"x{place}", "parentUuid": "a1", "sessionId": "s",
         "data": {"type": "agent_progress", "agentId": "ab12", "prompt": "look around",
                  "message": {key: row[key] for key in ("type", "uuid", "message")}}}
        for place, row in enumerate(inner)
    ]  # fmt: skip
    parent = [*TWO_TURNS[:2], *told, *TWO_TURNS[2:]]
    with Ledger.open() as ledger:
        for rows in (parent, own) if is_parent_first else (own, parent):
            assert take(ledger, *rows) == 0
        agent = [entry.message for entry in ledger.find("agent-ab12").window().entries]
        assert agent == ["i1", "n1", "i3"]
        assert [entry.message for entry in ledger.find("s").window().entries] == PAST
        forged = own[1] | {"message": {**own[1]["message"], "content": "forged"}}
        assert take(ledger, forged) == 1


def test_a_cleared_result_is_still_cleared_when_a_rewind_crosses_a_compaction() -> None:
    meta = {"trigger": "auto", "tokensSaved": 5, "compactedToolIds": ["t1"]}
    micro = {"type": "system", "subtype": "microcompact_boundary", "uuid": "mi",
             "parentUuid": "a3", "sessionId": "s", "microcompactMetadata": meta}  # fmt: skip
    with Ledger.open() as ledger:
        take(ledger, *TWO_TURNS, micro, user("p3", "mi"), boundary("b1", "p3"),
             summary("s1", "b1"), user("p4", "s1"), user("p5", "a3"))  # fmt: skip
        session = ledger.find("s")
        forms = [(entry.message, entry.form) for entry in session.window().entries]
        assert forms[2] == ("r1", "placeholder")
        assert [message for message, _ in forms] == [*PAST, "p5"]
        assert sum(isinstance(e.event, ItemsEvicted) for e in session.events()) == 1


def test_a_compaction_compacts_the_branch_that_it_hangs_from() -> None:
    turns = (
        user("x1", "a3"), answer("xa", "x1", "mx1"), user("y1", "a3"), answer("ya", "y1", "my1"),
        boundary("b1", "xa"), summary("s1", "b1"),
    )  # fmt: skip
    assert windows(read(*TWO_TURNS, *turns[:5]))["s"] == [*PAST, "x1", "mx1"]
    drafts = read(*TWO_TURNS, *turns, user("x2", "s1"), user("y2", "ya"))
    assert causes(drafts) == ["rewind", "branch", "rewind"]
    assert windows(drafts)["s"] == [*PAST, "y1", "my1", "y2"]


@pytest.mark.parametrize("requests", [("", ""), ("q1", "q2")])
def test_a_gateway_that_gives_all_responses_one_id(requests: tuple[str, str]) -> None:
    first, second = requests
    drafts = read(
        user("p1", None), answer("a1", "p1", "M", context=5) | {"requestId": first},
        answer("a2", "a1", "M", "t1", context=5) | {"requestId": first}, result("r1", "a2", "t1"),
        user("p2", "r1"), answer("a3", "p2", "M", context=9) | {"requestId": second},
        answer("a4", "a3", "M", "t2", context=9) | {"requestId": second}, result("r2", "a4", "t2"),
    )  # fmt: skip
    assert sum(isinstance(draft, StartCall) for draft in drafts) == 2
    assert windows(drafts)["s"] == ["p1", "M", "r1", "p2", "M.1", "r2"]


def test_a_window_from_before_the_first_answer_renders_with_its_model() -> None:
    with Ledger.open() as ledger:
        take(ledger, user("p1", None), answer("a1", "p1", "m1"))
        assert check_request(ledger.find("s").render(2).body) == ()
