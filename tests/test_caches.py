"""Caches that were lost, damaged or thrown away: everything is as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.caches import catchup, model_rows
from ctxledger.ledger.caches.catchup import catch_up, rebuild
from ctxledger.ledger.caches.read_models import MAIN, TABLES
from ctxledger.ledger.finding.catalogue import session_rows
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


@pytest.mark.parametrize("mode", ["write", "read"])
@pytest.mark.parametrize("name", [t for t in TABLES if t != "session_rows"])
def test_a_lost_table_is_made_anew(told: Path, expected: Content, name: str, mode: str) -> None:
    with open_ledger(told) as ledger:
        catch_up(ledger.store)
        ledger.db.execute(f"DROP TABLE {name}")
    with open_ledger(told, mode) as ledger:
        assert content_of(ledger, catch_up(ledger.store)) == expected


DAMAGES = (
    "DROP TABLE search_config",
    "DROP TABLE search_data",
    "DELETE FROM search_data",
    "DELETE FROM search_config",
    "UPDATE search_data SET block = x'ffffffffffff'",
    "DROP TABLE search_docsize",
)


@pytest.mark.parametrize("mode", ["write", "read"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_never_the_end_of_searching(told: Path, damage: str, mode: str) -> None:
    with open_ledger(told) as ledger:
        expected = [(hit.session, hit.item) for hit in search(ledger, "auth")]
        assert len(expected) >= 2
        ledger.db.execute(damage)
    with open_ledger(told, mode) as ledger:
        assert [(hit.session, hit.item) for hit in search(ledger, "auth")] == expected
        assert [(hit.session, hit.item) for hit in search(ledger, "auth")] == expected
    with open_ledger(told) as ledger:
        rebuild(ledger.store)
        assert catch_up(ledger.store) == MAIN
        assert [(hit.session, hit.item) for hit in search(ledger, "auth")] == expected


def digests(ledger: Ledger) -> dict[tuple[int, int], str]:
    """The window of each session at each version."""
    return {
        (session, version): ledger.store.window(session, version).digest()
        for session, _ in ledger.store.session_names()
        for version in range(1, ledger.store.head_version(session) + 1)
    }


def snapshots(ledger: Ledger) -> list[tuple[object, ...]]:
    return list(ledger.db.rows("SELECT session, version FROM snapshots ORDER BY 1, 2"))


def check_rebuild(ledger: Ledger) -> None:
    windows, saved = digests(ledger), snapshots(ledger)
    content = content_of(ledger, catch_up(ledger.store))
    names = ledger.store.session_names()
    assert rebuild(ledger.store) == ledger.store.head().size
    assert digests(ledger) == windows
    assert snapshots(ledger) == saved
    assert content_of(ledger, MAIN) == content
    assert ledger.store.session_names() == names


def test_everything_is_equal_after_rebuild(told: Path) -> None:
    with open_ledger(told) as ledger:
        story = Story(ledger, "long")
        for number in range(150):
            story.say(f"message {number}")
        assert len(snapshots(ledger)) >= 3
        check_rebuild(ledger)


def test_recordings_are_equal_after_rebuild(recordings: Path) -> None:
    ledger = open_ledger()
    for name in ("auto-compaction", "rewind"):
        import_file(ledger, recordings / "claude-code" / f"{name}.jsonl")
    ledger.find(session_rows(ledger.store)[0].name).rollback("c1")
    check_rebuild(ledger)


def test_rebuild_that_is_killed_leaves_everything_as_it_was(
    told: Path, expected: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> None:
        raise Killed

    with open_ledger(told) as ledger:
        catch_up(ledger.store)
        with monkeypatch.context() as patch:
            patch.setattr(catchup, "_rebuild_snapshots", dies)
            with pytest.raises(Killed):
                rebuild(ledger.store)
        assert content_of(ledger, MAIN) == expected


def test_rebuild_forgets_rows_of_a_changed_program(
    told: Path, expected: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(told) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr("ctxledger.ledger.caches.read_models.MODEL", "read models 0")
            patch.setattr(model_rows, "words_of", lambda *_, **__: "other words")
            catch_up(ledger.store)
        assert content_of(ledger, catch_up(ledger.store)) == expected
