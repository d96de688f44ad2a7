"""The read models: always up to date when read, whatever happened to them before."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.caches import catchup, model_rows
from ctxledger.ledger.caches.catchup import catch_up
from ctxledger.ledger.caches.read_models import ALONE, LATE, MAIN
from ctxledger.ledger.caches.touching import MOVED, shows_own_words
from ctxledger.ledger.drafts import OpenSession
from ctxledger.ledger.finding.catalogue import session_rows
from ctxledger.ledger.finding.effects import is_visible
from ctxledger.ledger.finding.searching import search
from ctxledger.ledger.importing import import_file

from .model_content import Content, content_of, first_reading, write_told
from .story import Story, open_ledger


class Killed(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def told(tmp_path: Path) -> Path:
    return write_told(tmp_path)


@pytest.fixture
def expected(told: Path, tmp_path: Path) -> Content:
    return first_reading(told, tmp_path)


def check_touches(ledger: Ledger) -> int:
    """At each version, the touches say of each item what the window shows."""
    models = catch_up(ledger.store)
    checked = 0
    for session, _ in ledger.store.session_names():
        touches: dict[str, list[tuple[int, int]]] = {}
        for part in ledger.store.lineage(session):
            for v, p, version, what in ledger.db.rows(
                f"SELECT item_version, item_place, version, what FROM {models.touches}"
                " WHERE session = ? AND version > ? AND version <= ? ORDER BY version",
                (part.session, part.after, part.to),
            ):
                touches.setdefault(f"{v}.{p}", []).append((version, what))
        for version in range(1, ledger.store.head_version(session) + 1):
            entries = ledger.store.window(session, version).entries
            visible = {e.item_id for e in entries if shows_own_words(e)}
            by_touches = {
                item
                for item, found in touches.items()
                if is_visible([touch for touch in found if touch[0] <= version])
            }
            assert by_touches == visible, f"session {session} at {version}"
            checked += 1
    return checked


def test_touches_say_at_every_version_what_the_window_shows(told: Path) -> None:
    with open_ledger(told) as ledger:
        assert check_touches(ledger) > 60


def test_touches_of_recordings_say_at_every_version_what_the_window_shows(
    recordings: Path,
) -> None:
    ledger = open_ledger()
    for name in ("auto-compaction", "microcompaction", "rewind"):
        import_file(ledger, recordings / "claude-code" / f"{name}.jsonl")
    assert check_touches(ledger) > 1000


def test_an_item_is_touched_only_by_events_that_change_it(told: Path) -> None:
    with open_ledger(told) as ledger:
        catch_up(ledger.store)
        story = ledger.find("story")
        for version in range(2, story.version + 1):
            before = {e.key: e for e in ledger.store.window(story.id, version - 1).entries}
            after = {e.key: e for e in ledger.store.window(story.id, version).entries}
            expected = {e.item_id for e in before.values() if after.get(e.key) != e}
            expected |= {e.item_id for e in after.values() if before.get(e.key) != e}
            touched = {
                f"{v}.{p}"
                for v, p in ledger.db.rows(
                    "SELECT item_version, item_place FROM touches"
                    " WHERE session = ? AND version = ? AND what <> ?",
                    (story.id, version, MOVED),
                )
            }
            assert touched == expected


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_any_size_of_batch_gives_the_same(
    told: Path, expected: Content, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_rows, "BATCH_EVENTS", batch)
    with open_ledger(told) as ledger:
        assert content_of(ledger, catch_up(ledger.store)) == expected


def test_reading_after_each_event_gives_the_same(
    told: Path, expected: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(told) as ledger:
        head = ledger.store.head().size
        for position in range(1, head + 1):
            monkeypatch.setattr(catchup, "head_position", lambda _db, at=position: at)
            monkeypatch.setattr(model_rows, "BATCH_EVENTS", 1)
            catch_up(ledger.store)
        assert content_of(ledger, MAIN) == expected


@pytest.mark.parametrize("step", ["clear", "move_watermark"])
@pytest.mark.parametrize("nth", [1, 2, 5])
def test_killed_in_a_batch_it_goes_on_where_it_was(
    told: Path, expected: Content, step: str, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_rows, "BATCH_EVENTS", 10)
    whole = getattr(catchup, step)
    calls = 0

    def dies(*arguments: object) -> None:
        nonlocal calls
        calls += 1
        if calls == nth:
            raise Killed
        whole(*arguments)

    with open_ledger(told) as ledger, monkeypatch.context() as patch:
        patch.setattr(catchup, step, dies)
        if step == "move_watermark" or nth == 1:
            with pytest.raises(Killed):
                catch_up(ledger.store)
    with open_ledger(told) as ledger:
        assert content_of(ledger, catch_up(ledger.store)) == expected


CHILD = """
import sys
from ctxledger.ledger import Ledger
from ctxledger.ledger.caches import model_rows
from ctxledger.ledger.caches.catchup import catch_up
model_rows.BATCH_EVENTS = 2
ledger = Ledger.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
catch_up(ledger.store, wait_s=30)
print(catch_up(ledger.store).write, flush=True)
"""


def test_two_processes_at_once_do_the_work_once(told: Path, expected: Content) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, str(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        for _ in range(2)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        output, _ = child.communicate(timeout=60)
        assert output == "main.\n"
    with open_ledger(told) as ledger:
        assert content_of(ledger, MAIN) == expected


def test_a_reader_that_cannot_write_answers_what_a_writer_would(
    told: Path, expected: Content
) -> None:
    with open_ledger(told, "read") as ledger:
        models = catch_up(ledger.store)
        assert models == ALONE
        assert content_of(ledger, models) == expected
        assert catch_up(ledger.store) == ALONE


def test_a_reader_keeps_only_what_is_missing_in_the_file(told: Path) -> None:
    with open_ledger(told) as writer, open_ledger(told, "read") as reader:
        assert catch_up(writer.store) == MAIN
        assert catch_up(reader.store) == MAIN
        Story(writer, "later").say("a zebra")
        models = catch_up(reader.store)
        assert models == LATE
        assert reader.db.row("SELECT count(*) FROM temp.late_touches") == (1,)
        assert [hit.snippet for hit in search(reader, "zebra")] == ["a zebra"]
        assert session_rows(reader.store)[-1].title == "a zebra"
        Story(writer, "last").say("a second zebra")
        catch_up(writer.store)
        Story(writer, "end").say("a third zebra")
        assert len(search(reader, "zebra")) == 3
        assert len(session_rows(reader.store)) == 6
        catch_up(writer.store)
        assert catch_up(reader.store) == MAIN
        assert reader.db.row("SELECT count(*) FROM sqlite_temp_master") == (0,)


def test_a_reader_met_by_a_moving_file_gives_nothing_twice(told: Path) -> None:
    with open_ledger(told) as writer, open_ledger(told, "read") as reader:
        catch_up(writer.store)
        story = Story(writer, "later")
        story.say("a zebra")
        models = catch_up(reader.store)
        expected = content_of(writer, catch_up(writer.store))
        touches = f"SELECT DISTINCT * FROM {models.touches}"
        assert sorted(reader.db.rows(touches)) == expected["touches"]
        assert len(list(reader.db.rows(f"SELECT id FROM {models.rows}"))) == len(expected["rows"])


def test_a_locked_file_is_read_from_temporary_tables(told: Path, expected: Content) -> None:
    holder = sqlite3.connect(told, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with open_ledger(told) as ledger:
        models = catch_up(ledger.store, wait_s=0.01)
        assert models == ALONE
        assert content_of(ledger, models) == expected
        holder.execute("ROLLBACK")
        holder.close()
        assert catch_up(ledger.store) == MAIN
        assert content_of(ledger, MAIN) == expected
        assert ledger.db.row("SELECT count(*) FROM sqlite_temp_master") == (0,)


def test_inside_a_transaction_its_own_events_are_seen_and_forgotten_with_it(told: Path) -> None:
    with open_ledger(told) as ledger:
        catch_up(ledger.store)
        draft = OpenSession(session="later", format="test", title="a zebra")

        def fail_inside() -> None:
            with ledger.store.transaction():
                ledger.writer.write(draft)
                assert session_rows(ledger.store)[-1].title == "a zebra"
                raise Killed

        with pytest.raises(Killed):
            fail_inside()
        assert "later" not in {row.name for row in session_rows(ledger.store)}
        Story(ledger, "other").say("a zebra")
        assert search(ledger, "zebra")[0].session == "other"
