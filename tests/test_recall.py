"""Search: what was ever in a window is found, with where it is now."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.content import Block, to_json
from ctxledger.ledger.errors import BadInput
from ctxledger.ledger.finding.recall import Hit, search
from ctxledger.ledger.importing import import_file

from .story import Story, open_ledger

FIXTURE = Path(__file__).parent / "fixtures" / "claude-code-interrupts.jsonl"


def found(ledger: Ledger, query: str) -> list[str]:
    return [hit.item for hit in search(ledger, query)]


def test_words_must_all_occur_in_any_order_and_case() -> None:
    story = Story(open_ledger())
    both = story.say("Never touch the Production database.")
    story.say("A database of stars.")
    assert found(story.ledger, "DATABASE production") == [both]
    assert found(story.ledger, "database nothing") == []


def test_quotes_keep_words_together_and_a_star_finds_beginnings() -> None:
    story = Story(open_ledger())
    together = story.say("use the main branch instead")
    story.say("the branch is not main")
    assert found(story.ledger, '"main branch"') == [together]
    assert found(story.ledger, '"main bra"') == []
    assert found(story.ledger, '"main bra"*') == [together]
    assert found(story.ledger, "inst*") == [together]
    assert found(story.ledger, "inst") == []


@pytest.mark.parametrize(
    "query",
    ['foo"', "NEAR(a b)", "a AND", "text:a", "^a", "a*b", "-a", "()", "a\0", "\ud800", "OR"],
)
def test_signs_of_the_index_language_are_only_signs(query: str) -> None:
    story = Story(open_ledger())
    story.say("unrelated words")
    assert search(story.ledger, query) == []


def test_signs_without_words_are_found_by_reading() -> None:
    story = Story(open_ledger())
    arrow = story.say("a -> b")
    story.say("a b")
    assert found(story.ledger, "->") == [arrow]
    assert found(story.ledger, "-> b") == [arrow]


@pytest.mark.parametrize("query", ["", '  "" ', '"', "\0"])
def test_an_empty_query_is_refused(query: str) -> None:
    with pytest.raises(BadInput, match="nothing to search"):
        search(open_ledger(), query)


def test_hostile_texts_can_be_searched_for(hostile_text: str) -> None:
    story = Story(open_ledger())
    item = story.say(f"before {hostile_text} after")
    (hit,) = search(story.ledger, "before after")
    assert hit.item == item
    assert len(hit.snippet) <= 120
    search(story.ledger, hostile_text[:300])


def test_a_hit_says_where_its_item_is_now() -> None:
    story = Story(open_ledger())
    gone = story.say("zebra one")
    evicted = story.say("zebra two")
    story.compact("They met animals.", keep=())
    there = story.say("zebra three")
    story.evict(there, "[gone]")
    here = story.say("zebra four", role="assistant")
    hits = {hit.item: hit for hit in search(story.ledger, "zebra")}
    assert {i: (h.in_window, h.left_by) for i, h in hits.items()} == {
        gone: (False, "c1"),
        evicted: (False, "c1"),
        there: (False, "e1"),
        here: (True, ""),
    }
    assert hits[here] == Hit(
        session="story",
        item=here,
        version=int(here.split(".")[0]),
        in_window=True,
        left_by="",
        snippet="zebra four",
        matches=((0, 5),),
        score=hits[here].score,
        role="assistant",
        type="text",
    )
    story.session.rollback("c1")
    assert all(h.in_window for h in search(story.ledger, '"zebra one"'))


def test_the_best_hit_comes_first_and_pages_do_not_overlap() -> None:
    story = Story(open_ledger())
    for number in range(30):
        story.say(f"filler {number} " * (number + 1) + "zebra")
    best = story.say("zebra zebra")
    every = search(story.ledger, "zebra")
    assert every[0].item == best
    assert [h.score for h in every] == sorted((h.score for h in every), reverse=True)
    pages = [search(story.ledger, "zebra", limit=10, offset=at) for at in (0, 10, 20, 30)]
    assert [hit for page in pages for hit in page] == every
    assert len(every) == 31


def test_a_search_can_keep_to_one_session_and_a_fork_sees_its_parents_past() -> None:
    ledger = open_ledger()
    parent = Story(ledger, "parent")
    shared = parent.say("a zebra in the beginning", message="m-1")
    Story(ledger, "other").say("a zebra elsewhere")
    fork = Story(ledger, "fork", relation="fork", parent="parent", parent_message="m-1")
    fork.compact("They met an animal.")
    later = parent.say("a zebra later")
    own = fork.say("a zebra in the fork")

    def items(story: Story) -> set[str]:
        return {h.item for h in search(ledger, "zebra", session=story.session.id)}

    assert items(parent) == {shared, later}
    assert items(fork) == {shared, own}
    hits = search(ledger, "beginning", session=fork.session.id)
    assert [(h.session, h.left_by) for h in hits] == [("fork", "c1")]
    assert [(h.session, h.in_window) for h in search(ledger, "beginning")] == [("parent", True)]


def test_a_text_used_twice_is_a_hit_for_each_item() -> None:
    story = Story(open_ledger())
    text = "zebra " + "x" * 2000
    items = {story.say(text), story.say(text)}
    assert set(found(story.ledger, "zebra")) == items
    assert story.ledger.db.row("SELECT count(*) FROM search_docsize") == (1,)


def test_calls_and_results_are_searched_without_their_json() -> None:
    story = Story(open_ledger())
    value = to_json({"command": "cat a.txt\nrm b.txt", "port": 5432})
    call = story.put(
        Block(type="tool_use", text=value, is_json=True, tool_id="t1"), role="assistant"
    )
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAzz"},
    }
    parts = to_json([{"type": "text", "text": "removed\nb.txt"}, picture])
    result = story.put(Block(type="tool_result", text=parts, is_json=True, tool_id="t1"))
    assert found(story.ledger, '"cat a.txt rm"') == [call]
    assert found(story.ledger, "5432") == [call]
    assert found(story.ledger, "removed") == [result]
    assert found(story.ledger, "AAzz") == []
    assert search(story.ledger, "rm")[0].snippet == "cat a.txt rm b.txt 5432"


def test_long_texts_are_searched_to_their_end() -> None:
    story = Story(open_ledger())
    item = story.say("word " * 500_000 + "zebra" + " word" * 10_000)
    (hit,) = search(story.ledger, "zebra")
    assert (hit.item, hit.snippet[hit.matches[0][0] : hit.matches[0][1]]) == (item, "zebra")


def chinese_texts(count: int) -> list[str]:
    """Mixed texts with punctuation, Latin words, digits and line ends between the characters."""
    chance = random.Random(7)
    han = [chr(code) for code in range(0x4E00, 0x4E00 + 120)]
    signs = ["，", "。", " ", "\n", "sqlite", "v2", "（", "）", "-", "/"]
    return [
        "".join(
            chance.choice(signs) if chance.random() < 0.15 else chance.choice(han)
            for _ in range(chance.randint(1, 60))
        )
        for _ in range(count)
    ]


def test_any_one_two_or_more_chinese_characters_are_found_exactly() -> None:
    story = Story(open_ledger())
    texts = {story.say(text): text for text in chinese_texts(400)}
    chance = random.Random(11)
    asked = 0
    for text in chance.sample(sorted(texts.values()), 120):
        for length in (1, 2, 3, 5):
            at = chance.randrange(max(1, len(text) - length))
            needle = text[at : at + length]
            if not all("\u4e00" <= sign <= "\u9fff" for sign in needle):
                continue
            asked += 1
            hits = {h.item for h in search(story.ledger, needle, limit=1000)}
            assert hits == {item for item, other in texts.items() if needle in other}, needle
    assert asked > 200


def test_chinese_and_latin_words_mix() -> None:
    story = Story(open_ledger())
    item = story.say("不要碰生产数据库，使用sqlite数据库。")
    story.say("生产，数据的库")
    for query in (
        "生产数据库",
        "sqlite数据",
        "碰生",
        "使用sqlite",
        '"使用sqlite数"',
        "sqlite 生产",
    ):
        assert found(story.ledger, query) == [item], query


def test_redacted_contents_are_not_found() -> None:
    story = Story(open_ledger())
    item = story.say("the secret zebra")
    assert found(story.ledger, "zebra") == [item]
    story.ledger.db.execute("UPDATE bodies SET data = NULL, salt = NULL, lookup = NULL")
    assert found(story.ledger, "zebra") == []


def test_words_of_a_recording_are_found_wherever_they_stand() -> None:
    ledger = open_ledger()
    import_file(ledger, FIXTURE)
    session = ledger.find("@")
    view = session.window()
    checked = 0
    for entry in view.entries:
        if entry.type != "text" or len(entry.text) < 40:
            continue
        words = " ".join(entry.text.split()[:6]).replace('"', " ")
        checked += 1
        assert entry.item in found(ledger, f'"{words}"'), words
    assert checked >= 5
    assert json.dumps([hit.snippet for hit in search(ledger, "the")])
