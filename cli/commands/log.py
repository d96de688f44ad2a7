"""`ctxledger log`: the events of a session, oldest first."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice

import click
from msgspec.structs import replace

from ctxledger.ledger import BadInput, Session
from ctxledger.ledger.event_codec import type_of
from ctxledger.ledger.events import RecordQuarantined, Tokens, WindowCompacted
from ctxledger.ledger.finding.lives import reported_after
from ctxledger.ledger.rolling_back import undone_versions
from ctxledger.ledger.storage.store import StoredEvent

from ..context import Context
from ..event_text import TYPES_OF_WORD, describe, handle_of, iso_time, keys_for, tokens_of
from ..options import at_option, command, session_argument
from ..output import Output, Styled, Text
from ..tables import Column, counted
from ..window_moves import moves

EXAMPLES = """
ctxledger log                               # the newest session
ctxledger log refactor-auth --type compaction,rollback
ctxledger log session.jsonl -n 0            # a file, all of it
ctxledger log @ --json | jq .summary
"""
SHOWN = 200
"""Events shown to a person unless -n says otherwise."""
BATCH = 200
"""Events whose texts are read together."""
CLOCK_JUMP_MS = 1000
"""A clock that goes back by less is the source's own jitter."""
REARRANGING = frozenset(
    {"items_evicted", "window_compacted", "items_reinjected", "rolled_back", "window_rewritten"}
)
COLUMNS = (
    Column("version", is_number=True),
    Column("handle", width_min=6),
    Column("UTC", width_min=8),
    Column("what", width_min=11),
    Column("", is_flexible=True),
)


@command(EXAMPLES)
@session_argument
@click.option(
    "--type",
    "types",
    metavar="TYPE[,TYPE]",
    multiple=True,
    help="Only these: " + ", ".join(TYPES_OF_WORD) + ", or a stored tag.",
)
@click.option(
    "-n",
    "count",
    type=click.IntRange(0),
    metavar="N",
    default=None,
    help=f"The last so many, 0 = all (default {SHOWN}; all with --json).",
)
@at_option
@click.pass_obj
def log(context: Context, session: str, types: tuple[str, ...], count: int | None, at: str) -> None:
    """Show what happened in a session, oldest first.

    c1 is a compaction, e1 an eviction, r1 a roll-back, call7 a call; these names work wherever
    a REF is asked for.
    """
    chosen = context.reading(session)
    out = context.out
    wanted = event_types(types)
    to = chosen.resolve(at)
    limit = count if count is not None else (0 if out.is_json else SHOWN)
    stored, is_cut = newest(chosen, to, wanted, limit)
    undone = undone_versions(chosen)
    if out.is_json:
        for event, words in with_words(chosen, stored):
            out.json(as_json(event, words, is_undone=event.version in undone))
        return
    if is_cut:
        out.note(f"The last {counted(limit, 'event')} up to version {to:,}; -n 0 shows all.")
    if out.is_terminal:
        out.line(Styled(chosen.name, "bold"), f"  {chosen.opened.format}, {to:,} versions")
    out.table(COLUMNS, rows(chosen, stored, undone, out))


def event_types(words: Sequence[str]) -> tuple[str, ...] | None:
    """Stored tags for what `--type` said; None = all.

    Raises:
        BadInput: one of them is no type.
    """
    from ctxledger.ledger.events import EVENT_TYPES

    tags: list[str] = []
    for word in (part.strip() for given in words for part in given.split(",")):
        if word in EVENT_TYPES:
            tags.append(word)
        elif word.removesuffix("s") in TYPES_OF_WORD or word in TYPES_OF_WORD:
            tags += TYPES_OF_WORD.get(word) or TYPES_OF_WORD[word.removesuffix("s")]
        elif word:
            raise BadInput(
                f"There is no type of event {word!r}.", f"Types: {', '.join(TYPES_OF_WORD)}."
            )
    return tuple(tags) or None


def newest(
    session: Session, to: int, types: tuple[str, ...] | None, limit: int
) -> tuple[Iterator[StoredEvent], bool]:
    """(the last `limit` events up to a version, oldest first; were there more)."""
    if not limit:
        return session.events(to=to, types=types), False
    limit = min(limit, sys.maxsize - 1)
    found = list(islice(session.events(to=to, types=types, is_reverse=True), limit + 1))
    return reversed(found[:limit]), len(found) > limit


def with_size_after(session: Session, stored: StoredEvent) -> StoredEvent:
    """A compaction whose source does not say what was left: what the next call reported."""
    event = stored.event
    if not isinstance(event, WindowCompacted) or event.tokens_after is not None:
        return stored
    reported = reported_after(session, stored.version)
    if reported is None:
        return stored
    after = replace(event, tokens_after=Tokens(reported, "provider"))
    return replace(stored, event=after)


def with_words(
    session: Session, stored: Iterator[StoredEvent]
) -> Iterator[tuple[StoredEvent, tuple[str, str, str]]]:
    """Events with (kind, words, style); texts are read in batches."""
    while batch := [with_size_after(session, event) for event in islice(stored, BATCH)]:
        contents = session.store.bodies.get_many(k for s in batch for k in keys_for(s.event))
        for event in batch:
            described = describe(event.event, contents)
            words = described.words
            if type_of(event.event) in REARRANGING:
                words = ", ".join(filter(None, (words, moves(session, event.version))))
            yield event, (described.kind, words, described.style)


def as_json(
    stored: StoredEvent, words: tuple[str, str, str], *, is_undone: bool
) -> dict[str, object]:
    """One line of `log --json`."""
    before, after = tokens_of(stored.event)
    value: dict[str, object] = {
        "version": stored.version,
        "handle": handle_of(stored.event) or None,
        "type": type_of(stored.event),
        "at": iso_time(stored.event.at_ms),
        "actor": stored.actor,
        "summary": words[1],
        "tokens_before": before,
        "tokens_after": after,
    }
    if isinstance(stored.event, RecordQuarantined):
        value |= {"source": stored.event.source, "offset": stored.event.offset}
        value |= {"length": stored.event.length, "reason": stored.event.reason}
    return value | ({"undone": True} if is_undone else {})


def rows(
    session: Session, stored: Iterator[StoredEvent], undone: set[int], out: Output
) -> Iterator[tuple[Text, ...]]:
    """Rows of the table; on a terminal a new day has a row of its own."""
    day, latest_ms = "", 0
    for event, (kind, said, said_style) in with_words(session, stored):
        words, style = said, said_style
        at_ms = event.event.at_ms
        moment = iso_time(at_ms) or ""
        if at_ms is not None and at_ms < latest_ms - CLOCK_JUMP_MS:
            words = f"[clock back by {_span(latest_ms - at_ms)}] {words}"
        latest_ms = max(latest_ms, at_ms or 0)
        if out.is_terminal and moment[:10] not in ("", day):
            day = moment[:10]
            yield "", "", "", "", Styled(day, "dim")
        time = moment[11:19] if out.is_terminal else moment[:19]
        if event.version in undone:
            words, style = f"[undone] {words}", "dim"
        is_strong = style.startswith("bold")
        yield (
            Styled(str(event.version), "dim"),
            Styled(handle_of(event.event), style if is_strong else ""),
            Styled(time, "dim"),
            Styled(kind, style),
            Styled(words, style if is_strong or style == "dim" else ""),
        )


def _span(span_ms: int) -> str:
    seconds = span_ms // 1000
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
