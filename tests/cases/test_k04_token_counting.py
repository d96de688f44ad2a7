"""Tokens: each call once, the size of a window, both denominators, parts that add up.

Images are in tests/test_tokens.py.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from ctxledger.ledger.cost import fit_of, share_of
from ctxledger.ledger.drafts import Usage
from ctxledger.ledger.finding.spending import ledger_calls, paid_calls, spent
from ctxledger.ledger.finding.statistics import session_numbers
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.session import Session
from ctxledger.ledger.views.context_size import Reported, Weighed, size_of

from .conftest import Told

Case = Callable[[str], dict[str, Any]]
Line = dict[str, Any]


def totals(usage: Usage) -> dict[str, int]:
    """Usage in the names of the cases."""
    return {
        "input_tokens": usage.input_tokens or 0,
        "output_tokens": usage.output_tokens or 0,
        "cache_read_input_tokens": usage.cache_read_tokens or 0,
        "cache_creation_input_tokens": usage.cache_write_tokens or 0,
    }


def spent_by(session: Session) -> tuple[dict[str, int], int]:
    """(totals, calls) of a session."""
    found = spent(paid_calls(session, session.version))
    return totals(found.tokens), found.calls


@pytest.mark.parametrize("case_id", ["k04-01", "k04-02"])
def test_k04_01_02_a_response_in_several_rows_is_one_call(
    told: Told, case: Case, case_id: str
) -> None:
    told_case = case(case_id)
    told.take("s1.jsonl", *told_case["input"]["rows"])
    session, expect = told.ledger.find("s1"), told_case["expect"]
    assert spent_by(session) == (expect["totals"], expect["api_calls"])
    numbers = session_numbers(session, session.version)
    assert totals(numbers.spent.tokens) == expect["totals"]
    if "content_blocks" in expect:
        assert [e.type for e in session.window().entries][1:] == expect["content_blocks"]
        (paid,) = paid_calls(session, session.version)
        assert paid.at_ms == 1_893_456_000_000  # the first row's day, 2030-01-01


def test_k04_04_a_sidechain_is_no_part_of_the_main_context(told: Told, case: Case) -> None:
    told_case = case("k04-04")
    told.take("s1.jsonl", *told_case["input"]["rows"])
    expect = told_case["expect"]
    session = told.ledger.find("s1")
    context = session.window().context
    assert context is not None
    assert context.tokens == expect["main_context_tokens_before_boundary"]
    side = [name for _, name in told.ledger.store.session_names() if name != "s1"]
    assert [spent_by(told.ledger.find(name))[0] for name in side] == [expect["sidechain_tokens"]]


def test_k04_05_copied_history_is_counted_once(told: Told, case: Case) -> None:
    told_case = case("k04-05")
    for file in told_case["input"]["files"]:
        path = told.folder / file["path"]
        path.write_bytes(base64.b64decode(file["data"]))
        import_file(told.ledger, path)
    expect = told_case["expect"]
    found = spent(ledger_calls(told.ledger.store))
    assert (totals(found.tokens), found.calls) == (expect["totals"], expect["api_calls"])
    fork = told.ledger.find("s2")
    assert (fork.opened.relation, fork.opened.parent) == ("fork", told.ledger.find("s1").id)
    assert spent_by(fork)[1] == 1
    assert session_numbers(fork, fork.version).calls_inherited == 1


def test_k04_05_a_copy_under_another_session_is_counted_once(told: Told, case: Case) -> None:
    """A resumed session in which every row has the new id: other ids of rows, the same calls."""
    rows = case("k04-01")["input"]["rows"]
    told.take("s1.jsonl", *rows)
    copies = [
        {**row, "sessionId": "s9", "uuid": f"x{row['uuid']}",
         "parentUuid": row["parentUuid"] and f"x{row['parentUuid']}"}
        for row in rows
    ]  # fmt: skip
    told.take("s9.jsonl", *copies)
    assert len(told.ledger.store.session_names()) == 2
    assert spent(ledger_calls(told.ledger.store)).calls == 1


def calls_of(usages: list[Line]) -> list[Line]:
    """A call, its answer and its usage for each entry."""
    lines: list[Line] = [{"id": "u", "role": "user", "content": "hi"}]
    for number, usage in enumerate(usages):
        lines += [
            {"type": "call", "call": f"k{number}", "model": "claude-sonnet-4-5"},
            {"role": "assistant", "content": "x"},
            {"type": "result", "call": f"k{number}", "usage": usage, "stop_reason": "end_turn"},
        ]
    return lines


def test_k04_07_the_context_is_that_of_the_last_call(told: Told, case: Case) -> None:
    told_case = case("k04-07")
    session = told.tell(*calls_of(told_case["input"]["usages"]))
    context = session.window().context
    assert context is not None
    assert context.tokens == told_case["expect"]["context_after_last"]
    assert context.method == "provider"
    assert spent_by(session)[0] == told_case["expect"]["billed"]


def test_k04_10_right_after_a_compaction_an_estimate_is_shown(told: Told, case: Case) -> None:
    first, second = case("k04-10")["input"]["events"]
    session = told.tell(
        {"id": "u", "role": "user", "content": "alpha " * 96_000},
        {"type": "call", "call": "k", "model": "claude-sonnet-4-5"},
        {"id": "a", "role": "assistant", "content": "x"},
        {"type": "result", "call": "k", "usage": first["usage"], "stop_reason": "end_turn"},
        {"type": "compact", "brief": "beta " * 40},
    )
    context = session.window().context
    assert context is not None
    assert context.tokens == pytest.approx(second["projected_estimate"], rel=0.05)
    assert "estimate/calibrated" in context.method
    before = session.window("c1^").context
    assert before is not None
    assert before.tokens == 144_000


def test_k04_11_both_denominators(case: Case) -> None:
    told_case = case("k04-11")
    sizes, expect = told_case["input"], told_case["expect"]
    share = share_of(sizes["window"], sizes["reserve"], sizes["used"])
    assert share.full_percent == expect["full_percent"]
    assert share.usable_percent == expect["usable_percent"]
    assert share.tokens_left == expect["tokens_until_trigger"]


def test_k04_13_parts_and_the_unattributed_add_up(case: Case) -> None:
    told_case = case("k04-13")
    sizes = told_case["input"]
    parts = sizes["parts"]
    entries = (
        Weighed("1.0", "system", "text", "system", parts["system"]),
        Weighed("2.0", "tools", "tool", "system", parts["tool_schemas"]),
    )
    context = size_of(
        entries,
        Reported(sizes["provider_reported_context"], entries),
        model="claude-sonnet-4-5",
        counter="tokenizer/o200k_base",
        is_exact=True,
    )
    assert context is not None
    assert (context.tokens, context.method) == (sizes["provider_reported_context"], "provider")
    assert context.unattributed == told_case["expect"]["unattributed"]
    assert sum(parts.values()) + context.unattributed == context.tokens


def test_k04_14_the_answer_must_fit_too(case: Case) -> None:
    told_case = case("k04-14")
    sizes, expect = told_case["input"], told_case["expect"]
    fit = fit_of(sizes["window"], sizes["input"], sizes["max_tokens"])
    assert (fit.fits, fit.over_by) == (expect["fits"], expect["over_by"])
    assert fit_of(sizes["window"], sizes["input"], 3_242).fits
