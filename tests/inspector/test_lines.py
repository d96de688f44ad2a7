"""Lines as plain data: widths, bars, wrapping, rows of the timeline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxledger.inspector.describe import KINDS, TimelineRow, row_of
from ctxledger.inspector.lines import (
    Span,
    clock,
    count_of,
    fill_bar,
    left,
    right,
    size,
    text_of,
    width_of,
    wrapped,
)
from ctxledger.inspector.text import TextLines
from ctxledger.inspector.widgets.timeline import TimelineLines, timeline_line
from ctxledger.ledger import events as ev
from ctxledger.ledger.drafts import Usage
from ctxledger.ledger.event_codec import type_of
from ctxledger.ledger.events import Delta, StoredBlock, StoredMessage, Tokens
from ctxledger.ledger.plaintext import cell_width

WIDTHS = (1, 20, 43, 60, 80, 200)
ANY_TEXT = st.text(st.characters() | st.sampled_from("\x1b\x9b中\u202e🙂\n\t "), max_size=60)


@given(ANY_TEXT, st.integers(0, 40))
def test_columns_have_exactly_their_width(text: str, cells: int) -> None:
    assert cell_width(left(text, cells)) == cells
    assert cell_width(right(text, cells)) == cells


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=11), st.integers(0, 200))
def test_a_bar_is_never_longer_than_its_place(amounts: list[int], cells: int) -> None:
    shares = fill_bar([(n, str(i)) for i, n in enumerate(amounts)], sum(amounts), cells)
    assert sum(n for _, n in shares) <= cells
    if sum(amounts) and cells >= 2 * len(amounts):
        assert sum(n for _, n in shares) == cells
        assert all(n > 0 for (_, n), amount in zip(shares, amounts, strict=True) if amount)


def test_a_bar_against_a_limit_leaves_the_rest_free() -> None:
    assert fill_bar([(25, "a"), (25, "b")], 200, 40) == [("a", 5), ("b", 5)]
    assert fill_bar([(1, "a")], 0, 40) == []


@given(ANY_TEXT, st.integers(1, 30))
def test_long_texts_wrap_without_losing_words(text: str, width: int) -> None:
    lines = TextLines(text)
    shown = [text_of(lines.line(i, width)) for i in range(lines.count(width))]
    # A wide character in one cell is the only thing that cannot fit.
    assert all(cell_width(line.rstrip(" ")) <= max(2, width) for line in shown)
    joined = "".join(shown).replace(" ", "")
    assert joined == lines.words.replace("\n", "").replace(" ", "")


def test_a_megabyte_on_one_line_wraps_at_once() -> None:
    lines = TextLines("x" * 1_000_000)
    assert lines.count(80) == 12_500
    assert text_of(lines.line(12_499, 80)) == "x" * 80


def test_short_texts_wrap_at_spaces() -> None:
    assert [text_of(line) for line in wrapped("one two three", 8)] == ["one two", "three"]
    assert [text_of(line) for line in wrapped("abcdefgh", 3)] == ["abc", "def", "gh"]
    assert [text_of(line) for line in wrapped("", 3)] == [""]


def test_numbers_for_people() -> None:
    assert [size(n) for n in (7, 1_200, 3_400_000)] == ["7 B", "1.2 kB", "3.4 MB"]
    assert [count_of(n, "item") for n in (0, 1, 2_000)] == ["0 items", "1 item", "2,000 items"]
    assert [clock(n) for n in (None, 0, 10**30)] == ["", "00:00:00", "?"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_fills_its_width(kind: str, width: int) -> None:
    row = TimelineRow(
        version=42, kind=kind, handle="c1", at_ms=0, summary="中 [b]" * 99, amount="9 t"
    )
    line = timeline_line(row, width, 9)
    assert width_of(line) == width or width < 40
    assert KINDS[kind].mark in text_of(line)


def test_marks_and_words_tell_the_kinds_apart_without_colour() -> None:
    assert len({(kind.mark, kind.word) for kind in KINDS.values()}) == len(KINDS)


def test_pages_are_read_once_and_only_when_seen() -> None:
    asked = []

    def rows(first: int, last: int) -> list[TimelineRow]:
        asked.append((first, last))
        return [TimelineRow(version=v, kind="human", summary="") for v in range(first, last + 1)]

    lines = TimelineLines(rows, 100)
    assert lines.count(80) == 100
    assert [lines.row(i).version for i in (0, 63, 64, 99, 1)] == [1, 64, 65, 100, 2]
    assert asked == [(1, 64), (65, 100)]


def stored(**fields: object) -> StoredBlock:
    return StoredBlock(**{"type": "text", "body": b"k", "size": 9, "origin": "human", **fields})  # type: ignore[arg-type]


def message(*blocks: StoredBlock) -> tuple[StoredMessage, ...]:
    return (StoredMessage("m1", "user", blocks),)


EVENTS: list[tuple[ev.AnyEvent, str, str, str]] = [
    (ev.SessionOpened(name="s", format="native", coverage="exact"), "session", "", "exact"),
    (ev.SystemSet(messages=message(stored()), delta=Delta()), "system", "", "1 block"),
    (ev.ToolsSet(messages=message(stored(tool_name="Bash")), delta=Delta()), "tools", "", "Bash"),
    (ev.MessageAppended(messages=message(stored()), delta=Delta()), "human", "", "words"),
    (ev.MessageExtended(messages=message(stored(origin="tool", type="tool_result", is_error=True)),
                        delta=Delta()), "failed_tool", "", "error: words"),
    (ev.MessageAppended(messages=message(stored(type="hologram")), delta=Delta()), "human", "",
     "[hologram] words"),
    (ev.ModelCalled(number=7, call="x", model="m"), "call", "call7", "m"),
    (ev.CallCompleted(called=3, usage=Usage(input_tokens=5, output_tokens=2)), "reply", "", "2 t"),
    (ev.CallCompleted(called=3, outcome="overflow"), "failed_reply", "", "overflow"),
    (ev.ItemsEvicted(number=2, items=("3.0",), rule="old", delta=Delta(),
                     tokens=Tokens(9, "x")), "evict", "e2", "3.0"),
    (ev.WindowCompacted(number=1, sources=(), method="agent", base_version=1, outcome="imported",
                        depth=3, delta=Delta(), tokens_before=Tokens(9_000, "provider")),
     "compact", "c1", "depth 3"),
    (ev.ItemsReinjected(items=("3.0",), delta=Delta()), "reinject", "", "3.0"),
    (ev.CheckRan(subject=3, outcome="failed"), "failed_check", "", "failed"),
    (ev.RolledBack(number=1, undid=(4,), delta=Delta()), "rollback", "r1", "undid 4"),
    (ev.RolledBack(number=2, to=4, delta=Delta()), "rollback", "r2", "window of 4"),
    (ev.WindowRewritten(cause="rewind", is_inferred=True, delta=Delta()), "rewrite", "",
     "inferred"),
    (ev.CompactionProposed(number=1, base_version=1, sources=(), method="template",
                           proposed=Delta()), "proposal", "p1", "template"),
    (ev.ProposalDiscarded(proposal=1), "proposal", "", "p1 discarded"),
    (ev.StateNoted(kind="goal", text=b"k"), "note", "", "goal"),
    (ev.ItemPinned(items=("3.0",)), "note", "", "3.0"),
    (ev.ItemUnpinned(items=("3.0",)), "note", "", "3.0"),
    (ev.PhaseChanged(name=b"k"), "phase", "", "phase"),
    (ev.ItemsRecalled(query=b"k"), "recall", "", "nothing"),
    (ev.RecordQuarantined(source=1, offset=1_234, length=5, reason="not_json"), "quarantine", "",
     "not_json at byte 1,234"),
    (ev.ContentRedacted(reason="secret"), "redacted", "", "secret"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "kind", "handle", "words"), EVENTS)
def test_each_event_is_told_in_words(
    event: ev.AnyEvent, kind: str, handle: str, words: str
) -> None:
    row = row_of(5, event, lambda _: "words")
    assert (row.kind, row.handle) == (kind, handle)
    assert words in row.summary
    assert row.kind in KINDS


def test_every_event_type_is_told() -> None:
    assert {type_of(event) for event, *_ in EVENTS} == set(ev.EVENT_TYPES)


def test_an_undone_event_says_so() -> None:
    row = row_of(5, ev.ItemPinned(items=()), lambda _: "", is_undone=True)
    assert row.summary.startswith("(undone)")


def test_spans_make_lines() -> None:
    assert text_of((Span("a"), Span("b", "bad"))) == "ab"
