"""The list of sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxledger.ledger.content import Block
from ctxledger.ledger.errors import CorruptLedger
from ctxledger.ledger.finding.catalogue import SessionRow, session_rows
from ctxledger.ledger.importing import import_file

from .story import Story, open_ledger

FIXTURE = Path(__file__).parent / "fixtures" / "claude-code-interrupts.jsonl"
NOW_MS = 1_800_000_000_000


def only_row(story: Story) -> SessionRow:
    (row,) = session_rows(story.ledger.store)
    return row


def test_an_empty_ledger_lists_nothing() -> None:
    assert session_rows(open_ledger().store) == []


def test_a_session_says_what_it_was_opened_with() -> None:
    story = Story(
        open_ledger(),
        title="Refactor auth",
        model="model-0",
        folder="/home/me/project with spaces",
        branch="fix/auth",
        limit_tokens=200_000,
        coverage="exact",
    )
    row = only_row(story)
    assert (row.name, row.title, row.format, row.coverage) == (
        "story",
        "Refactor auth",
        "test",
        "exact",
    )
    assert (row.folder, row.branch) == ("/home/me/project with spaces", "fix/auth")
    assert (row.model, row.limit, row.relation, row.parent) == ("model-0", 200_000, "", "")
    assert (row.version, row.calls, row.messages, row.reported) == (1, 0, 0, None)


def test_the_title_is_the_first_line_of_the_first_human_text() -> None:
    story = Story(open_ledger())
    story.put(Block(type="text", text="Injected by the harness.", origin="harness"))
    story.say("I am an assistant.", role="assistant")
    story.put(Block(type="tool_result", text="a result", origin="tool"))
    assert only_row(story).title == ""
    story.say("\n\n  Fix the login page.  \nIt is broken.")
    story.say("Another wish.")
    assert only_row(story).title == "Fix the login page."


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("x" * 500, "x" * 80),
        (
            "<command-message>review</command-message>\n<command-name>/review</command-name>",
            "review",
        ),
        ("<div> is not closed", "<div> is not closed"),
        ("lone \ud800 surrogate", "lone \ufffd\ufffd\ufffd surrogate"),
        ("重构登录模块\n不要碰生产数据库", "重构登录模块"),
    ],
)
def test_titles_are_short_and_can_always_be_written(text: str, title: str) -> None:
    story = Story(open_ledger())
    story.say(text)
    assert only_row(story).title == title


def test_hostile_titles_are_kept_raw(hostile_text: str) -> None:
    story = Story(open_ledger(), title=hostile_text)
    title = only_row(story).title
    assert title == hostile_text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def test_counts_and_the_newest_call_are_those_of_the_events() -> None:
    story = Story(open_ledger())
    first = story.say("one", at_ms=5_000)
    story.say("two", role="assistant", at_ms=9_000)
    story.call("call-1", 1_200)
    story.call("call-2", 3_400, model="model-2")
    story.call("call-3", 0, model="<synthetic>")
    story.evict(first, "[gone]")
    story.compact("A brief.")
    row = only_row(story)
    assert (row.messages, row.calls, row.evictions, row.compactions) == (2, 3, 1, 1)
    assert (row.model, row.reported) == ("model-2", 3_400)
    assert (row.first_ms, row.last_ms, row.updated_ms) == (5_000, 9_000, 9_000)
    assert row.version == story.ledger.store.head_version(row.id)


def test_compactions_are_those_in_force() -> None:
    story = Story(open_ledger())
    story.say("one")
    story.compact("first brief")
    story.say("two")
    story.compact("second brief")
    assert only_row(story).compactions == 2
    story.session.rollback("c2")
    assert (only_row(story).compactions, only_row(story).compactions_total) == (1, 2)
    story.session.rollback("r1")
    assert (only_row(story).compactions, only_row(story).rollbacks) == (2, 2)


def test_the_newest_activity_comes_last_whatever_was_stored_first() -> None:
    ledger = open_ledger()
    for name, at_ms in (("late", 3_000), ("early", 1_000), ("untimed", None), ("middle", 2_000)):
        Story(ledger, name).say("text", at_ms=at_ms)
    rows = session_rows(ledger.store)
    assert [row.name for row in rows] == ["early", "middle", "late", "untimed"]
    assert rows[-1].updated_ms == NOW_MS


def test_a_fork_begins_with_what_its_parent_had_and_goes_its_own_way() -> None:
    ledger = open_ledger()
    parent = Story(ledger, "parent")
    parent.say("Build it.", message="m-1")
    parent.call("call-1", 500)
    parent.say("Done.", role="assistant", message="m-2")
    fork = Story(ledger, "fork", relation="fork", parent="parent", parent_message="m-2")
    fork.say("Now try the other way.")
    parent.say("Thanks.")
    parent.say("Bye.")
    rows = {row.name: row for row in session_rows(ledger.store)}
    assert (rows["fork"].relation, rows["fork"].parent) == ("fork", "parent")
    assert (rows["fork"].title, rows["fork"].messages, rows["fork"].calls) == ("Build it.", 3, 1)
    assert (rows["parent"].messages, rows["fork"].reported) == (4, 500)


def test_a_list_that_was_read_before_goes_on() -> None:
    story = Story(open_ledger())
    story.say("one")
    assert only_row(story).messages == 1
    story.say("two")
    story.call("call-1", 77)
    assert (only_row(story).messages, only_row(story).reported) == (2, 77)


def test_lost_rows_are_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        Story(ledger, "first", title="First").say("hello")
        Story(ledger, "second").say("world")
        before = session_rows(ledger.store)
        ledger.db.execute("DROP TABLE session_rows")
    with open_ledger(path) as ledger:
        assert session_rows(ledger.store) == before
        assert session_rows(ledger.store) == before


def test_rows_that_cannot_be_read_are_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        Story(ledger, "first", title="First").say("hello")
        before = session_rows(ledger.store)
        ledger.db.execute("UPDATE session_rows SET data = x'ff00'")
    with open_ledger(path, "read") as ledger:
        assert session_rows(ledger.store) == before
    with open_ledger(path) as ledger:
        assert session_rows(ledger.store) == before


def test_a_damaged_event_hides_no_other_session(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        Story(ledger, "whole").say("hello")
        broken = Story(ledger, "broken")
        item = broken.say("one")
        broken.say("two")
        ledger.db.execute("DROP TRIGGER events_no_update")
        ledger.db.execute(
            "UPDATE events SET data = x'0000' WHERE session = ? AND version = ?",
            (broken.session.id, int(item.split(".")[0])),
        )
        with pytest.raises(CorruptLedger):
            broken.session.structure()
        rows = {row.name: row for row in session_rows(ledger.store)}
    assert rows["whole"].title == "hello"
    assert rows["broken"].version == 3


def test_a_real_transcript_is_listed_as_its_events_say() -> None:
    ledger = open_ledger()
    import_file(ledger, FIXTURE)
    check_against_events(ledger)


def test_recordings_are_listed_as_their_events_say(recordings: Path) -> None:
    ledger = open_ledger()
    for path in sorted((recordings / "claude-code").glob("*.jsonl")):
        import_file(ledger, path)
    assert len(session_rows(ledger.store)) >= 6
    check_against_events(ledger)


def check_against_events(ledger) -> None:  # type: ignore[no-untyped-def]
    """Count each session's events with plain SQL and compare."""
    for row in session_rows(ledger.store):
        counts = dict(
            ledger.db.rows(
                "SELECT type, count(*) FROM events WHERE session = ? GROUP BY type", (row.id,)
            )
        )
        assert row.messages == counts.get("message_appended", 0)
        assert row.calls == counts.get("model_called", 0)
        assert row.compactions_total == counts.get("window_compacted", 0)
        assert row.evictions == counts.get("items_evicted", 0)
        assert row.version == ledger.store.head_version(row.id)
        assert row.title
        assert row.folder.startswith("/")
        assert row.reported == ledger.find(row.name).window().reported
