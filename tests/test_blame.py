"""Blame: when an item entered, what took it away, what stands for it, how to put it back."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from ctxledger.ledger.caches.catchup import catch_up
from ctxledger.ledger.caches.touching import shows_own_words
from ctxledger.ledger.content import Block, to_json
from ctxledger.ledger.errors import BadInput, UnknownReference
from ctxledger.ledger.finding.recall import Life, blame_item, blame_text
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.session import Session

from .story import Story, open_ledger


def only_life(story: Story, item: str) -> Life:
    (life,) = blame_item(story.session, item)
    return life


def check_put_back(session: Session, life: Life) -> None:
    """The command brings the item's own words back into the window."""
    program, command, name, *handles = shlex.split(life.put_back)
    assert (program, command, name) == ("ctxledger", "rollback", session.name)
    if handles[0] == "--to":
        session.rollback(to=handles[1])
    else:
        session.rollback(*handles)
    visible = {e.item_id for e in session.structure().entries if shows_own_words(e)}
    assert life.item in visible, life


def test_an_item_in_the_window_has_one_life() -> None:
    story = Story(open_ledger())
    item = story.say("Never touch production.")
    life = only_life(story, item)
    assert (life.entered, life.by, life.left, life.left_by) == (2, "message", None, "")
    assert (life.in_window, life.form, life.put_back, life.brief) == (True, "verbatim", "", "")
    assert life.tokens == story.session.window().tokens


def test_a_compacted_item_says_what_stands_for_it_and_how_to_undo() -> None:
    story = Story(open_ledger())
    item = story.say("Never touch production.")
    brief = story.compact("Be careful.")
    story.call("call-1", 61_595)
    life = only_life(story, item)
    assert (life.left, life.left_by, life.brief) == (3, "c1", brief)
    assert (life.in_window, life.form) == (False, "")
    assert life.put_back == "ctxledger rollback story c1"
    assert life.why == "compaction by agent, trigger auto, 174,247 -> 61,595 tokens (provider)"
    check_put_back(story.session, life)


def test_a_brief_is_an_item_too() -> None:
    story = Story(open_ledger())
    story.say("one")
    life = only_life(story, story.compact("Be careful."))
    assert (life.by, life.form, life.in_window) == ("c1", "brief", True)


def test_a_later_compaction_is_undone_too_and_its_brief_stands() -> None:
    story = Story(open_ledger())
    item = story.say("one")
    story.compact("first brief")
    story.say("two")
    last = story.compact("second brief")
    life = only_life(story, item)
    assert (life.left_by, life.brief) == ("c1", last)
    assert life.put_back == "ctxledger rollback story c1 c2"
    check_put_back(story.session, life)


def test_a_placeholder_that_was_compacted_takes_two_undos() -> None:
    story = Story(open_ledger())
    item = story.put(Block(type="tool_result", text="a long result", origin="tool"))
    story.evict(item, "[old result]")
    life = only_life(story, item)
    assert (life.left_by, life.form, life.in_window) == ("e1", "placeholder", False)
    assert life.put_back == "ctxledger rollback story e1"
    assert life.why == "eviction by agent"
    brief = story.compact("first brief")
    life = only_life(story, item)
    assert (life.left_by, life.form, life.brief) == ("e1", "", brief)
    assert life.put_back == "ctxledger rollback story e1 c1"
    check_put_back(story.session, life)


def test_a_rewind_is_named_by_its_version() -> None:
    story = Story(open_ledger())
    story.say("one", message="m-1")
    item = story.say("two", message="m-2")
    story.rewind("m-1")
    life = only_life(story, item)
    assert (life.left, life.left_by) == (4, "rewind at 4")
    assert life.why == "window rewritten: rewind, inferred"
    check_put_back(story.session, life)


def test_coming_back_begins_another_life() -> None:
    story = Story(open_ledger())
    item = story.say("one")
    story.compact("a brief")
    story.session.rollback("c1", reason="it dropped a rule")
    first, second = blame_item(story.session, item)
    assert (first.left_by, first.in_window, first.put_back) == ("c1", False, "")
    assert (second.entered, second.by, second.in_window) == (4, "r1", True)
    story.session.rollback("r1")
    first, second = blame_item(story.session, item)
    assert (second.left_by, second.in_window) == ("r2", False)
    assert second.why == "roll-back"
    check_put_back(story.session, second)


def test_an_agent_that_went_on_with_its_own_window_is_told() -> None:
    story = Story(open_ledger())
    item = story.say("one")
    story.compact("a brief")
    story.session.rollback("c1")
    story.say("the agent goes on")
    *_, last = blame_item(story.session, item)
    assert last.left_by == "restore at 5"
    check_put_back(story.session, last)


def test_a_reinjected_item_lives_again() -> None:
    story = Story(open_ledger())
    item = story.say("one")
    story.evict(item)
    story.reinject(item)
    first, second = blame_item(story.session, item)
    assert (first.left_by, second.by) == ("e1", "re-injection at 4")
    assert (second.form, second.in_window) == ("reinjected", True)


def test_a_text_that_only_stood_in_has_no_life() -> None:
    story = Story(open_ledger())
    story.evict(story.say("one"), "[gone]")
    life = only_life(story, "3.0")
    assert (life.entered, life.left, life.in_window, life.put_back) == (0, None, False, "")


def test_a_fork_tells_the_life_from_its_own_side() -> None:
    ledger = open_ledger()
    parent = Story(ledger, "parent")
    item = parent.say("one", message="m-1")
    fork = Story(ledger, "fork", relation="fork", parent="parent", parent_message="m-1")
    fork.compact("a brief")
    parent.evict(item)
    assert [life.left_by for life in blame_item(fork.session, item)] == ["c1"]
    assert [life.left_by for life in blame_item(parent.session, item)] == ["e1"]


@pytest.mark.parametrize("item", ["3.7", "99.0", "1.0", "x", "", "c1", "2"])
def test_no_such_item_names_the_nearest(item: str) -> None:
    story = Story(open_ledger())
    story.say("one")
    story.say("two")
    with pytest.raises(UnknownReference, match="There is no item") as caught:
        blame_item(story.session, item)
    assert set(caught.value.nearest) <= {"2.0", "3.0"}
    assert caught.value.nearest
    assert caught.value.exit_code == 2


def test_blame_finds_items_by_any_piece_of_their_text() -> None:
    story = Story(open_ledger())
    text = 'Never touch "production"\nor /etc/passwd -> 数据库回滚。'
    item = story.say(text)
    story.say("something else entirely")
    for start in range(len(text)):
        for length in (2, 3, 7, 20):
            piece = text[start : start + length]
            items = {life.item for life in blame_text(story.session, piece)}
            assert item in items, piece


def test_blame_finds_pieces_of_calls_as_json_and_as_words() -> None:
    story = Story(open_ledger())
    value = to_json({"command": "cat a.txt\nrm -rf build", "timeout": 5})
    item = story.put(Block(type="tool_use", text=value, is_json=True), role="assistant")
    for piece in ("rm -rf build", "cat a.txt\nrm -rf", '"command":"cat', "\\nrm -rf", "timeout"):
        assert [life.item for life in blame_text(story.session, piece)] == [item], piece


def test_blame_by_text_is_exact_and_keeps_to_the_session() -> None:
    ledger = open_ledger()
    story = Story(ledger)
    story.say("Never touch production.")
    Story(ledger, "other").say("Only here is a zebra.")
    for piece in ("never touch production", "a zebra", "Never  touch"):
        with pytest.raises(UnknownReference, match="holds this text"):
            blame_text(story.session, piece)
    with pytest.raises(BadInput, match="no text"):
        blame_text(story.session, "")


def test_blame_by_a_text_that_everything_holds_is_refused() -> None:
    story = Story(open_ledger())
    for number in range(210):
        story.say(f"message {number}")
    with pytest.raises(BadInput, match="More than 200"):
        blame_text(story.session, "message ")


def test_every_item_that_a_recording_lost_can_be_put_back(recordings: Path, tmp_path: Path) -> None:
    for name, least in (("auto-compaction", 100), ("growing-at-line-257", 9), ("rewind", 1)):
        path = tmp_path / f"{name}.db"
        with open_ledger(path) as ledger:
            import_file(ledger, recordings / "claude-code" / f"{name}.jsonl")
            session = ledger.find("@")
            gone = lost_items(session)
            assert len(gone) >= least
            lives = [blame_item(session, item)[-1] for item in gone]
        commands = {life.put_back: life for life in lives}
        for number, life in enumerate(commands.values()):
            copy = tmp_path / f"{name}-{number}.db"
            copy.write_bytes(path.read_bytes())
            with open_ledger(copy) as ledger:
                check_put_back(ledger.find("@"), life)


def lost_items(session: Session) -> list[str]:
    """Items that were in the window once and whose words are not there now."""
    catch_up(session.store)
    ever = {
        f"{version}.{place}"
        for version, place in session.store.db.rows(
            "SELECT item_version, item_place FROM touches WHERE session = ? AND what = 1",
            (session.id,),
        )
    }
    return sorted(ever - {e.item_id for e in session.structure().entries if shows_own_words(e)})
