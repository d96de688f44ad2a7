"""Words of contents, queries and snippets, without a ledger."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxledger.ledger.caches.words import (
    Term,
    find_pattern,
    for_index,
    has_words,
    is_match,
    match_expression,
    phrase_within,
    snippet_of,
    terms_of,
    words_of,
)


def words_of_json(value: object, block_type: str = "tool_use") -> list[str]:
    return words_of(block_type, json.dumps(value), is_json=True).split("\n")


def test_a_call_gives_the_strings_and_numbers_of_its_input() -> None:
    value = {"command": "ls -la", "options": {"timeout": 60, "env": ["A=1"]}, "background": True}
    assert words_of_json(value) == ["ls -la", "60", "A=1"]


def test_pictures_and_signatures_give_no_words() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo"}
    parts = [{"type": "text", "text": "a picture:"}, {"type": "image", "source": source}]
    assert words_of_json(parts, "tool_result") == ["a picture:"]
    assert words_of("redacted_thinking", "EqQBCkYIBxgC", is_json=False) == ""
    assert words_of_json({"encrypted_content": "EqQB", "title": "page"}, "x") == ["page"]
    assert words_of_json([{"data": "not a picture"}], "tool_result") == ["not a picture"]


def test_damaged_json_is_taken_as_text() -> None:
    assert words_of("tool_use", '{"cut', is_json=True) == '{"cut'
    assert words_of("tool_use", "[" * 100_000, is_json=True) == "[" * 100_000


@pytest.mark.parametrize(
    ("text", "indexed"),
    [
        ("plain words", "plain words"),
        ("中文字", " 中文 文字 字 "),
        ("库", " 库 "),
        ("使用sqlite数据库。", " 使用 用 sqlite 数据 据库 库 。"),
        ("データベース", " デー ータ タベ ベー ース ス "),
        ("데이터", " 데이 이터 터 "),
        ("\U00020000\U00020001", " \U00020000\U00020001 \U00020001 "),
        ("lone \ud800", "lone \ufffd"),
    ],
)
def test_runs_without_spaces_become_pairs(text: str, indexed: str) -> None:
    assert for_index(text) == indexed


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("two words", (Term("two"), Term("words"))),
        ('"never touch" prod*', (Term("never touch"), Term("prod", is_prefix=True))),
        ('"open quote', (Term("open"), Term("quote"))),
        ('say"ing', (Term("say ing"),)),
        ('"" "  " x', (Term("x"),)),
        ("", ()),
        ("*", (Term("*", is_prefix=True),)),
        ("a\0b", (Term("a"), Term("b"))),
        ('"cut off"*', (Term("cut off", is_prefix=True),)),
    ],
)
def test_queries_are_words_phrases_and_beginnings(query: str, terms: tuple[Term, ...]) -> None:
    assert terms_of(query) == terms


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("auth", '"auth"'),
        ("auth OR NOT NEAR(x)", '"auth" AND "OR" AND "NOT" AND "NEAR(x)"'),
        ("text:secret ^a -b", '"text:secret" AND "^a" AND "-b"'),
        ("foo*", '"foo" *'),
        ("回滚", '" 回滚"'),
        ("库", '" 库" *'),
        ("数据库", '" 数据 据库"'),
        ("用sqlite库", '" 用 sqlite 库" *'),
        ("-> x", '"x"'),
        ("->", ""),
    ],
)
def test_no_syntax_of_the_index_passes_through(query: str, expression: str) -> None:
    assert match_expression(terms_of(query)) == expression


def test_a_hit_must_hold_the_characters_side_by_side() -> None:
    assert is_match(terms_of("数据库"), "连接数据库。")
    assert not is_match(terms_of("数据库"), "数据，据库")
    assert is_match(terms_of("-> x"), "a -> b")
    assert not is_match(terms_of("-> x"), "a x")


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("never touch prod", Term("touch")),
        ("never touch prod ", Term("touch prod ")),
        (" never touch", Term("never")),
        ("ever touching", Term("touching", is_prefix=True)),
        ("ever to", None),
        ("/src/auth.py", Term("src/auth")),
        ("auth", None),
        ("->", None),
        ("数据库回滚", Term("数据库回滚")),
        ("auth数据", None),
        ("auth 数据", Term("数据")),
        ("étude un deux", Term("un")),
    ],
)
def test_what_of_a_piece_of_text_the_index_can_be_asked_for(text: str, term: Term | None) -> None:
    assert phrase_within(text) == term


def test_combining_accents_are_never_cut_apart() -> None:
    assert phrase_within("e\u0301tude un deux") is None


def test_a_snippet_shows_the_first_match_and_where_it_is() -> None:
    text = "x " * 200 + "never TOUCH\nproduction, never" + " y" * 200
    snippet, matches = snippet_of(text, find_pattern(terms_of('"touch production" never')))
    assert len(snippet) == 120
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert [snippet[a:b] for a, b in matches] == ["never", "TOUCH production", "never"]


def test_a_short_text_is_its_own_snippet() -> None:
    assert snippet_of("a\tb\r\nc", find_pattern(terms_of("b"))) == ("a b  c", ((2, 3),))
    assert snippet_of("nothing here", find_pattern(terms_of("else"))) == ("nothing here", ())


def test_only_whole_words_are_marked_unless_a_beginning_was_asked_for() -> None:
    text = "author auth oauth 数据库"
    for query, marked in (("auth", ["auth"]), ("auth*", ["author", "auth"]), ("据", ["据"])):
        snippet, matches = snippet_of(text, find_pattern(terms_of(query)))
        assert [snippet[a:b] for a, b in matches] == marked


@given(st.text(max_size=300), st.text(max_size=20))
def test_snippets_of_any_text_keep_their_promises(text: str, query: str) -> None:
    snippet, matches = snippet_of(text, find_pattern(terms_of(query)))
    assert len(snippet) <= 120
    assert not re.search(r"[\n\r\t]", snippet)
    assert all(0 <= a < b <= len(snippet) for a, b in matches)


@given(st.text())
def test_any_query_gives_an_expression_if_it_has_words(query: str) -> None:
    assert bool(match_expression(terms_of(query))) == any(
        has_words(t.text) for t in terms_of(query)
    )
