"""Undo, branches and history across compactions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger import BadInput, UnknownReference
from ctxledger.ledger.events import ItemPinned, ItemUnpinned, StateNoted, WindowCompacted
from ctxledger.ledger.exporting.native import native_lines
from ctxledger.ledger.finding.searching import search
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.rolling_back import compactions
from ctxledger.ledger.session import Session

from .conftest import Told, lines_of, texts

Case = Callable[[str], dict[str, Any]]


def tell_case(told: Told, found: dict[str, Any]) -> Session:
    return told.tell(*lines_of(found["input"]["events"]))


def version_of(session: Session, text: str) -> int:
    """The version that brought a message with exactly this text."""
    for stored in session.events(types=("message_appended",)):
        if session.item_block(f"{stored.version}.0").text == text:
            return stored.version
    raise AssertionError(text)


def humans(session: Session) -> list[str]:
    """Everything a person could go back to: all human messages ever, oldest first."""
    items = [f"{s.version}.0" for s in session.events(types=("message_appended",))]
    blocks = [session.item_block(item) for item in items]
    return [block.text for block in blocks if block.origin == "human"]


def test_k07_01_undo_across_a_compaction(case: Case, told: Told) -> None:
    found = case("k07-01")
    session = tell_case(told, found)
    targets = humans(session)
    assert targets == ["m1", "m3", "m5", "m7", "m9", "m12"], "also those before the compaction"
    target = targets[-found["input"]["steps"][0]["user_turns"]]
    before = session.version
    session.rollback(to=f"{version_of(session, target)}^")
    assert texts(session) == found["expect"]["window_texts"]
    assert texts(session, before) == ["S", "m9", "m10", "m12", "m13"], "nothing was deleted"
    assert session.version == before + 1
    assert verify(told.ledger.store).ok


def test_k07_02_undo_only_the_compaction(case: Case, told: Told) -> None:
    found = case("k07-02")
    session = tell_case(told, found)
    before = session.version
    plan = session.rollback("c1")
    assert texts(session) == found["expect"]["window_texts"]
    assert texts(session, before) == ["S", "m9", "m10", "m12"]
    assert plan.tokens_after > plan.tokens_before > 0
    assert session.window().tokens == plan.tokens_after


def test_k07_02_sizes_and_limit_are_known_before_anything_is_written(told: Told) -> None:
    """Whether to ask is the command's matter; the plan has the numbers."""
    from ctxledger.ledger.rolling_back import plan_rollback

    session = told.ledger.session("S", limit_tokens=3)
    session.append({"role": "user", "content": "many words that come back " * 9})
    told.tell({"type": "compact", "brief": "S"})
    session = told.ledger.find("S")
    plan = plan_rollback(session, ("c1",))
    assert plan.limit == 3
    assert plan.tokens_after > plan.limit >= plan.tokens_before
    assert told.ledger.find("S").version == session.version


def test_k07_04_marks_survive_a_compaction(case: Case, told: Told) -> None:
    mark, compact = case("k07-04")["input"]["steps"][:2]
    lines = [{"id": f"s{n}", "role": "user", "content": f"m{n}"} for n in range(mark["index"] + 1)]
    session = told.tell(*lines)
    marked = session.version
    gone = [f"s{n}/0" for n in range(mark["index"] + 2 - compact["window_len_after"])]
    session = told.tell({"type": "compact", "sources": gone, "brief": "S"})
    assert len(session.structure().entries) == compact["window_len_after"]
    session.rollback(to=str(marked))
    assert texts(session) == [f"m{n}" for n in range(mark["index"] + 1)]


@pytest.mark.parametrize("reference", ["999", "c9", "r1", "call3", "x1", "5.0", ""])
def test_k07_04_a_mark_that_does_not_exist_has_no_effect(told: Told, reference: str) -> None:
    session = told.tell({"role": "user", "content": "a"}, {"role": "user", "content": "b"})
    before = session.version
    with pytest.raises(UnknownReference):
        session.rollback(reference)
    if reference:
        with pytest.raises(UnknownReference):
            session.rollback(to=reference)
    assert told.ledger.find("S").version == before


def test_k07_04_an_undo_without_effect_is_no_success(told: Told) -> None:
    session = told.tell({"role": "user", "content": "a"}, {"role": "user", "content": "b"})
    before = session.version
    with pytest.raises(BadInput, match="change nothing"):
        session.rollback(to="head")
    with pytest.raises(BadInput, match="did not change the window"):
        session.rollback("1")
    assert told.ledger.find("S").version == before


def test_k07_05_branches_do_not_leak(case: Case, told: Told) -> None:
    found = case("k07-05")
    rewind, to_b, to_main = found["input"]["steps"]
    told.tell(*lines_of(found["input"]["events"]), name="main")
    parent = {"parent": "main", "parent_message": f"s{rewind['to_seq']}"}
    told.tell({"type": "session", "name": "B", **parent}, name="main")
    told.tell({"role": "user", "content": to_b["text"]}, name="B")
    told.tell({"role": "user", "content": to_main["text"]}, name="main")
    for name, expected in found["expect"]["windows"].items():
        assert texts(told.reopen().find(name)) == expected
    assert told.ledger.find("B").opened.relation == "fork"
    assert verify(told.ledger.store).ok


def test_k07_05_a_roll_back_in_a_branch_stays_there(case: Case, told: Told) -> None:
    told.tell(*lines_of(case("k07-08")["input"]["events"]), name="main")
    told.tell({"type": "session", "name": "B", "parent": "main"}, name="main")
    branch, main = told.ledger.find("B"), told.ledger.find("main")
    branch.rollback("c1")
    assert texts(branch) == [f"m{n}" for n in range(1, 11)]
    assert texts(main) == ["S", "m9", "m10"]
    assert [is_in_force for _, is_in_force in compactions(main)] == [True]
    assert [is_in_force for _, is_in_force in compactions(branch)] == [False]
    main.append({"role": "user", "content": "on"})
    assert texts(told.reopen().find("B")) == [f"m{n}" for n in range(1, 11)]


def test_k07_07_the_whole_history_can_be_read(case: Case, told: Told) -> None:
    found = case("k07-07")
    session = tell_case(told, found)
    present = {entry.item for entry in session.window().entries}
    full: list[tuple[str, bool]] = []
    boundary: list[int] = []
    for stored in session.events(types=("message_appended", "window_compacted")):
        if isinstance(stored.event, WindowCompacted):
            boundary.append(len(full))
            assert [session.item_block(item).text for item in stored.event.brief] == ["S"]
            continue
        item = f"{stored.version}.0"
        full.append((session.item_block(item).text, item in present))
    assert [text for text, _ in full] == found["expect"]["full_view"]
    assert [text for text, is_there in full if is_there] == ["m9", "m10"]
    assert boundary == [found["expect"]["boundary_after_seq"]]
    (hit,) = search(told.ledger, "m3")
    assert not hit.in_window
    exported = json.dumps([lines for _, lines in native_lines(session)])
    assert all(f'"m{n}"' in exported for n in range(1, 11))


def test_k07_08_what_a_compaction_kept_and_dropped(case: Case, told: Told) -> None:
    """Both numbers come from our counter; what the agent reported is kept beside them."""
    found = case("k07-08")
    lines = lines_of(found["input"]["events"])
    event = found["input"]["events"][-1]
    lines[-1] |= {name: event[name] for name in ("tokens_before", "tokens_after")}
    session = told.tell(*lines)
    changes = session.diff("c1^", "c1")
    words = {e.key: e.text for at in ("c1^", "c1") for e in session.window(at).entries}
    expected = found["expect"]["diff"]
    assert [words[e.key] for e in changes.dropped] == [f"m{n}" for n in expected["removed"]]
    assert [words[e.key] for e in changes.kept] == [f"m{n}" for n in expected["kept"]]
    assert [words[e.key] for e in changes.added] == [event["summary"]]
    assert (changes.changed, changes.moved) == ((), ())
    before, after = session.window("c1^"), session.window("c1")
    assert before.tokens_method == after.tokens_method
    stored = session.store.marks(session.id, "window_compacted")[0].event
    assert isinstance(stored, WindowCompacted)
    assert (stored.tokens_before, stored.tokens_after) == tuple(
        type(stored.tokens_before)(event[name], "provider")  # type: ignore[misc]
        for name in ("tokens_before", "tokens_after")
    )


def test_k07_10_pins_are_events(case: Case, told: Told) -> None:
    """That a compaction of ours keeps what is pinned comes with compactions of ours."""
    found = case("k07-10")
    note = {"type": "note", "kind": "constraint", "text": "keep", "pin": True}
    pins = [{**note, "source": f"s{n}/0"} for n in found["input"]["pins"]]
    session = told.tell(*lines_of(found["input"]["events"]), *pins)
    before = session.structure().entries
    item = f"{version_of(session, 'm2')}.0"
    kinds = ("state_noted", "item_pinned", "item_unpinned")
    noted, pinned = (stored.event for stored in session.events(types=kinds))
    assert isinstance(noted, StateNoted)
    assert (noted.source, noted.source_text, noted.is_pinned) == ((item,), None, True)
    assert pinned == ItemPinned(items=(item,))
    with session.writing():
        session.ledger.writer.append(session.id, [ItemUnpinned(items=(item,))], "operator")
    assert [s.event for s in session.events(types=kinds)][-1] == ItemUnpinned(items=(item,))
    assert session.structure().entries == before


def test_k07_11_undo_after_a_restart(told: Told, tmp_path: Path) -> None:
    told.tell(*({"id": f"s{n}", "role": "user", "content": f"m{n}"} for n in range(1, 11)))
    targets = humans(told.ledger.find("S"))
    session = told.reopen().find("S")
    assert humans(session) == targets
    session.rollback(to=str(version_of(session, "m5")))
    session.append({"role": "user", "content": "after"})
    session = told.reopen().find("S")
    assert texts(session) == ["m1", "m2", "m3", "m4", "m5", "after"]
    newest = next(session.events(types=("message_appended",), is_reverse=True))
    assert newest.version == session.version
    assert {path.name for path in tmp_path.iterdir()} <= {
        f"ledger.db{suffix}" for suffix in ("", "-wal", "-shm")
    }
