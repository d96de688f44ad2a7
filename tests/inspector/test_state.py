"""Where the person is: moving, jumping, growing."""

from __future__ import annotations

import pytest

from ctxledger.inspector.state import (
    ViewState,
    grown,
    next_of,
    open_session,
    place_in_words,
    select,
    to_compaction,
    to_hit,
    toggle_view,
    with_hits,
)

EMPTY = ViewState()


def opened(head: int = 100, compactions: tuple[int, ...] = (20, 60)) -> ViewState:
    return open_session(EMPTY, session=1, name="s", head=head, compactions=compactions)


def test_a_session_opens_at_its_newest_version() -> None:
    assert opened().selected == 100


def test_the_chosen_view_stays_when_another_session_is_opened() -> None:
    effective = toggle_view(opened())
    again = open_session(effective, session=2, name="t", head=5, compactions=())
    assert (again.view, again.selected, again.hits) == ("effective", 5, ())


@pytest.mark.parametrize(("wanted", "got"), [(-3, 1), (0, 1), (1, 1), (50, 50), (101, 100)])
def test_selecting_stays_inside(wanted: int, got: int) -> None:
    assert select(opened(), wanted).selected == got


def test_without_events_nothing_is_selected() -> None:
    assert select(EMPTY, 5) == EMPTY


@pytest.mark.parametrize(
    ("selected", "direction", "found"),
    [(1, 1, 20), (20, 1, 60), (60, 1, None), (20, -1, None), (21, -1, 20), (100, -1, 60)],
)
def test_the_next_of_some_versions(selected: int, direction: int, found: int | None) -> None:
    assert next_of((20, 60), selected, direction) == found


def test_jumping_to_compactions_ends_at_the_last_one() -> None:
    at_second = to_compaction(opened(), -1)
    assert (at_second.selected, place_in_words(at_second)) == (60, "version 60 of 100 (c2)")
    assert to_compaction(at_second, 1) is at_second
    assert to_compaction(to_compaction(at_second, -1), -1).selected == 20


def test_hits_go_round() -> None:
    state = with_hits(select(opened(), 50), "needle", [70, 30, 70])
    assert state.hits == (30, 70)
    assert to_hit(state, 1).selected == 70
    assert to_hit(to_hit(state, 1), 1).selected == 30
    assert to_hit(to_hit(state, -1), -1).selected == 70
    assert to_hit(opened(), 1) == opened()


def test_growing_keeps_the_place_but_follows_the_end() -> None:
    assert grown(select(opened(), 7), head=120, compactions=(20, 60)).selected == 7
    at_end = grown(opened(), head=120, compactions=(20, 60, 110))
    assert (at_end.selected, at_end.compactions) == (120, (20, 60, 110))
    assert at_end.generation > opened().generation


def test_the_view_toggles() -> None:
    assert toggle_view(toggle_view(opened())) == opened()
    assert toggle_view(opened()).view == "effective"
