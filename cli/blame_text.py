"""The story of an item as a screen, or as the JSON of the contract.

Knows nothing about how it is found: see ledger/finding/blaming.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct

from ctxledger.ledger.deltas import keys_of
from ctxledger.ledger.events import WindowCompacted
from ctxledger.ledger.finding.blaming import Life
from ctxledger.ledger.plaintext import cell_width, cut, one_line
from ctxledger.ledger.views.comparing import project_folder
from ctxledger.ledger.views.contents import ViewEntry
from ctxledger.ledger.views.grouping import describe, said_by_user
from ctxledger.ledger.window import Entry, split_id

from .arguments import command_line, with_ledger
from .context import Context
from .diff_text import items
from .event_text import iso_time
from .output import Output, Styled
from .tables import Column, number, one_line_text

if TYPE_CHECKING:
    from ctxledger.ledger import Session

LABEL_CELLS = 10
WORDS_CELLS_MAX = 400
"""Of an item's text on a terminal; `show` has it in full."""
FULL_STORIES_MAX = 3
"""More are shown as a table."""
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
        if command and source:
            command = f"{command_line(context, 'ingest', source)} && {command}"
        stories.append(
            Story(
                session=session.name,
                entry=view,
                about=_about(view, about[view.key].subject, words),
                lives=its,
                entered_at=tuple(_time_of(session, life.entered) for life in its),
                brief=_brief_words(session, its[-1], words or said_by_user(view.text) or view.text),
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


def _brief_words(session: Session, life: Life, words: str) -> str:
    if not life.brief:
        return ""
    (view,) = session.view_entries([Entry(life.brief)])
    text = f"brief {life.brief} ({number(view.tokens)} tokens) stands for it"
    compacted = session.store.read_one(session.id, split_id(life.brief)[0]).event
    if isinstance(compacted, WindowCompacted):
        window = session.store.window(session.id, compacted.base_version)
        sources = keys_of(compacted.sources, [entry.key for entry in window.entries])
        text += f" and {items(len(sources) - 1)} more" if len(sources) > 1 else ""
    if len(words) > REPEATED_CHARS_MAX:
        return text
    is_repeated = one_line_text(words) in one_line_text(view.text)
    return text + ("; it repeats the words" if is_repeated else "; it does not repeat the words")


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


def show_stories(out: Output, stories: Sequence[Story]) -> None:
    """Print a few stories in full, or many as a table, each item with its newest stay."""
    if len(stories) <= FULL_STORIES_MAX:
        for at, story in enumerate(stories):
            if at:
                out.line()
            _show_story(out, story)
        return
    columns = (
        Column("item"), Column("entered", is_number=True), Column("left", is_number=True),
        Column("by"), Column("brief"), Column("now"), Column("what", is_flexible=True),
    )  # fmt: skip
    rows = [
        (
            last.item, number(last.entered), number(last.left), last.left_by, last.brief,
            Styled("in the window", "green") if last.in_window else last.form or "gone",
            story.about,
        )
        for story in stories
        for last in (story.lives[-1],)
    ]  # fmt: skip
    out.table(columns, rows)
    out.note("The story of one: `ctxledger blame SESSION ITEM`.")


def _show_story(out: Output, story: Story) -> None:
    """Print one item's story, one screen."""
    entry, last = story.entry, story.lives[-1]
    out.line(
        Styled(entry.item, "bold"),
        f"  {entry.role} {entry.type} by {entry.origin}, {number(last.tokens)} tokens",
        Styled(f"  {story.session}", "dim"),
    )
    _field(out, "", story.about, cells_max=WORDS_CELLS_MAX)
    out.line()
    for life, time in zip(story.lives, story.entered_at, strict=True):
        if life.entered:
            moment = f", {time} UTC" if time else ""
            _field(out, "entered", f"version {number(life.entered)} by {life.by}{moment}")
        if life.left is not None:
            _field(out, "left", f"version {number(life.left)} by {life.left_by}", "yellow")
        if life.why:
            _field(out, "", life.why)
    _show_now(out, story)
    if story.put_back:
        _field(out, "put back", story.put_back, "cyan", is_whole=True)


def _show_now(out: Output, story: Story) -> None:
    last = story.lives[-1]
    if last.in_window:
        _field(out, "now", f"in the window, {last.form}", "green")
    elif last.form:
        _field(out, "now", f"in the window only as {last.form}", "yellow")
    else:
        _field(out, "now", "the model does not see it", "yellow")
    if last.brief:
        _field(out, "", story.brief)


def _field(
    out: Output,
    label: str,
    text: str,
    style: str = "",
    *,
    cells_max: int = WORDS_CELLS_MAX,
    is_whole: bool = False,
) -> None:
    """A label and text beside it, wrapped on a terminal; `is_whole` text is never broken."""
    if out.width is None or is_whole:
        out.line(f"{label:<{LABEL_CELLS}}", Styled(one_line_text(text), style))
        return
    for at, line in enumerate(wrapped(one_line(text, cells_max), out.width - LABEL_CELLS)):
        out.line(f"{'' if at else label:<{LABEL_CELLS}}", Styled(line, style))


def wrapped(text: str, width: int) -> list[str]:
    """Plain text in lines of at most `width` cells, broken at spaces where there are some."""
    lines: list[str] = []
    rest = text
    while cell_width(rest) > width:
        head = cut(rest, width)
        space = head.rfind(" ")
        if space > width // 4:
            head = head[:space]
        lines.append(head.rstrip())
        rest = rest[len(head) :].lstrip()
    return [*lines, rest] if rest or not lines else lines
