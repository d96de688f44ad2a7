"""The stories of items: their lives in the window, with what they hold and how to put them back.

Knows nothing about screens: see blame_text.py; nor how lives are found: ledger/finding/blaming.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct

from ctxledger.ledger.deltas import keys_of
from ctxledger.ledger.events import WindowCompacted
from ctxledger.ledger.finding.blaming import Life
from ctxledger.ledger.views.comparing import project_folder
from ctxledger.ledger.views.contents import ViewEntry
from ctxledger.ledger.views.grouping import describe, said_by_user
from ctxledger.ledger.window import Entry, split_id

from .arguments import command_line, with_ledger
from .context import Context
from .diff_text import items
from .event_text import iso_time
from .tables import number, one_line_text

if TYPE_CHECKING:
    from ctxledger.ledger import Session

EXCERPT_BEFORE_CHARS, EXCERPT_AFTER_CHARS = 80, 160
REPEATED_CHARS_MAX = 400
"""Texts of up to this length are looked for in the brief."""


class Story(Struct, frozen=True):
    """One item with its stays in the window."""

    session: str
    entry: ViewEntry
    """The item as it was recorded."""
    about: str
    """What it says or does, around the words that were asked for."""
    lives: tuple[Life, ...]
    entered_at: tuple[str, ...]
    """Time of each entering by the source's clock, "" where it has none."""
    brief: str
    """What is known of the brief that stands for it, "" when there is none."""
    in_brief: bool | None
    """The brief repeats its words; None = there is none, or they are too long to tell."""
    put_back: str
    """The command for a shell, "" when the item is there."""


def stories_of(
    context: Context, session: Session, lives: Sequence[Life], *, file: str, words: str = ""
) -> list[Story]:
    """Join lives with what the items hold.

    Args:
        words: what was asked for; "" = the item's own text. Looked for in the brief.
        file: the SESSION argument; a file must be taken in before anything can be put back.
    """
    found = [(item, tuple(its)) for item, its in groupby(lives, key=lambda life: life.item)]
    views = session.view_entries([Entry(item) for item, _ in found])
    calls = [entry for entry in _calls_of(session, views) if entry.item not in dict(found)]
    about = describe(views, project_folder(session), others=calls)
    stories = []
    for (_, its), view in zip(found, views, strict=True):
        command = with_ledger(context, its[-1].put_back)
        source = context.file_of(file)
        last_words = words or said_by_user(view.text) or view.text
        in_brief = _is_repeated(session, its[-1], last_words)
        if command and source:
            command = f"{command_line(context, 'ingest', source)} && {command}"
        stories.append(
            Story(
                session=session.name,
                entry=view,
                about=_about(view, about[view.key].subject, words),
                lives=its,
                entered_at=tuple(_time_of(session, life.entered) for life in its),
                brief=_brief_words(session, its[-1], in_brief),
                in_brief=in_brief,
                put_back=command,
            )
        )
    return stories


def _about(view: ViewEntry, subject: str, words: str) -> str:
    text = view.text
    at = text.find(words) if words else -1
    if at > EXCERPT_BEFORE_CHARS:
        start = at - EXCERPT_BEFORE_CHARS
        return f"... {one_line_text(text[start : at + len(words) + EXCERPT_AFTER_CHARS])}"
    return one_line_text(text) if view.type == "text" else subject


def _calls_of(session: Session, views: Sequence[ViewEntry]) -> list[ViewEntry]:
    """The calls that results answer: they stand at most one message before, in most windows."""
    wanted = {view.block.tool_id for view in views if view.type.endswith("tool_result")}
    if not wanted:
        return []
    found: dict[str, Entry] = {}
    for stored in session.events(types=("message_appended", "message_extended")):
        index = 0
        for message in getattr(stored.event, "messages", ()):
            for block in message.blocks:
                if block.tool_id in wanted and block.type.endswith("tool_use"):
                    found.setdefault(block.tool_id, Entry(f"{stored.version}.{index}"))
                index += 1
        if len(found) == len(wanted):
            break
    return list(session.view_entries(list(found.values())))


def _time_of(session: Session, version: int) -> str:
    if not version:
        return ""
    moment = iso_time(session.store.read_one(session.id, version).event.at_ms) or ""
    return moment[:19].replace("T", " ")


def _is_repeated(session: Session, life: Life, words: str) -> bool | None:
    if not life.brief or len(words) > REPEATED_CHARS_MAX:
        return None
    (view,) = session.view_entries([Entry(life.brief)])
    return one_line_text(words) in one_line_text(view.text)


def _brief_words(session: Session, life: Life, in_brief: bool | None) -> str:
    if not life.brief:
        return ""
    (view,) = session.view_entries([Entry(life.brief)])
    text = f"brief {life.brief} ({number(view.tokens)} tokens) stands for it"
    compacted = session.store.read_one(session.id, split_id(life.brief)[0]).event
    if isinstance(compacted, WindowCompacted):
        window = session.store.window(session.id, compacted.base_version)
        sources = keys_of(compacted.sources, [entry.key for entry in window.entries])
        text += f" and {items(len(sources) - 1)} more" if len(sources) > 1 else ""
    if in_brief is None:
        return text
    return text + ("; it repeats the words" if in_brief else "; it does not repeat the words")


def answer(story: Story) -> str:
    """The story in a sentence: `entered at 12, left at c2 (automatic, 167k -> 52k), ...`."""
    last = story.lives[-1]
    if not last.entered:
        return "never was in the window"
    entered = f"entered at {number(last.entered)}"
    if last.left is None:
        return f"{entered}, is in the window"
    parts = [entered, left_words(last)]
    if story.in_brief is not None:
        parts.append("its words are in the brief" if story.in_brief else "not in the brief")
    elif last.form:
        parts.append(f"now only {last.form}")
    return ", ".join(parts)


def left_words(life: Life) -> str:
    """What took it away, with trigger and sizes."""
    return f"left at {life.left_by}" + (f" ({life.in_short})" if life.in_short else "")


def story_json(story: Story) -> Iterator[dict[str, object]]:
    """The JSON of `blame`: one object for each stay in the window."""
    for life in story.lives:
        yield {
            "session": story.session,
            "item": life.item,
            "entered": life.entered,
            "left": life.left,
            "by": life.left_by or None,
            "brief": life.brief or None,
            "in_window": life.in_window,
            "entered_by": life.by,
            "form": life.form or None,
            "tokens": life.tokens,
            "why": life.why,
            "put_back": story.put_back or None,
            "text": story.entry.text,
        }
