"""Random programs of operations against a model that only knows lists of texts.

The model says what a roll-back means: the window is what it would be if the undone changes had
never happened. It stays where that is well defined: it does not undo what later changes cover.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ctxledger.ledger import BadInput, ConflictError, Ledger
from ctxledger.ledger.content import Block
from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    EvictItems,
    ExtendMessage,
    ImportCompaction,
)
from ctxledger.ledger.integrity.verify import verify

Shown = list[tuple[str, str]]
"""(item, text) of a window."""


class Model:
    """The oracle: operations by version, and the fold over those in force."""

    def __init__(self) -> None:
        self.ops: dict[int, tuple[str, tuple[object, ...]]] = {}
        self.undos: dict[int, tuple[int, ...]] = {}

    def undone(self) -> set[int]:
        out: set[int] = set()
        for version, targets in reversed(self.undos.items()):
            if version not in out:
                out.update(targets)
        return out

    def shown_without(self, rollback: int) -> Shown:
        """The window if this roll-back was undone."""
        other = Model()
        other.ops = self.ops
        other.undos = {**self.undos, 2**62: (rollback,)}
        return other.shown()

    def shown(self, also_undone: tuple[int, ...] = ()) -> Shown:
        window: Shown = []
        undone = self.undone() | set(also_undone)
        for version, (kind, given) in self.ops.items():
            if version in undone:
                continue
            if kind == "append":
                window.append(given)  # type: ignore[arg-type]
            elif kind == "extend":
                anchor, *new = given
                places = [place for place, (item, _) in enumerate(window) if item == anchor]
                if places:
                    window.insert(places[0] + 1, tuple(new))  # type: ignore[arg-type]
            elif kind == "evict":
                item, text = given
                window = [(i, text if i == item else t) for i, t in window]  # type: ignore[misc]
            elif kind == "compact":
                gone, brief = given
                window = [brief, *(e for e in window if e[0] not in gone)]  # type: ignore[misc, operator]
            else:
                window = list(given)  # type: ignore[arg-type]
        return window


class LedgerMachine(RuleBasedStateMachine):
    """Append, extend, evict, compact, roll back, reopen, write from elsewhere."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.db"
        self.model = Model()
        self.history: dict[int, Shown] = {}
        self.messages: dict[str, list[str]] = {}
        self.handles: dict[int, str] = {}
        self.counts = {"c": 0, "e": 0, "r": 0}
        self.open()
        self.done()

    def open(self) -> None:
        self.ledger = Ledger.open(self.path, is_durable=False)
        self.session = self.ledger.session("work")

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            assert verify(self.ledger.store).problems == ()
            self.ledger.close()
            self.folder.cleanup()

    def done(self) -> None:
        self.history[self.session.version] = self.model.shown()

    def write(self, draft: AnyDraft) -> int:
        with self.session.writing():
            self.ledger.writer.write(draft)
        return self.session.version

    def handle(self, letter: str, version: int) -> None:
        self.counts[letter] += 1
        self.handles[version] = f"{letter}{self.counts[letter]}"

    def last_restore(self) -> int:
        undone = self.model.undone()
        restores = [v for v, (kind, _) in self.model.ops.items() if kind == "set"]
        return max((v for v in restores if v not in undone), default=0)

    @rule(text=st.text("ab\u4e2d ", min_size=1, max_size=4))
    def append(self, text: str) -> None:
        name = f"u{self.session.version}"
        version = self.session.append({"role": "user", "content": text}, message_id=name)
        self.messages[name] = [f"{version}.0"]
        self.model.ops[version] = ("append", (f"{version}.0", text))
        self.done()

    @precondition(lambda self: self.messages)
    @rule(data=st.data())
    def extend(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.messages)))
        block = Block(type="text", text="late", origin="human")
        version = self.write(ExtendMessage(session="work", message=name, blocks=(block,)))
        present = [item for item, _ in self.model.shown()]
        anchors = [item for item in self.messages[name] if item in present]
        self.messages[name].append(f"{version}.0")
        anchor = anchors[-1] if anchors else ""
        self.model.ops[version] = ("extend", (anchor, f"{version}.0", "late"))
        self.done()

    @precondition(lambda self: any(t != "[gone]" for _, t in self.model.shown()))
    @rule(data=st.data())
    def evict(self, data: st.DataObject) -> None:
        items = [item for item, text in self.model.shown() if text != "[gone]"]
        item = data.draw(st.sampled_from(items))
        version = self.write(EvictItems(session="work", items=(item,), placeholder="[gone]"))
        self.model.ops[version] = ("evict", (item, "[gone]"))
        self.handle("e", version)
        self.done()

    @precondition(lambda self: self.messages)
    @rule(kept=st.integers(min_value=0, max_value=2))
    def compact(self, kept: int) -> None:
        keep = tuple(list(self.messages)[len(self.messages) - kept :])
        stays = {item for name in keep for item in self.messages[name]}
        gone = frozenset(item for item, _ in self.model.shown() if item not in stays)
        name = f"b{self.session.version}"
        blocks = (Block(type="text", text=f"brief {name}", origin="summary"),)
        version = self.write(
            ImportCompaction(session="work", message=name, role="user", blocks=blocks, keep=keep)
        )
        self.model.ops[version] = ("compact", (gone, (f"{version}.0", f"brief {name}")))
        self.handle("c", version)
        self.done()

    def undoable(self) -> list[tuple[int, ...]]:
        """One or two compactions or evictions that nothing later covers."""
        undone = self.model.undone()
        base = self.last_restore()
        some = [
            v for v, (kind, _) in self.model.ops.items()
            if kind in ("compact", "evict") and v > base and v not in undone
        ]  # fmt: skip
        ones = [(v,) for v in some if self.can_undo(v, ())]
        twos = [
            (a, b) for (b,) in ones for a in some if a < b and self.can_undo(a, (b,))
        ]  # fmt: skip
        now = self.model.shown()
        return [some for some in ones + twos if self.model.shown(some) != now]

    def can_undo(self, version: int, before: tuple[int, ...]) -> bool:
        kind, given = self.model.ops[version]
        shown = dict(self.model.shown(before))
        if kind == "evict":
            return shown.get(str(given[0])) == "[gone]"
        return given[1][0] in shown  # type: ignore[index]

    @precondition(lambda self: self.undoable())
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        versions = data.draw(st.sampled_from(self.undoable()))
        self.session.rollback(*[self.handles[version] for version in versions])
        self.model.undos[self.session.version] = versions
        self.handle("r", self.session.version)
        self.done()

    def redoable(self) -> list[int]:
        """Roll-backs after which only messages came."""
        out: list[int] = []
        undone = self.model.undone()
        for version in reversed(range(2, self.session.version + 1)):
            kind = self.model.ops.get(version, ("undo",))[0]
            if version in self.handles and version not in undone:
                after = self.model.shown_without(version)
                if self.handles[version].startswith("r") and after != self.model.shown():
                    out.append(version)
                break
            if kind != "append":
                break
        return out

    @precondition(lambda self: self.redoable())
    @rule()
    def undo_a_rollback(self) -> None:
        (version,) = self.redoable()
        self.session.rollback(self.handles[version])
        self.model.undos[self.session.version] = (version,)
        self.handle("r", self.session.version)
        self.done()

    def restorable(self) -> list[int]:
        return [v for v, shown in self.history.items() if shown != self.model.shown()]

    @precondition(lambda self: self.restorable())
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        to = data.draw(st.sampled_from(self.restorable()))
        self.session.rollback(to=str(to))
        self.model.ops[self.session.version] = ("set", tuple(self.history[to]))
        self.handle("r", self.session.version)
        self.done()

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.open()

    @rule()
    def write_from_elsewhere(self) -> None:
        name = f"u{self.session.version}"
        with Ledger.open(self.path, is_durable=False) as other:
            version = other.session("work").append(
                {"role": "user", "content": "else"}, message_id=name
            )
        self.messages[name] = [f"{version}.0"]
        self.model.ops[version] = ("append", (f"{version}.0", "else"))
        with pytest.raises(ConflictError):
            self.session.append({"role": "user", "content": "stale"})
        assert self.session.refresh() == version
        self.done()

    @rule()
    def ask_for_what_is_not_there(self) -> None:
        with pytest.raises(BadInput):
            self.write(EvictItems(session="work", items=("999.0",)))
        with pytest.raises(BadInput):
            self.write(AppendMessage(session="nobody", role="user", blocks=()))

    @invariant()
    def the_window_is_the_models(self) -> None:
        if not hasattr(self, "session"):
            return
        assert self.session.version == max(self.history)
        shown = [(entry.item, entry.block.text) for entry in self.session.window().entries]
        assert shown == self.model.shown()

    @invariant()
    def the_past_never_changes(self) -> None:
        for version in list(getattr(self, "history", {}))[-8::3]:
            entries = self.session.window(version).entries
            assert [(e.item, e.block.text) for e in entries] == self.history[version]


LedgerMachine.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=30,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestLedgerMachine = LedgerMachine.TestCase
