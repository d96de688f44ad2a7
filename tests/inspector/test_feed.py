"""The feed answers from a read-only connection, and survives damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxledger.cli.rollback_text import Preview
from ctxledger.inspector.feed import Feed
from ctxledger.inspector.saving import file_stem, save_text
from ctxledger.inspector.undoing import apply_plan, preview_rollback
from ctxledger.inspector.widgets.diff_lines import DiffLines, totals
from ctxledger.inspector.widgets.item_lines import facts_of, shown_text
from ctxledger.inspector.widgets.rollback_lines import preview_lines
from ctxledger.ledger import Ledger
from ctxledger.ledger.errors import BadInput, ConflictError, CorruptLedger

COMPACTION, EVICTION, HEAD = 14, 13, 18


@pytest.fixture
def feed(story: Path) -> Iterator[Feed]:
    reader = Feed(str(story))
    yield reader
    reader.close()


def test_sessions_are_listed_with_what_they_hold(feed: Feed) -> None:
    (line,) = feed.sessions()
    assert (line.name, line.title, line.model) == (
        "refactor-auth", "Refactor auth", "claude-sonnet-4-5",
    )  # fmt: skip
    assert (line.version, line.calls, line.compactions) == (HEAD, 3, 1)
    assert (line.reported_tokens, line.limit_tokens) == (4_400, 2_000)


def test_a_session_is_found_by_name_prefix_or_newest(feed: Feed) -> None:
    assert feed.find("refactor-auth") == feed.find("refac") == feed.find("@") == 1
    overview = feed.overview(1)
    assert (overview.head, overview.compactions) == (HEAD, (COMPACTION,))


def test_a_row_for_each_event(feed: Feed) -> None:
    rows = feed.timeline(1, 1, HEAD)
    assert [row.version for row in rows] == list(range(1, HEAD + 1))
    kinds = [row.kind for row in rows]
    assert kinds[:4] == ["session", "system", "tools", "human"]
    assert {"evict", "compact", "failed_tool", "call", "reply"} <= set(kinds)
    assert "Never touch the production database." in rows[3].summary
    assert [r.handle for r in rows if r.handle] == ["call1", "call2", "e1", "c1", "call3"]
    assert feed.timeline(1, 5, 6) == rows[4:6]


def test_calls_show_their_argument(feed: Feed) -> None:
    assert "Bash pytest -q tests/auth" in feed.timeline(1, 1, HEAD)[9].summary


def test_windows_items_and_references(feed: Feed) -> None:
    before, after = feed.window(1, EVICTION, "sent"), feed.window(1, COMPACTION, "sent")
    assert before.tokens > after.tokens > 0
    assert {e.form for e in before.entries} >= {"verbatim", "placeholder"}
    assert feed.resolve(1, "c1") == COMPACTION
    assert feed.resolve(1, "c1^") == EVICTION
    assert feed.resolve(1, "0") == 1


def test_an_item_says_where_it_came_from_and_where_it_is(feed: Feed) -> None:
    gone = feed.item(1, "4.0", at=COMPACTION)
    assert (gone.shown, gone.is_in_head, gone.left_at) == (None, False, (COMPACTION, "c1"))
    assert gone.raw == "Refactor auth. Never touch the production database."
    facts = {label: value for label, value, _ in facts_of(gone)}
    assert facts["now"] == "not in the window: left at c1 (version 14)"
    assert facts["source"] == "no file: recorded through the API"
    evicted = feed.item(1, "8.0", at=EVICTION)
    assert evicted.shown is not None
    assert evicted.shown.form == "placeholder"
    assert "[file content cleared]" in shown_text(evicted)
    assert "return True" in shown_text(evicted)


def test_the_difference_of_a_compaction_adds_up(feed: Feed) -> None:
    found = feed.diff(1, COMPACTION)
    assert (found.before, found.after) == (EVICTION, COMPACTION)
    rows = DiffLines(found).rows
    heads = {row.part: row.tokens for row in rows if row.depth == 0}
    items = sum(row.tokens for row in rows if row.depth == 2 and row.part == "dropped")
    groups = sum(row.tokens for row in rows if row.depth == 1 and row.part == "dropped")
    assert heads["dropped"] == items == groups
    assert found.tokens_before - heads["dropped"] + heads["added"] == found.tokens_after
    assert totals(found).endswith(f"= {found.tokens_after} t, counted by {found.tokens_method}")


def test_a_roll_back_is_planned_without_writing_then_done_once(story: Path, feed: Feed) -> None:
    before = story.read_bytes()
    preview = preview_rollback(feed, 1, ("c1",), "")
    assert story.read_bytes() == before
    assert "4.0" in preview.plan.restored
    assert preview.plan.removed == ("14.0",)
    as_it_stood = {entry.item: (entry.form, entry.text) for entry in preview.restored}
    assert as_it_stood["8.0"] == ("placeholder", "[file content cleared]")
    change = sum(e.tokens for e in preview.restored) - sum(e.tokens for e in preview.removed)
    assert preview.plan.tokens_before + change == preview.plan.tokens_after
    assert apply_plan(str(story), 1, preview.plan) == (1, HEAD + 1)
    assert feed.overview(1).head == HEAD + 1
    rows = feed.timeline(1, COMPACTION, HEAD + 1)
    assert (rows[0].is_undone, rows[-1].handle) == (True, "r1")
    assert feed.undoable_at(1, HEAD + 1) == "r1"
    with pytest.raises(ConflictError):
        apply_plan(str(story), 1, preview.plan)
    assert feed.overview(1).head == HEAD + 1


def test_what_is_not_on_record_counts_towards_the_limit(story: Path, feed: Feed) -> None:
    preview = preview_rollback(feed, 1, ("c1",), "")
    assert preview.plan.tokens_after < 2_000 < preview.expected_tokens
    with Ledger.open(story, "read") as ledger:
        told = Preview.of(ledger.find("@"), preview.plan)
    assert (told.unrecorded, told.is_over) == (preview.unrecorded, True)
    shown = "\n".join("".join(span.text for span in line) for line in preview_lines(preview, 90))
    assert f"OVER by {preview.expected_tokens - 2_000:,} t" in shown


def test_only_some_events_can_be_undone_by_name(feed: Feed) -> None:
    handles = [feed.undoable_at(1, version) for version in range(1, HEAD + 1)]
    assert [handle for handle in handles if handle] == ["e1", "c1"]


def test_hits_say_whether_they_are_in_the_window(feed: Feed) -> None:
    (hit,) = feed.search("production database", 1)
    assert (hit.item, hit.in_window, hit.left_by) == ("4.0", False, "c1")


def test_reading_leaves_the_file_as_it_is(story: Path) -> None:
    before = story.read_bytes()
    reader = Feed(str(story))
    reader.sessions()
    reader.timeline(1, 1, HEAD)
    reader.window(1, HEAD, "effective")
    reader.item(1, "4.0", HEAD)
    reader.search("auth", None)
    reader.close()
    assert story.read_bytes() == before


def damage(path: Path, sql: str) -> None:
    db = sqlite3.connect(path)
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {name}")
    assert db.execute(sql).rowcount > 0
    db.commit()
    db.close()


def test_a_damaged_event_has_a_row_that_says_so(story: Path) -> None:
    damage(story, "UPDATE events SET data = x'00ff' WHERE version = 8")
    reader = Feed(str(story))
    rows = reader.timeline(1, 1, HEAD)
    assert len(rows) == HEAD
    assert [row.version for row in rows if row.kind == "damaged"] == [8]
    assert "verify" in rows[7].summary
    reader.close()


def test_a_damaged_text_spoils_only_its_row(story: Path) -> None:
    damage(story, "UPDATE bodies SET data = x'00' WHERE id = (SELECT max(id) FROM bodies)")
    reader = Feed(str(story))
    rows = reader.timeline(1, 1, HEAD)
    assert sum(row.kind == "damaged" for row in rows) == 1
    texts = [entry.text for entry in reader.window(1, HEAD, "sent").entries]
    assert sum("were changed on disk" in text for text in texts) == 1
    with pytest.raises(CorruptLedger):
        reader.raw_text(1, [f"{HEAD - 1}.0"])
    reader.close()


def test_there_must_be_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        Feed(str(tmp_path / "none.db"))
    assert not (tmp_path / "none.db").exists()


def test_saving_never_overwrites_and_is_private(tmp_path: Path) -> None:
    first = save_text("one \udce4", "a-1.0", tmp_path)
    second = save_text("two", "a-1.0", tmp_path)
    assert [first.name, second.name] == ["a-1.0.txt", "a-1.0-2.txt"]
    assert first.read_bytes() == b"one \xed\xb3\xa4"
    assert first.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("session", "stem"),
    [
        ("refactor-auth", "refactor-auth-4.0"),
        ("../../etc/x y", "etc-x-y-4.0"),
        ("中", "session-4.0"),
    ],
)
def test_file_names_stay_in_their_folder(session: str, stem: str) -> None:
    assert file_stem(session, ["4.0"]) == stem


def test_a_session_of_nothing_but_its_opening(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    with Ledger.open(path) as ledger:
        ledger.session("alone")
    reader = Feed(str(path))
    assert len(reader.timeline(1, 1, 1)) == 1
    assert reader.window(1, 1, "sent").entries == ()
    assert reader.diff(1, 1).is_same
    reader.close()
