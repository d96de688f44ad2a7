"""Events and windows out of thin air, for property tests."""

from __future__ import annotations

import types
import typing
from functools import cache
from typing import Any, Literal

import msgspec
from hypothesis import strategies as st

from ctxledger.ledger import events
from ctxledger.ledger.events import EVENT_TYPES, AnyEvent
from ctxledger.ledger.window import Entry

NUMBERS = st.integers(min_value=-(2**63), max_value=2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of an annotation as it occurs in events."""
    if kind in (int, str, bool, bytes, type(None)):
        simple = {int: NUMBERS, str: TEXTS, bool: st.booleans(), bytes: st.binary(max_size=16)}
        return simple.get(kind, st.none())
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (types.UnionType, typing.Union):
        return st.one_of([values_of(argument) for argument in arguments])
    if origin is tuple:
        if arguments[-1] is ...:
            return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
        return st.tuples(*[values_of(argument) for argument in arguments])
    assert issubclass(kind, msgspec.Struct), kind
    return structs(kind)


@cache
def structs(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Instances of a struct with any values in its fields."""
    hints = typing.get_type_hints(kind, vars(events))
    names = [field.name for field in msgspec.structs.fields(kind)]
    return st.deferred(lambda: st.builds(kind, **{name: values_of(hints[name]) for name in names}))


def any_event() -> st.SearchStrategy[AnyEvent]:
    return st.one_of([structs(kind) for kind in EVENT_TYPES.values()])


KEYS = [f"{version}.{index}" for version in range(1, 6) for index in range(3)]
FORMS = ("verbatim", "placeholder", "brief", "reinjected")


@st.composite
def windows(draw: st.DrawFn) -> tuple[Entry, ...]:
    """Entries with distinct keys, in any order and form."""
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=12))
    return tuple(
        Entry(
            key,
            draw(st.sampled_from(FORMS)),
            draw(st.sampled_from(("", "1.0", "9.9"))),
            draw(st.sampled_from(("", "", "8.0"))),
        )
        if draw(st.booleans())
        else Entry(key)
        for key in keys
    )
