"""An observed agent goes on after somebody changed its window here."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxledger.ledger import BadInput
from ctxledger.ledger.events import WindowRewritten
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.render.anthropic_rules import check_request
from ctxledger.ledger.rolling_back import compactions, undone_versions
from ctxledger.ledger.session import Session

from .conftest import Line, Told, texts

START: list[Line] = [
    {"id": "a", "role": "user", "content": "a"},
    {"id": "b", "role": "user", "content": "b"},
    {"id": "c", "type": "compact", "sources": ["a/0"], "brief": "S"},
]
MORE: list[Line] = [{"id": "d", "role": "user", "content": "d"}]


def restored(session: Session) -> list[tuple[int, str]]:
    """(version, actor) of each time the agent's own window came back."""
    rewrites = session.store.marks(session.id, "window_rewritten")
    return [
        (stored.version, stored.actor)
        for stored in rewrites
        if isinstance(stored.event, WindowRewritten) and stored.event.cause == "restore"
    ]


def in_force(session: Session) -> list[bool]:
    return [is_in_force for _, is_in_force in compactions(session)]


def test_what_the_agent_saw_stays_true(told: Told) -> None:
    told.take("S.jsonl", *START)
    session = told.ledger.find("S")
    session.rollback()
    repaired = session.version
    assert (texts(session), in_force(session)) == (["a", "b"], [False])
    told.take("S.jsonl", *START, *MORE)
    session = told.reopen().find("S")
    assert texts(session) == ["S", "b", "d"]
    assert texts(session, repaired) == ["a", "b"], "the repaired window stays at its version"
    assert restored(session) == [(repaired + 1, "agent")]
    assert in_force(session) == [True]
    assert verify(told.ledger.store).ok


def test_the_roll_back_can_be_repeated_and_undone(told: Told) -> None:
    told.take("S.jsonl", *START)
    told.ledger.find("S").rollback()
    told.take("S.jsonl", *START, *MORE)
    session = told.ledger.find("S")
    with pytest.raises(BadInput, match="undone already"):
        session.rollback("r1")
    session.rollback()
    assert texts(session) == ["a", "b", "d"]
    session.rollback("r2")
    assert texts(session) == ["S", "b", "d"]
    session.rollback(str(restored(session)[0][0]))
    assert (texts(session), in_force(session)) == (["a", "b", "d"], [False])


def test_an_undone_roll_back_leaves_nothing_to_restore(told: Told) -> None:
    told.take("S.jsonl", *START)
    session = told.ledger.find("S")
    session.rollback("c1")
    session.rollback("r1")
    told.take("S.jsonl", *START, *MORE)
    session = told.ledger.find("S")
    assert (texts(session), restored(session)) == (["S", "b", "d"], [])
    assert undone_versions(session) == {session.store.marks(session.id, "rolled_back")[0].version}


def test_what_is_appended_here_goes_on_from_our_window(told: Told) -> None:
    told.take("S.jsonl", *START)
    session = told.ledger.find("S")
    session.rollback()
    session.append({"role": "user", "content": "mine"})
    assert texts(session) == ["a", "b", "mine"]
    told.take("S.jsonl", *START, *MORE)
    session = told.reopen().find("S")
    assert texts(session) == ["S", "b", "d"], "the agent never saw it"
    session.rollback(str(restored(session)[0][0]))
    assert texts(session) == ["a", "b", "mine", "d"]


def test_a_managed_session_has_no_other_window(told: Told) -> None:
    session = told.ledger.session("S")
    for text in ("a", "b"):
        session.append({"role": "user", "content": text})
    session.rollback(to="2")
    session.append({"role": "user", "content": "c"})
    told.tell({"role": "user", "content": "d"})
    assert texts(told.ledger.find("S")) == ["a", "c", "d"]
    assert restored(told.ledger.find("S")) == []


def test_a_recorded_fork_of_a_managed_session_is_observed(told: Told) -> None:
    session = told.ledger.session("S")
    session.append({"role": "user", "content": "a"})
    fork: Line = {"type": "session", "name": "F", "parent": "S"}
    told.take("F.jsonl", fork, *START)
    told.ledger.find("F").rollback()
    told.take("F.jsonl", fork, *START, *MORE)
    assert texts(told.ledger.find("F")) == ["a", "S", "b", "d"]


@pytest.mark.parametrize("name", ["auto-compaction", "rewind"])
def test_a_growing_recording_rolled_back_in_between(
    name: str, recordings: Path, told: Told
) -> None:
    whole = (recordings / "claude-code" / f"{name}.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    path = told.folder / "growing.jsonl"
    path.write_bytes(whole)
    import_file(told.ledger, path)
    expected = texts(told.ledger.find("@"))
    told.ledger.close()
    told.db.unlink()
    told.reopen()
    for share in (0.5, 0.85, 0.95, 1.0):
        path.write_bytes(b"".join(lines[: int(len(lines) * share)]))
        import_file(told.ledger, path)
        session = told.ledger.find("@")
        assert check_request(session.render().body) == ()
        if share < 1.0:
            session.rollback(to="head~3")
    session = told.ledger.find("@")
    assert len(restored(session)) == 3
    assert texts(session) == expected
    assert verify(told.ledger.store).ok


@pytest.mark.parametrize("shared", ["", "b"])
def test_a_fork_by_the_agent_goes_on_from_what_the_agent_saw(told: Told, shared: str) -> None:
    told.take("S.jsonl", *START)
    told.ledger.find("S").rollback()
    fork: Line = {"type": "session", "name": "F", "parent": "S", "relation": "fork"}
    if shared:
        fork["parent_message"] = shared
    told.take("S.jsonl", *START, fork, {"session": "F", "id": "d", "role": "user", "content": "d"})
    assert texts(told.ledger.find("F")) == (["a", "b", "d"] if shared else ["S", "b", "d"])
    assert texts(told.ledger.find("S")) == ["a", "b"], "the repaired parent stays"
    assert verify(told.ledger.store).ok


def test_an_agent_that_went_on_is_not_sent_back_again_by_a_new_process(told: Told) -> None:
    told.take("S.jsonl", *START)
    told.ledger.find("S").rollback()
    told.take("S.jsonl", *START, *MORE)
    last: Line = {"id": "e", "role": "user", "content": "e"}
    session = told.reopen().find("S")
    before = restored(session)
    told.take("S.jsonl", *START, *MORE, last)
    session = told.ledger.find("S")
    assert texts(session) == ["S", "b", "d", "e"]
    assert restored(session) == before
    assert len(before) == 1
