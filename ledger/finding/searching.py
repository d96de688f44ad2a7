"""Full text over everything that was ever in a window, with where it is now.

Knows nothing about terminals; words.py has the syntax and the snippets.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from ..caches.catchup import catch_up, start_over
from ..caches.read_models import Models
from ..caches.words import (
    Term,
    find_pattern,
    is_match,
    match_expression,
    snippet_of,
    terms_of,
    words_of,
)
from ..content import to_text
from ..errors import BadInput, CorruptLedger
from ..events import StoredBlock
from ..storage.bodies import REDACTED
from ..storage.store import Store
from ..views.contents import load_items
from ..window import split_id
from .effects import cause_of, gone_by, touches_of

if TYPE_CHECKING:
    from ..ledger import Ledger

LIMIT = 50
BODIES_READ = 50
"""Bodies read at a time."""


class Hit(Struct, frozen=True):
    """An item that a search found."""

    session: str
    """Name of the session."""
    item: str
    version: int
    """That introduced it."""
    in_window: bool
    """Its words are in the window at the head of its session."""
    left_by: str
    """`c2`, `e1`, `rewind at 167` ...: what took them away; "" when they are there."""
    snippet: str
    """Raw text around the first match; print it with `plain`."""
    matches: tuple[tuple[int, int], ...]
    """(start, end) of the matches inside `snippet`."""
    score: float
    """Larger is better; bm25."""
    role: str
    type: str


class Found(Struct, frozen=True):
    """A body that fits, and where it is used."""

    body: int
    score: float


def search(
    ledger: Ledger,
    query: str,
    *,
    session: int | None = None,
    limit: int = LIMIT,
    offset: int = 0,
) -> list[Hit]:
    """Find items, best first.

    Args:
        query: words that must all occur, "quoted phrases", `word*` for a beginning.
        session: only what this session's history holds (of a fork, its parents' part too).
        limit: hits at most, after `offset` others.

    Raises:
        BadInput: the query is empty.
    """
    terms = terms_of(query)
    if not terms:
        raise BadInput("There is nothing to search for.", "Give a word, or a phrase in quotes.")
    store = ledger.store
    models = catch_up(store)
    end = min(offset + limit, sys.maxsize)
    try:
        return list(islice(_hits(store, models, terms, session), offset, end))
    except CorruptLedger:
        models = start_over(store)  # the index is damaged: answer from a new one
        return list(islice(_hits(store, models, terms, session), offset, end))


def _hits(
    store: Store, models: Models, terms: Sequence[Term], session: int | None
) -> Iterator[Hit]:
    names = dict(store.session_names())
    causes: dict[tuple[int, int], str] = {}
    pattern = find_pattern(terms)
    for found, users, text_of in items_with(store, models, terms, session):
        for user, item in users:
            stored = load_items(store, user, (item,)).get(item)
            if stored is None:
                continue
            gone = gone_by(touches := touches_of(store, models, user, item))
            left_by = ""
            if gone:
                key = (user, gone[0])
                if key not in causes:
                    causes[key] = cause_of(gone[0], store.read_one(user, gone[0]).event)
                left_by = causes[key]
            snippet, matches = snippet_of(words_in(stored.block, text_of), pattern)
            yield Hit(
                session=names.get(user, ""),
                item=item,
                version=split_id(item)[0],
                in_window=bool(touches) and not gone,
                left_by=left_by,
                snippet=snippet,
                matches=matches,
                score=found.score,
                role=stored.role,
                type=stored.block.type,
            )


def words_in(block: StoredBlock, text: str) -> str:
    """The searchable words of a stored block."""
    return words_of(block.type, text, is_json=block.is_json)


def items_with(
    store: Store, models: Models, terms: Sequence[Term], session: int | None
) -> Iterator[tuple[Found, list[tuple[int, str]], str]]:
    """Bodies that hold all terms: (body, [(session, item)] that use it, its raw text)."""
    used = (
        (found, users)
        for found in _matching(store, models, terms, session)
        if (users := _users(store, models, found.body, session))
    )
    while batch := list(islice(used, BODIES_READ)):
        texts = _raw_texts(store, [found.body for found, _ in batch])
        for found, users in batch:
            text = texts.get(found.body)
            if text is not None and is_match(terms, text):
                yield found, users, text


def _matching(
    store: Store, models: Models, terms: Sequence[Term], session: int | None
) -> Iterator[Found]:
    """Bodies that the index gives, best first; all bodies when the terms are only signs."""
    expression = match_expression(terms)
    if not expression:
        yield from _all_bodies(store, models, session)
        return
    ranked = [_ranked(store, table, column, expression) for table, column in models.search]
    seen: set[int] = set()
    for found in heapq.merge(*ranked, key=lambda found: -found.score):
        if found.body not in seen:
            yield found
        seen.add(found.body)


def _all_bodies(store: Store, models: Models, session: int | None) -> Iterator[Found]:
    """Bodies of a session's history, or of all; newest first."""
    where, owners = "", []
    if session is not None:
        owners = [part.session for part in store.lineage(session)]
        where = f" WHERE session IN ({','.join('?' * len(owners))})"
    query = f"SELECT DISTINCT body FROM {models.uses}{where} ORDER BY body DESC"
    for (body,) in store.db.rows(query, owners):
        yield Found(body, 0.0)


def _ranked(store: Store, table: str, column: str, expression: str) -> Iterator[Found]:
    for body, rank in store.db.rows(
        f"SELECT rowid, rank FROM {table} WHERE {column} MATCH ? ORDER BY rank", (expression,)
    ):
        yield Found(body, -rank)


def _raw_texts(store: Store, ids: Sequence[int]) -> dict[int, str]:
    """Raw texts by body id; redacted and damaged ones are left out."""
    marks = ",".join("?" * len(ids))
    keys: dict[int, bytes] = dict(
        store.db.rows(f"SELECT id, key FROM bodies WHERE id IN ({marks})", ids)
    )
    texts: dict[int, str] = {}
    for body, key in keys.items():
        try:
            data = store.bodies.get(key)
        except CorruptLedger:
            continue
        if data != REDACTED:
            texts[body] = to_text(data)
    return texts


def _users(store: Store, models: Models, body: int, session: int | None) -> list[tuple[int, str]]:
    """(session, item) of all uses of a body."""
    query = f"SELECT DISTINCT session, version, place FROM {models.uses} WHERE body = ?"
    used = list(store.db.rows(query, (body,)))
    if session is None:
        return [(owner, f"{version}.{place}") for owner, version, place in used]
    parts = store.lineage(session)
    return [
        (session, f"{version}.{place}")
        for owner, version, place in used
        if any(p.session == owner and p.after < version <= p.to for p in parts)
    ]
