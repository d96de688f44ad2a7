"""What is to be redacted: found credentials, a pattern, a text, or an item.

Knows nothing about how it is removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from .blocks import keys_in
from .content import from_json, to_text
from .errors import BadInput
from .events import BodyKey
from .masking import Find
from .secrets import CONTEXTUAL_KINDS, TABLE_DATE, find_secrets, may_hold_secrets
from .session import Session
from .views.contents import load_items

VALUE_CHARS_MIN = 16
"""Shorter texts are not looked for elsewhere: they stand there by chance."""


class Order(Struct, frozen=True):
    """What to find, and where."""

    reason: str
    """`secrets`, `pattern`, `text` or `item`."""
    find: Find
    rule: str = ""
    session: Session | None = None
    """Only in it and its sources; None = in the whole ledger."""
    keys: frozenset[BodyKey] = frozenset()
    """Contents that go as a whole."""
    place: tuple[int, int] = (0, 0)
    """(session, version) of an item: in its own record short texts go too."""
    own_texts: frozenset[str] = frozenset()
    """What goes from that record where it is a whole string."""
    values: set[str] = set()
    """Filled by `find`: what was told only by its surroundings, to be found elsewhere as well."""
    are_opaque_kept: bool = False
    may_find: Callable[[str], bool] | None = None
    """Tells quickly that there is nothing in a text, on any level."""

    def is_free(self, text: str) -> bool:
        """True when `find` need not be asked."""
        return self.may_find is not None and not self.may_find(text)

    def with_values(self) -> Order:
        """The same, which also finds the values that were met, wherever they stand."""
        find, literals = self.find, _literals(sorted(self.values), "secret")

        def both(text: str) -> Iterator[tuple[int, int, str]]:
            yield from find(text)
            yield from literals(text)

        return Order(
            self.reason, both, self.rule, self.session, self.keys, self.place, self.own_texts,
            self.values, self.are_opaque_kept,
        )  # fmt: skip


def _literals(values: list[str], kind: str) -> Find:
    def find(text: str) -> Iterator[tuple[int, int, str]]:
        for value in values:
            at = text.find(value)
            while at >= 0:
                yield at, at + len(value), kind
                at = text.find(value, at + len(value))

    return find


def order_secrets(session: Session | None = None) -> Order:
    """All credentials that the table of forms knows."""
    values: set[str] = set()

    def find(text: str) -> Iterator[tuple[int, int, str]]:
        for secret in find_secrets(text):
            value = text[secret.start : secret.end]
            if secret.kind in CONTEXTUAL_KINDS and len(value) >= VALUE_CHARS_MIN:
                values.add(value)
            yield secret.start, secret.end, secret.kind

    return Order(
        "secrets",
        find,
        f"forms-{TABLE_DATE}",
        session,
        values=values,
        are_opaque_kept=True,
        may_find=may_hold_secrets,
    )


def order_pattern(pattern: str, session: Session | None = None) -> Order:
    """Everything that a regular expression matches.

    Raises:
        BadInput: it is none, or matches the empty text.
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadInput(
            f"This is no regular expression: {error}.", "Use --text for words as they are."
        ) from error
    if compiled.fullmatch("") is not None:
        raise BadInput("The pattern matches the empty text.", "Name at least one character.")

    def find(text: str) -> Iterator[tuple[int, int, str]]:
        return ((m.start(), m.end(), "pattern") for m in compiled.finditer(text) if m[0])

    return Order("pattern", find, session=session)


def order_text(text: str, session: Session | None = None) -> Order:
    """Exactly this text, wherever it stands.

    Raises:
        BadInput: it is empty.
    """
    if not text:
        raise BadInput("The text is empty.", "Name at least one character.")
    return Order("text", _literals([text], "text"), session=session)


def order_item(session: Session, item: str) -> Order:
    """An item as a whole; and its words, if they are more than a few, wherever they stand.

    Raises:
        BadInput: there is no such item.
    """
    found = load_items(session.store, session.id, (item,)).get(item)
    if found is None:
        raise BadInput(f"There is no item {item}.", "Items are VERSION.INDEX.")
    keys = keys_in(found.block)
    texts = session.store.bodies.get_many(keys)
    text = to_text(texts[found.block.body])
    words = list(_strings(from_json(text))) if _has_json(text, found.block.is_json) else [text]
    beside = [
        word
        for key in keys[1:]
        for word in _strings(_parsed(to_text(texts[key])))
        if len(word) >= VALUE_CHARS_MIN
    ]
    return Order(
        "item",
        _literals([word for word in words if len(word) >= VALUE_CHARS_MIN], "item"),
        keys=frozenset(keys) - session.store.bodies.redacted(keys),
        place=_place_of(session, int(item.partition(".")[0])),
        own_texts=frozenset(filter(None, (*words, *beside))),
    )


def _place_of(session: Session, version: int) -> tuple[int, int]:
    """The version with the session that holds it itself: of a fork, perhaps a parent."""
    parts = session.store.lineage(session.id)
    owner = next((p.session for p in parts if p.after < version <= p.to), session.id)
    return owner, version


def _has_json(text: str, is_json: bool) -> bool:
    return is_json and _parsed(text) is not None


def _parsed(text: str) -> Any:
    try:
        return from_json(text)
    except ValueError:
        return None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
