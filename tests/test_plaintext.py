"""Recorded text on a terminal: what acts becomes visible, what prints stays."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ctxledger.ledger.plaintext import ELLIPSIS, cell_width, cut, one_line, plain

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
# Texts rich in the characters that matter, so that sequences of them occur.
TRICKY_TEXT = st.text(
    st.sampled_from("a0# \n\t\x1b\x9b\x7f\u200b\u200c\u200d\ufe0f\ufe0e\u20e3\u202e\u2028\ufeff")
    | st.sampled_from("\u2764\U0001f468\U0001f3fd\u4e2d\u0645\u0915\u0301\ud800\U000e0041\uffff"),
    max_size=30,
)


def has_effect(character: str) -> bool:
    """True for what must never reach a terminal, by Unicode category."""
    return character not in "\n\t\u200c\u200d" and (
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(character) in ("LRE", "RLE", "LRO", "RLO", "PDF")
        or unicodedata.bidirectional(character) in ("LRI", "RLI", "FSI", "PDI", "BN")
        or 0xE0000 <= ord(character) <= 0xE0FFF
        or ord(character) & 0xFFFE == 0xFFFE
    )


@given(ANY_TEXT | TRICKY_TEXT)
def test_nothing_that_acts_is_left(text: str) -> None:
    assert [hex(ord(c)) for c in plain(text) if has_effect(c)] == []


@given(ANY_TEXT | TRICKY_TEXT, st.booleans())
def test_plain_text_is_plain_already(text: str, keep_newlines: bool) -> None:
    once = plain(text, keep_newlines=keep_newlines)
    assert plain(once, keep_newlines=keep_newlines) == once


@given(ANY_TEXT | TRICKY_TEXT)
def test_what_prints_stays_in_order(text: str) -> None:
    shown = iter(plain(text))
    assert all(c in shown for c in text if c.isprintable() and unicodedata.category(c) != "Mn")


def test_hostile_text_is_visible_and_whole(hostile_text: str) -> None:
    shown = plain(hostile_text)
    assert not any(has_effect(c) for c in shown)
    assert len(shown) >= len(hostile_text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\u241b[31mred\u241b[0m"),
        ("a\rb\bc\x07", "a\u240db\u2408c\u2407"),
        ("\x00\x7f", "\u2400\u2421"),
        ("\x9b31m", "\\x9b31m"),
        ("ok\u202etxt", "ok<U+202E>txt"),
        ("a\u200db", "a<U+200D>b"),
        ("\ud83d!", "<U+D83D>!"),
        ("\U000e0041", "<U+E0041>"),
        ("\ufffe\U0001ffff", "<U+FFFE><U+1FFFF>"),
    ],
)
def test_each_kind_has_its_visible_form(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "\u00e9 \u00fc \u4e2d stays",
        "[bold]markup is not our matter[/]",
        "family \U0001f468\u200d\U0001f469\u200d\U0001f467, heart \u2764\ufe0f, key 1\ufe0f\u20e3",
        "rainbow \U0001f3f3\ufe0f\u200d\U0001f308, thumb \U0001f44d\U0001f3fd",
        "flag \U0001f1e9\U0001f1ea, text form \u2714\ufe0e",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200d\u0937",
        "two\nlines\tand a tab",
        "decomposed e\u0301, private \ue0a0",
        "",
    ],
)
def test_other_text_is_never_changed(text: str) -> None:
    assert plain(text) == text


def test_one_line_places_show_newlines_as_pictures() -> None:
    assert plain("a\nb\tc", keep_newlines=False) == "a\u240ab\u2409c"


@given(ANY_TEXT | TRICKY_TEXT, st.integers(0, 40))
def test_one_line_fits_its_cells(text: str, cells: int) -> None:
    line = one_line(text, cells)
    assert cell_width(line) <= cells
    assert "\n" not in line
    assert not any(has_effect(c) for c in line)


def test_one_line_shortens_with_an_ellipsis_only_when_needed() -> None:
    assert one_line("  two \n words ", 9) == "two words"
    assert one_line("two words", 8) == "two wor" + ELLIPSIS
    assert one_line("\u4e2d\u6587\u5b57", 5) == "\u4e2d\u6587" + ELLIPSIS
    assert one_line("\u4e2d\u6587\u5b57", 4) == "\u4e2d" + ELLIPSIS
    assert one_line("abc", 0) == ""
    assert one_line("a" + " " * 10_000 + "b", 80).startswith("a")


@given(ANY_TEXT | TRICKY_TEXT)
def test_width_is_never_less_than_the_terminal_library_counts(text: str) -> None:
    shown = plain(text, keep_newlines=False)
    assert cell_width(shown) >= cell_len(shown)


@pytest.mark.parametrize(
    "text",
    [
        "plain ascii",
        "\u00e9\u00fc\u0416\u03a9",
        "\u4e2d\u6587\uff01\u304b\ud55c",
        "\U0001f642!",
        "e\u0301",
        "\u2764\ufe0f",
    ],
)
def test_width_of_common_text_is_what_the_terminal_library_counts(text: str) -> None:
    assert cell_width(text) == cell_len(text)


@given(ANY_TEXT | TRICKY_TEXT, st.integers(-1, 20))
def test_cut_gives_the_longest_start_that_fits(text: str, cells: int) -> None:
    start = cut(text, cells)
    assert text.startswith(start)
    assert cell_width(start) <= max(cells, 0)
    assert start == text or cell_width(text[: len(start) + 1]) > cells


def test_big_clean_text_passes_fast() -> None:
    text = "a clean line of a tool result\n" * 200_000
    started_s = time.perf_counter()
    assert plain(text) is text
    assert len(text) / (time.perf_counter() - started_s) > 100_000_000, "MB/s of clean ASCII"


def test_case_k09_01_markup_is_shown_literally(case: Callable[[str], dict[str, Any]]) -> None:
    for text in case("k09-01")["input"]["strings"]:
        assert plain(text) == text


def test_case_k09_02_no_control_reaches_the_terminal(case: Callable[[str], dict[str, Any]]) -> None:
    *hostile, harmless = case("k09-02")["input"]["strings"]
    assert plain(harmless) == harmless
    for text in hostile:
        shown = plain(text)
        assert not any(unicodedata.category(c) == "Cc" and c not in "\n\t" for c in shown)
        assert len(shown) >= len(text)
