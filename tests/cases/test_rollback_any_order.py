"""Evictions, compactions, rewrites and roll-backs in any order: what must hold after each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ctxledger.ledger import BadInput, Ledger, LedgerError
from ctxledger.ledger.events import WINDOW_TYPES, Delta
from ctxledger.ledger.importing import import_file, open_pipe
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.references import find_change
from ctxledger.ledger.render.anthropic_rules import check_request
from ctxledger.ledger.rolling_back import compactions, undone_versions
from ctxledger.ledger.session import Session
from ctxledger.ledger.window import WindowBuilder

HANDLE_OF = {"window_compacted": "c", "items_evicted": "e", "rolled_back": "r"}
NAMES = ("auto-compaction", "microcompaction", "rewind")


def handles(session: Session) -> list[str]:
    """Everything that a person could name for a roll-back."""
    named = [
        f"{letter}{getattr(stored.event, 'number', 0)}"
        for kind, letter in HANDLE_OF.items()
        for stored in session.store.marks(session.id, kind)
    ]
    rewrites = session.store.marks(session.id, "window_rewritten")
    return named + [str(stored.version) for stored in rewrites]


def has_delta(session: Session, handle: str) -> bool:
    """Whether a change took or brought anything: some evictions hit only what was not recorded."""
    event = find_change(session.store, session.id, handle).event
    return event.delta != Delta()  # type: ignore[union-attr]


def check_window(session: Session) -> None:
    """The window replayed from zero is the stored one, and renders valid."""
    builder = WindowBuilder()
    for stored in session.store.read(session.id, types=WINDOW_TYPES):
        builder.apply(stored.event.delta)  # type: ignore[union-attr]
    window = session.structure()
    assert tuple(builder.entries.values()) == window.entries
    assert len({entry.item_id for entry in window.entries}) == len(window.entries)
    assert check_request(session.render().body) == ()


class Agent(RuleBasedStateMachine):
    """An observed agent that edits its window, and a person who rolls back in between."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger.open(clock_us=lambda: 0)
        self.pipe = open_pipe(self.ledger, b"{}", name="p", session="S", format_name="native")
        self.count = 0
        self.line(type="session", name="S", model="claude-sonnet-4-5")
        self.say("user", f"message {self.count}")
        self.session = self.ledger.find("S")

    def teardown(self) -> None:
        assert verify(self.ledger.store).ok
        self.ledger.close()

    def line(self, **fields: Any) -> None:
        self.pipe.push(json.dumps(fields).encode() + b"\n")
        self.pipe.commit()
        assert self.pipe.report.quarantined == 0, self.pipe.report.warnings

    def say(self, role: str, content: Any) -> None:
        self.count += 1
        self.line(id=f"m{self.count}", role=role, content=content)

    def known(self) -> list[str]:
        """Conversation items of the agent's own window."""
        state = self.ledger.writer.state(self.session.id)
        entries = state.agent_entries if state.agent_entries is not None else state.entries
        return [e.item_id for e in entries if e.item_id not in state.names.fixed]

    @rule()
    def talks(self) -> None:
        call = {"type": "tool_use", "id": f"t{self.count}", "name": "f", "input": {}}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "r"}
        self.say("assistant", [{"type": "text", "text": f"message {self.count}"}, call])
        self.say("user", [result, {"type": "text", "text": f"message {self.count}"}])

    @rule(text=st.sampled_from(["a", "b"]))
    def sets_system(self, text: str) -> None:
        self.line(type="system", content=text)

    @rule(names=st.lists(st.sampled_from("fg"), unique=True, max_size=2))
    def sets_tools(self, names: list[str]) -> None:
        tools = [{"name": name, "input_schema": {"type": "object"}} for name in names]
        self.line(type="tools", tools=tools)

    @precondition(lambda self: self.known())
    @rule(data=st.data(), placeholder=st.sampled_from(["", "[gone]"]))
    def evicts(self, data: st.DataObject, placeholder: str) -> None:
        items = data.draw(st.lists(st.sampled_from(self.known()), min_size=1, unique=True))
        self.line(type="evict", items=items, placeholder=placeholder)

    @precondition(lambda self: self.known())
    @rule(data=st.data())
    def compacts(self, data: st.DataObject) -> None:
        items = data.draw(st.lists(st.sampled_from(self.known()), min_size=1, unique=True))
        self.line(type="compact", sources=items, brief="brief")

    @rule()
    def compacts_all(self) -> None:
        self.line(type="compact", brief="brief of all")

    @rule(data=st.data())
    def reinjects(self, data: st.DataObject) -> None:
        item = data.draw(st.integers(1, self.count))
        self.line(type="reinject", items=[f"m{item}/0"])

    @rule(data=st.data())
    def rewrites(self, data: st.DataObject) -> None:
        kept = data.draw(st.lists(st.integers(1, self.count), max_size=4))
        parts = [{"message": f"m{number}"} for number in kept]
        self.line(type="rewrite", cause="rewind", parts=parts)

    @rule(data=st.data(), is_raw=st.booleans())
    def rolls_back(self, data: st.DataObject, is_raw: bool) -> None:
        names = handles(self.session)
        chosen = data.draw(st.lists(st.sampled_from(names), max_size=2)) if names else []
        before = self.session.structure().entries
        head = self.session.refresh()
        try:
            plan = self.session.rollback(*chosen, is_raw=is_raw)
        except LedgerError as error:
            refused = error
        else:
            refused = None
        if refused is not None:
            assert refused.hint
            assert self.session.store.head_version(self.session.id) == head, "a refusal writes"
            return
        check_window(self.session)
        assert set(plan.undid) <= undone_versions(self.session)
        if not is_raw:
            self.undo_the_undo(before)

    @rule(data=st.data())
    def restores(self, data: st.DataObject) -> None:
        version = data.draw(st.integers(0, self.session.refresh()))
        wanted = self.session.structure(version).entries
        if wanted == self.session.structure().entries:
            with pytest.raises(BadInput, match="change nothing"):
                self.session.rollback(to=str(version))
        else:
            self.session.rollback(to=str(version))
        assert self.session.structure().entries == wanted

    def undo_the_undo(self, before: object) -> None:
        number = len(self.session.store.marks(self.session.id, "rolled_back"))
        self.session.rollback(f"r{number}")
        assert self.session.structure().entries == before
        self.session.rollback(f"r{number + 1}")

    @invariant()
    def holds(self) -> None:
        self.session.refresh()
        check_window(self.session)
        standing = [stored for stored, is_in_force in compactions(self.session) if is_in_force]
        present = {e.key for e in self.session.structure().entries}
        briefs = {key for stored, _ in compactions(self.session) for key in stored.event.brief}  # type: ignore[union-attr]
        mine = {key for stored in standing for key in stored.event.brief}  # type: ignore[union-attr]
        assert present & briefs <= mine | self.brought_back(), "a brief is there, undone"

    def brought_back(self) -> set[str]:
        """Briefs that a re-injection or a rewrite put into the window by themselves."""
        kinds = ("items_reinjected", "window_rewritten")
        return {
            text.split(" ")[0]
            for kind in kinds
            for stored in self.session.store.marks(self.session.id, kind)
            for texts in (stored.event.delta.append, *(t for _, t in stored.event.delta.insert))  # type: ignore[union-attr]
            for text in texts
        }


Agent.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestAgent = Agent.TestCase


@pytest.mark.parametrize("name", NAMES)
def test_every_change_of_a_recording_undone_and_redone(name: str, recordings: Path) -> None:
    with Ledger.open() as ledger:
        import_file(ledger, recordings / "claude-code" / f"{name}.jsonl")
        session = ledger.find(ledger.store.session_names()[0][1])
        later = {e.key for e in session.structure().entries}
        for handle in handles(session):
            before = session.structure().entries
            if not has_delta(session, handle):
                with pytest.raises(BadInput, match="change nothing"):
                    session.rollback(handle)
                continue
            plan = session.rollback(handle)
            check_window(session)
            kept = {e.key for e in session.structure().entries}
            assert later - set(plan.removed) <= kept, "later items are kept"
            session.rollback(f"r{len(session.store.marks(session.id, 'rolled_back'))}")
            assert session.structure().entries == before
        assert verify(ledger.store).ok


@pytest.mark.parametrize("name", NAMES)
def test_every_version_of_a_recording_restored(name: str, recordings: Path) -> None:
    with Ledger.open() as ledger:
        import_file(ledger, recordings / "claude-code" / f"{name}.jsonl")
        session = ledger.find(ledger.store.session_names()[0][1])
        head = session.version
        for version in [*range(1, head, 23), head - 1]:
            wanted = session.structure(version).entries
            session.rollback(to=str(version))
            assert session.structure().entries == wanted
            check_window(session)
        session.rollback(to=str(head))
        assert session.structure().entries == session.structure(head).entries
        assert verify(ledger.store).ok
