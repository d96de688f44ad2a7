"""Blame: the items that a person means, and their lives in the window.

Knows nothing about terminals; lives.py has what happened to an item.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..caches.catchup import catch_up
from ..caches.read_models import Models
from ..caches.words import Term, phrase_within
from ..errors import BadInput, UnknownReference
from ..views.contents import load_items
from ..window import is_item_id, split_id
from .lives import Life, lives_of_items
from .searching import items_with, words_in

if TYPE_CHECKING:
    from ..session import Session

__all__ = ["Life", "blame_item", "blame_text"]

ITEMS_MAX = 200
"""Items that `blame_text` answers for."""


def blame_item(session: Session, item: str) -> list[Life]:
    """The stays of an item in the window, oldest first; at least one.

    Raises:
        UnknownReference: there is no such item; `nearest` are items around it.
    """
    models = catch_up(session.store)
    found = load_items(session.store, session.id, (item,)) if is_item_id(item) else {}
    if item not in found:
        raise _unknown(session, models, item)
    return lives_of_items(session, models, found)


def blame_text(session: Session, text: str) -> list[Life]:
    """The stays of the items whose contents hold exactly this text, in order of the items.

    Raises:
        UnknownReference: nothing holds it.
        BadInput: the text is empty, or more than `ITEMS_MAX` items hold it.
    """
    if not text:
        raise BadInput("There is no text to look for.", "Give some words of it.")
    models = catch_up(session.store)
    term = phrase_within(text)
    items = _holding(session, models, text, (term,)) if term is not None else []
    if not items:  # a part of a word, or signs: read everything
        items = _holding(session, models, text, ())
    if not items:
        raise UnknownReference(
            "Nothing that was ever in this session's window holds this text.",
            "It must be exact; `ctxledger search` finds words.",
        )
    return lives_of_items(session, models, load_items(session.store, session.id, items))


def _holding(session: Session, models: Models, text: str, terms: Sequence[Term]) -> list[str]:
    found: list[str] = []
    for _, users, raw in items_with(session.store, models, terms, session.id):
        item = users[0][1]
        if text not in raw:
            stored = load_items(session.store, session.id, (item,)).get(item)
            if stored is None or text not in words_in(stored.block, raw):
                continue
        found.extend(item for _, item in users)
        if len(found) > ITEMS_MAX:
            raise BadInput(
                f"More than {ITEMS_MAX} items hold this text.",
                "Give more of it; `ctxledger search` lists hits.",
            )
    return sorted(found, key=split_id)


def _unknown(session: Session, models: Models, item: str) -> UnknownReference:
    around = split_id(item)[0] if is_item_id(item) else 0
    query = (
        "SELECT DISTINCT item_version, item_place FROM {touches} WHERE session = ?"
        " AND item_version {order} ? ORDER BY item_version {direction}, item_place LIMIT 3"
    )
    near = []
    for order, direction in (("<=", "DESC"), (">", "ASC")):
        sql = query.format(touches=models.touches, order=order, direction=direction)
        near += [f"{v}.{p}" for v, p in session.store.db.rows(sql, (session.id, around))]
    nearest = tuple(sorted(near, key=split_id))
    hint = f"Nearest: {', '.join(nearest)}." if nearest else "Items are VERSION.INDEX."
    return UnknownReference(f"There is no item {item}.", hint, nearest)
