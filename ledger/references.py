"""References that people type: sessions by name, title or prefix; versions as `c2^`, `head~3`.

    REF  = BASE ("^" | "~"N)*
    BASE = 42 | head | c2 e3 r1 p1 | call7 | @2026-11-30T14:00

`^` is `~1`: just before the last window change. Knows nothing about terminals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import get_close_matches

from .errors import UnknownReference
from .event_codec import type_of
from .storage.store import Store, StoredEvent

_REFERENCE = re.compile(r"(?P<base>@[^\^~]+|[a-z]*\d+|head)(?P<steps>(?:\^|~\d+)*)")
_HANDLE_TYPES = {
    "c": "window_compacted",
    "e": "items_evicted",
    "r": "rolled_back",
    "p": "compaction_proposed",
}
_MARK_TYPES = _HANDLE_TYPES | {"call": "model_called"}
HANDLE_WORDS = {"c": "compaction", "e": "eviction", "r": "roll-back", "p": "proposal"}
REFERENCE_CHARS_MAX = 100
_HANDLE = re.compile(r"(?P<kind>c|e|r|p|call)(?P<number>[0-9]{1,18})")
NEAREST_MAX = 5


def find_change(store: Store, session: int, handle: str) -> StoredEvent:
    """The event of a handle, or of a plain version `42`.

    Raises:
        UnknownReference: there is none, or it is neither.
    """
    if handle.isdecimal() and len(handle) <= REFERENCE_CHARS_MAX:
        return store.read_one(session, int(handle))
    return find_handle(store, session, handle)


def handle_of(stored: StoredEvent) -> str:
    """`c2`, `e3`, `r1` ... where the event has one, else its version."""
    kind = type_of(stored.event)
    letter = next((letter for letter, name in _HANDLE_TYPES.items() if name == kind), "")
    return f"{letter}{getattr(stored.event, 'number', 0)}" if letter else str(stored.version)


def find_handle(store: Store, session: int, handle: str) -> StoredEvent:
    """The event of `c2`, `e3`, `r1`, `p1` or `call7`.

    Raises:
        UnknownReference: it is no handle, or there is no such event; `nearest` are those there are.
    """
    match = _HANDLE.fullmatch(handle)
    if match is None:
        raise UnknownReference(
            f"{handle!r} names no event.",
            "Handles are c1 (compaction), e1 (eviction), r1 (roll-back), p1 (proposal) and call1.",
        )
    letter, number = match["kind"], int(match["number"])
    versions = store.mark_versions(session, _MARK_TYPES[letter])
    if 0 < number <= len(versions):  # numbers count from 1 without gaps
        stored = store.read_one(session, versions[number - 1])
        if getattr(stored.event, "number", 0) == number:
            return stored
    if letter == "call":
        raise UnknownReference(f"There is no {handle}.", "See `ctxledger log --type call`.")
    nearest = tuple(f"{letter}{n + 1}" for n in range(len(versions)))[-NEAREST_MAX:]
    name = dict(store.session_names()).get(session, "")
    there = ", ".join(nearest) or f"no {HANDLE_WORDS[letter]}"
    raise UnknownReference(f"There is no {handle}.", f"Session {name} has {there}.", nearest)


def resolve_version(store: Store, session: int, reference: str) -> int:
    """The version a reference means.

    Raises:
        UnknownReference: it is not a reference, or there is no such version.
    """
    match = _REFERENCE.fullmatch(reference.strip())
    if match is None or len(reference) > REFERENCE_CHARS_MAX:
        raise UnknownReference(
            f"{reference!r} is not a reference.",
            "Use a version (42), head, c2, e3, r1, p1, call7 or @TIME, with ^ or ~N behind.",
        )
    head = store.head_version(session)
    base = match["base"]
    if base == "head":
        version = head
    elif base.startswith("@"):
        version = _version_at(store, session, base[1:])
    elif base.isdigit():
        version = int(base)
        if not 0 <= version <= head:
            raise UnknownReference(f"There is no version {version}.", f"The newest is {head}.")
    elif base.rstrip("0123456789") in (*_HANDLE_TYPES, "call"):
        version = find_handle(store, session, base).version
    else:
        raise UnknownReference(
            f"{reference!r} is not a reference.",
            "Handles are c (compaction), e (eviction), r (roll-back), p (proposal) and call.",
        )
    for step in re.findall(r"\^|~\d+", match["steps"]):
        count = 1 if step == "^" else int(step[1:])
        if count:
            version = store.windows.change_before(session, version, count)
    return version


def _version_at(store: Store, session: int, text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UnknownReference(
            f"{text!r} is not a time.", "Write it as 2026-11-30T14:00, in UTC unless it says."
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    wanted_ms = int(moment.timestamp() * 1000)
    for stored in store.read(session, is_reverse=True):
        at_ms = stored.event.at_ms
        if at_ms is not None and at_ms <= wanted_ms:
            return stored.version
    raise UnknownReference(f"Nothing happened before {text}.", "See `ctxledger log`.")


def resolve_session(
    names: Sequence[tuple[int, str]], titles: dict[int, str], reference: str
) -> int:
    """The session a person means: exact name, `@` for the newest, title, or unique prefix.

    Args:
        names: (id, name), oldest first.
        titles: id -> title, where one is known.

    Raises:
        UnknownReference: none, or several; `nearest` are the candidates.
    """
    if not names:
        raise UnknownReference("The ledger has no sessions.", "Fill it: `ctxledger ingest FILE`.")
    if reference == "@":
        return names[-1][0]
    for session, name in names:
        if name == reference:
            return session
    by_title = [s for s, title in titles.items() if title == reference]
    by_prefix = [s for s, name in names if name.startswith(reference)]
    by_title_prefix = [s for s, t in titles.items() if t.lower().startswith(reference.lower())]
    for found in (by_title, by_prefix, by_title_prefix):
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            some = tuple(name for session, name in names if session in found)[:NEAREST_MAX]
            raise UnknownReference(
                f"{reference!r} fits {len(found)} sessions.", f"Say which: {', '.join(some)}.", some
            )
    close = get_close_matches(reference, [name for _, name in names], NEAREST_MAX, 0.4)
    some = tuple(close) or tuple(name for _, name in names[-3:])
    what = "Nearest" if close else "The last taken in"
    raise UnknownReference(
        f"There is no session {reference!r}.", f"{what}: {', '.join(some)}.", some
    )
