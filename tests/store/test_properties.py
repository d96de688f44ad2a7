"""What holds for any events and any windows."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxledger.ledger import CorruptLedger, Ledger
from ctxledger.ledger.content import Block, to_json
from ctxledger.ledger.deltas import delta_between, diff
from ctxledger.ledger.drafts import (
    AnyDraft,
    AppendMessage,
    EvictItems,
    ExtendMessage,
    ImportCompaction,
    OpenSession,
    ReinjectItems,
    SetSystem,
    SetTools,
)
from ctxledger.ledger.event_codec import decode, encode
from ctxledger.ledger.events import AnyEvent, Delta, MessageAppended
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.rollback import undo_change
from ctxledger.ledger.session import Session
from ctxledger.ledger.storage import windows as stored_windows
from ctxledger.ledger.window import Entry, Window, WindowBuilder, entries_of, project, texts_of
from ctxledger.ledger.writing import writer

from .strategies import any_event, windows

QUICK = settings(derandomize=True, max_examples=150)


@QUICK
@given(any_event())
def test_an_event_reads_back_as_it_was_written(event: AnyEvent) -> None:
    data = encode(event)
    assert decode(data) == event
    assert encode(decode(data)) == data


@QUICK
@given(st.binary(max_size=60))
def test_bytes_that_are_no_event_are_damage(data: bytes) -> None:
    with pytest.raises(CorruptLedger):
        decode(data)


@QUICK
@given(windows())
def test_entries_read_back_as_they_were_written(entries: tuple[Entry, ...]) -> None:
    assert tuple(entries_of(texts_of(entries))) == entries


@settings(derandomize=True, max_examples=400)
@given(windows(), windows())
def test_the_delta_between_two_windows_leads_there_and_back(
    old: tuple[Entry, ...], new: tuple[Entry, ...]
) -> None:
    builder = WindowBuilder(old)
    builder.apply(delta_between(old, new))
    assert tuple(builder.entries.values()) == new
    builder.apply(delta_between(new, old))
    assert tuple(builder.entries.values()) == old


@QUICK
@given(windows())
def test_no_difference_is_an_empty_delta(entries: tuple[Entry, ...]) -> None:
    assert delta_between(entries, entries) == Delta()


@settings(derandomize=True, max_examples=400)
@given(windows(), windows())
def test_undoing_the_last_change_gives_the_window_before(
    before: tuple[Entry, ...], after: tuple[Entry, ...]
) -> None:
    order = [entry.key for entry in before if entry.key in {e.key for e in after}]
    kept = {entry.key: entry for entry in after}
    rest = [entry for entry in after if entry.key not in set(order)]
    # Changes of ours never turn round what stays: they take away, alter and bring.
    after = (*[kept[key] for key in order], *rest)
    assert tuple(undo_change(after, before, after)) == before


@QUICK
@given(windows(), windows())
def test_a_diff_accounts_for_every_entry(old: tuple[Entry, ...], new: tuple[Entry, ...]) -> None:
    found = diff(Window(1, old), Window(2, new))
    changed_from = [before for before, _ in found.changed]
    changed_to = [after for _, after in found.changed]
    assert sorted([*found.kept, *found.moved, *found.dropped, *changed_from], key=repr) == sorted(
        old, key=repr
    )
    assert sorted([*found.kept, *found.moved, *found.added, *changed_to], key=repr) == sorted(
        new, key=repr
    )


def text(words: str) -> Block:
    return Block(type="text", text=words, origin="human")


def random_draft(session: Session, random: Random, number: int) -> AnyDraft:
    """Some next thing that an agent might do."""
    name = session.name
    entries = [entry.key for entry in session.structure().entries]
    kind = random.choice(("say", "say", "say", "extend", "evict", "compact", "back", "fixed"))
    blocks = tuple(text(f"{number} {i}") for i in range(random.randint(1, 3)))
    messages = list(session.ledger.writer.state(session.id).names.messages)
    if kind == "extend" and messages:
        return ExtendMessage(session=name, message=random.choice(messages), blocks=blocks)
    if kind == "evict" and entries:
        some = tuple(random.sample(entries, min(len(entries), 2)))
        items = tuple(
            session.ledger.writer.state(session.id).window.entries[k].item_id for k in some
        )
        return EvictItems(session=name, items=items, placeholder=random.choice(("", "[gone]")))
    if kind == "compact" and messages:
        keep = tuple(m for m in messages[-4:] if random.random() < 0.7)
        return ImportCompaction(
            session=name,
            message=f"b{number}",
            role="user",
            blocks=blocks,
            keep=keep,
            keep_first=random.random() < 0.3,
        )
    if kind == "back" and messages:
        items = session.ledger.writer.state(session.id).names.messages[random.choice(messages)]
        return ReinjectItems(session=name, items=tuple(items[:1]))
    if kind == "fixed":
        make = random.choice(("system", "tools"))
        if make == "system":
            return SetSystem(session=name, blocks=blocks)
        tool = Block(
            type="tool", text=to_json({"name": f"t{number}"}), is_json=True, origin="system"
        )
        return SetTools(session=name, tools=(tool,))
    return AppendMessage(session=name, role="user", blocks=blocks, message=f"u{number}")


def live(ledger: Ledger, random: Random, steps: int) -> Session:
    """A session that went through a lot, roll-backs included."""
    session = ledger.session("work")
    for number in range(steps):
        with session.writing():
            ledger.writer.write(random_draft(session, random, number))
        if random.random() < 0.15 and session.version > 3:
            session.rollback(to=str(random.randint(2, session.version - 1)))
    return session


@pytest.mark.parametrize("seed", range(6))
def test_a_window_is_what_its_events_make_it_whatever_follows(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_windows, "SNAPSHOT_EVERY", 3)
    monkeypatch.setattr(writer, "snapshot_interval", lambda _: 3)
    random = Random(seed)
    with Ledger.open() as ledger:
        session = live(ledger, random, 25)
        seen = [session.structure(v) for v in range(session.version + 1)]
        live(ledger, random, 15)
        events = [stored.event for stored in session.events()]
        builder = WindowBuilder()
        for version, event in enumerate(events, 1):
            delta: Delta | None = getattr(event, "delta", None)
            if delta is not None:
                builder.apply(delta)
            window = builder.window(version)
            assert session.structure(version) == window
            assert project(events[:version]) == window
            assert version >= len(seen) or seen[version] == window
        assert ledger.db.row("SELECT count(*) > 5 FROM snapshots") == (1,)
        before = [session.structure(v) for v in range(session.version + 1)]
        assert verify(ledger.store).problems == ()
        with ledger.store.transaction():
            ledger.db.execute("DELETE FROM snapshots")
        assert [session.structure(v) for v in range(session.version + 1)] == before


def test_a_fork_shares_the_past_and_not_the_future() -> None:
    with Ledger.open() as ledger:
        parent = live(ledger, Random(9), 12)
        at = parent.version
        with ledger.store.transaction():
            ledger.writer.write(
                OpenSession(session="fork", format="api", relation="fork", parent="work")
            )
        fork = ledger.session("fork")
        assert fork.version == at + 1
        live(ledger, Random(10), 5)
        before = parent.structure().digest()
        fork.append({"role": "user", "content": "only here"})
        assert parent.structure().digest() == before
        for version in range(at + 1):
            assert fork.structure(version).entries == parent.structure(version).entries
        assert fork.structure().entries[:-1] == parent.structure(at).entries
        assert [e.version for e in fork.events()] == list(range(1, at + 3))
        assert verify(ledger.store).problems == ()


def test_an_event_that_changes_what_is_not_there_is_damage() -> None:
    with Ledger.open() as ledger:
        session = ledger.session("work")
        event = MessageAppended(messages=(), delta=Delta(remove=("99.0",)))
        with ledger.store.transaction():
            ledger.store.append(session.id, None, [(event, "x")])
        with pytest.raises(CorruptLedger, match=r"99\.0"):
            session.structure()
        outcome = verify(ledger.store)
        assert [p.session for p in outcome.problems] == ["work"]
        assert "windows cannot be built" in outcome.problems[0].problem
