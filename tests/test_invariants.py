"""The eleven invariants of the design, each checked from end to end; the parts have own tests.

One file because the list is read as one page. Briefs, checks and redactions of our own do not
exist yet: of invariants 5, 6, 9 and 10 this holds what is true of imported compactions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from ctxledger.ledger import CorruptLedger, Ledger, LedgerError, Session, StorageFailed
from ctxledger.ledger.caches.catchup import rebuild
from ctxledger.ledger.content import Block, is_result, to_json
from ctxledger.ledger.events import ModelCalled, WindowCompacted, messages_of
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.render.anthropic_rules import check_request
from ctxledger.ledger.rolling_back import plan_rollback

from .story import Story, open_ledger

FIXTURES = Path(__file__).parent / "fixtures"
RECORDINGS = (
    "anthropic-agent-loop.yaml",
    "anthropic-thinking-stream.yaml",
    "claude-code-interrupts.jsonl",
)
REARRANGING = (
    "items_evicted", "window_compacted", "items_reinjected", "rolled_back", "window_rewritten",
    "system_set", "tools_set", "message_extended",
)  # fmt: skip


def imported(name: str, path: Path | str = ":memory:") -> Ledger:
    ledger = open_ledger(path)
    import_file(ledger, FIXTURES / name)
    return ledger


def sessions_of(ledger: Ledger) -> list[Session]:
    return [ledger.find(name) for _, name in ledger.store.session_names()]


def digests(ledger: Ledger) -> dict[tuple[str, int], str]:
    """The structure of every window of every session."""
    return {
        (session.name, version): session.structure(version).digest()
        for session in sessions_of(ledger)
        for version in range(1, session.version + 1)
    }


def busy_story(path: Path | str = ":memory:") -> Story:
    """Evictions, two compactions, a re-injection, a rewind, and roll-backs of ours."""
    story = Story(open_ledger(path), model="model-1")
    rule = story.say("Never touch production.", message="rule")
    story.put(
        Block(type="tool_use", text=to_json({"path": "a"}), is_json=True, tool_id="t1",
              tool_name="read", origin="assistant"),
        role="assistant",
    )  # fmt: skip
    result = story.put(Block(type="tool_result", text="x = 1", tool_id="t1", origin="tool"))
    story.call("k1", 100)
    story.evict(result, "[cleared]")
    story.say("Go on.", message="go")
    story.compact("first brief")
    story.say("More.", message="more")
    story.compact("second brief")
    story.reinject(rule)
    story.say("Last.", "assistant", message="last")
    story.session.rollback("c2")
    story.session.rollback("c1", "e1")
    story.session.rollback("r1")
    story.rewind("more")
    story.session.rollback(to="6")
    return story


def test_1_events_are_never_changed_or_removed_and_a_saved_head_proves_the_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    with imported(RECORDINGS[2], path) as ledger:
        head = ledger.store.head()
        for sql in (
            "UPDATE events SET actor = 'x' WHERE position = 2",
            "DELETE FROM events WHERE position = 2",
            "INSERT OR REPLACE INTO events SELECT * FROM events WHERE position = 2",
            "REPLACE INTO events SELECT * FROM events WHERE position = 2",
            "DELETE FROM events",
        ):
            with pytest.raises(LedgerError, match="never"):
                ledger.db.execute(sql)
        assert verify(ledger.store, saved_head=head).ok
    raw = sqlite3.connect(path)
    raw.execute("DROP TRIGGER events_no_delete")
    raw.execute("DELETE FROM events WHERE position = ?", (head.size,))
    raw.commit()
    raw.close()
    with Ledger.open(path) as ledger:
        found = verify(ledger.store, saved_head=head).problems
        assert any("the log ends at" in problem.problem for problem in found)


@pytest.mark.parametrize("name", RECORDINGS)
def test_2_a_window_depends_on_its_events_alone(name: str) -> None:
    with imported(name) as ledger, Ledger.open() as other:
        import_file(other, FIXTURES / name)  # other salts, another clock
        assert digests(other) == digests(ledger)


def test_2_a_window_needs_no_cache(tmp_path: Path) -> None:
    with busy_story(tmp_path / "ledger.db").ledger as ledger:
        before = digests(ledger)
        for table in ("snapshots", "uses", "touches", "tokens", "caught_up"):
            ledger.db.execute(f"DELETE FROM {table}")
        assert digests(ledger) == before
        rebuild(ledger.store)
        assert digests(ledger) == before
        assert verify(ledger.store).ok


@pytest.mark.parametrize("damage", ["5", "[1]", '["77.0"]', "[]", '{"a":1}', '["2.0","3.0"]'])
def test_2_a_damaged_snapshot_never_makes_another_window(tmp_path: Path, damage: str) -> None:
    with busy_story(tmp_path / "ledger.db").ledger as ledger:
        before = digests(ledger)
        (count,) = ledger.db.row("SELECT count(*) FROM snapshots") or (0,)
        assert count
        ledger.db.execute("UPDATE snapshots SET data = ?", (b"\x00" + damage.encode(),))
        assert digests(ledger) == before
        ledger.db.execute(  # the digest of another one in front
            "UPDATE snapshots SET data = cast(substr(data, 1, 8) || ? AS BLOB)",
            (b"\x00" + damage.encode(),),
        )
        assert digests(ledger) == before


def unmarked(value: Any) -> Any:
    """Parsed JSON without cache marks."""
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [unmarked(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", [RECORDINGS[0], RECORDINGS[2]])
def test_3_between_two_calls_the_older_window_is_a_prefix(name: str) -> None:
    compared = 0
    with imported(name) as ledger:
        for session in sessions_of(ledger):
            calls = list(session.events(types=("model_called",)))
            for old, new in pairwise(calls):
                if any(session.events(old.version, new.version, REARRANGING)):
                    continue
                before, after = (session.structure(c.version).entries for c in (old, new))
                assert after[: len(before)] == before
                compared += 1
                if isinstance(old.event, ModelCalled) and old.event.digest:
                    sent, next_sent = (
                        unmarked(session.render_call(c.version)["messages"]) for c in (old, new)
                    )
                    assert next_sent[: len(sent)] == sent
    assert compared


def all_items(session: Session) -> dict[str, Block]:
    """Every block of a message that was ever recorded, by item."""
    items = {}
    for stored in session.events():
        count = sum(len(message.blocks) for message in messages_of(stored.event))
        for index in range(count):
            items[f"{stored.version}.{index}"] = session.item_block(f"{stored.version}.{index}")
    return items


def test_4_what_left_the_window_can_be_read_back_as_it_was() -> None:
    session = busy_story().session
    blocks = all_items(session)
    last = {e.item_id for e in session.structure().entries}
    seen: set[str] = set()
    for version in range(1, session.version + 1):
        for entry in session.window(version).entries:
            seen.add(entry.item)
            if entry.form == "verbatim":
                assert entry.block == blocks[entry.item]
    assert seen - last, "something has left"
    assert seen <= set(blocks)


def test_5_a_summary_of_summaries_says_so() -> None:
    story = Story(open_ledger())
    story.say("one")
    briefs = [story.compact("first"), story.compact("second")]
    story.say("two")
    story.compact("third")
    events = [s.event for s in story.ledger.store.marks(story.session.id, "window_compacted")]
    compactions = [e for e in events if isinstance(e, WindowCompacted)]
    assert [e.depth for e in compactions] == [1, 2, 3]
    assert [e.sources for e in compactions] == [("2.0",), (briefs[0],), ("4.0..5.0",)]
    assert {e.outcome for e in compactions} == {"imported"}, "none is of our own"


def faults(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each round the next statement of the writer fails."""
    real = ledger.db.execute
    for fail_at in range(1, 100):
        left = fail_at

        def execute(sql: str, values: Any = ()) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise StorageFailed("The disk is full.")
            return real(sql, values)

        with monkeypatch.context() as patch:
            patch.setattr(ledger.db, "execute", execute)
            yield


def test_6_a_compaction_happens_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(open_ledger())
    story.say("one")
    before = story.session.structure()
    failed = 0
    for _ in faults(story.ledger, monkeypatch):
        try:
            story.compact("brief")
            break
        except StorageFailed:
            failed += 1
            monkeypatch.undo()
            story.ledger.writer.forget()
            assert story.session.structure() == before
    assert failed > 3
    assert [e.key for e in story.session.structure().entries] == ["3.0"]
    assert verify(story.ledger.store).ok


def test_7_any_window_renders_valid_and_rendering_changes_nothing() -> None:
    session = busy_story().session
    head, version = session.store.head(), session.version
    repaired = 0
    for at in range(2, version + 1):
        rendering = session.render(at)
        assert check_request(rendering.body) == ()
        repaired += bool(rendering.repairs)
    assert repaired, "windows cut between a call and its result were among them"
    assert (session.store.head(), session.refresh()) == (head, version)


def test_7_recorded_calls_come_out_as_they_were_sent() -> None:
    path = FIXTURES / RECORDINGS[0]
    cassette = yaml.safe_load(path.read_text("utf-8"))
    sent = [yaml.safe_load(request["body"]) for request in cassette["requests"]]
    with imported(path.name) as ledger:
        rendered = [
            session.render_call(call.version)
            for session in sessions_of(ledger)
            for call in session.events(types=("model_called",))
        ]
    assert len(rendered) == len(sent)
    assert all(body in sent for body in rendered)


def test_8_an_item_is_the_same_at_every_version_whatever_leaves_before_it() -> None:
    session = busy_story().session
    shown: dict[str, Block] = {}
    for version in range(1, session.version + 1):
        window = session.window(version)
        assert len({e.key for e in window.entries}) == len(window.entries)
        for entry in window.entries:
            if entry.form != "placeholder":
                assert shown.setdefault(entry.item, entry.block) == entry.block


@pytest.mark.parametrize("name", RECORDINGS)
def test_9_text_from_tools_is_never_a_rule_an_approval_or_an_instruction(name: str) -> None:
    with imported(name) as ledger:
        for session in sessions_of(ledger):
            for stored in session.events():
                assert not stored.event.__struct_config__.tag.startswith(("state_", "item_"))
                for message in messages_of(stored.event):
                    origins = {b.origin for b in message.blocks if is_result(b.type)}
                    assert origins <= {"tool"}


@pytest.mark.parametrize("name", RECORDINGS)
def test_10_what_came_in_goes_out(name: str, tmp_path: Path) -> None:
    raw = (FIXTURES / name).read_bytes() + b"\n{damaged\n\x00\xff\n"
    if not name.endswith("jsonl"):
        raw = (FIXTURES / name).read_bytes()
    path = tmp_path / name
    path.write_bytes(raw)
    with open_ledger() as ledger:
        import_file(ledger, path)
        (source,) = ledger.sources.all()
        assert b"".join(ledger.sources.read(source.id)) == raw


@pytest.mark.parametrize("name", RECORDINGS)
def test_11_parts_add_up_and_each_number_names_its_method(name: str) -> None:
    with imported(name) as ledger:
        for session in sessions_of(ledger):
            for version in range(1, session.version + 1):
                view = session.window(version)
                assert sum(view.categories.values()) == view.tokens
                assert sum(entry.tokens for entry in view.entries) == view.tokens
                assert view.tokens_method.startswith(("tokenizer/", "estimate/"))
                if view.reported is not None:
                    call = next(session.events(0, version, ("model_called",), is_reverse=True))
                    counted = session.window(call.version, view="effective").tokens
                    assert view.unrecorded == view.reported - counted


def test_11_one_window_has_one_counter() -> None:
    totals = {}
    for counter in ("tokenizer", "estimate"):
        with Ledger.open(counter_name=counter) as ledger:
            import_file(ledger, FIXTURES / RECORDINGS[2])
            session = ledger.find("@")
            view, plan = session.window(), plan_rollback(session, to="2")
            assert plan.tokens_before == view.tokens
            totals[view.tokens_method] = view.tokens
    assert len(set(totals.values())) == 2


def test_damage_is_never_shown_as_a_window(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    busy_story(path).ledger.close()
    raw = sqlite3.connect(path)
    raw.execute("DROP TRIGGER events_no_update")
    raw.execute("UPDATE events SET data = (SELECT data FROM events WHERE version = 5)"
                " WHERE version = 2")  # fmt: skip
    raw.execute("DELETE FROM snapshots")
    raw.commit()
    raw.close()
    with Ledger.open(path) as ledger, pytest.raises(CorruptLedger):
        ledger.find("@").window("head")
