"""The story of an item as a screen.

Knows nothing about how it is found: see blame_stories.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxledger.ledger.plaintext import cell_width, cut, one_line

from .blame_stories import Story, answer, left_words
from .diff_text import items
from .output import Output, Styled
from .tables import Column, number, one_line_text

LABEL_CELLS = 10
WORDS_CELLS_MAX = 400
"""Of an item's text on a terminal; `show` has it in full."""
FULL_STORIES_MAX = 3
"""More are shown as a table."""
TABLE_ROWS_MAX = 12
"""Of a table on a terminal: the answer below it stays in sight."""


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
    shown = stories[:TABLE_ROWS_MAX] if out.is_terminal else stories
    rows = [
        (
            last.item, number(last.entered), number(last.left), last.left_by, last.brief,
            Styled("in the window", "green") if last.in_window else last.form or "gone",
            story.about,
        )
        for story in shown
        for last in (story.lives[-1],)
    ]  # fmt: skip
    out.table(columns, rows)
    if len(shown) < len(stories):
        out.line(Styled(f"{items(len(stories) - len(shown))} more; piped, all are shown", "dim"))
    _show_causes(out, stories)
    out.note("The story of one: `ctxledger blame SESSION ITEM`.")


def _show_causes(out: Output, stories: Sequence[Story]) -> None:
    """Say what took the items away that are gone, and how each of these is undone."""
    out.line()
    stay = sum(story.lives[-1].in_window for story in stories)
    _field(out, "in short", f"{stay} of {items(len(stories))} in the window", "bold")
    causes: dict[tuple[str, str], list[Story]] = {}
    for story in stories:
        last = story.lives[-1]
        if not last.in_window and last.left is not None:
            causes.setdefault((left_words(last), story.put_back), []).append(story)
    for (left, put_back), mine in causes.items():
        missing = sum(story.in_brief is False for story in mine)
        words = f"{items(len(mine))} {left}" + (f", {missing} not in the brief" if missing else "")
        _field(out, "", words, "yellow")
        if put_back:
            _field(out, "put back", put_back, "cyan", is_whole=True)


def _show_story(out: Output, story: Story) -> None:
    """Print one item's story, one screen."""
    entry, last = story.entry, story.lives[-1]
    out.line(
        Styled(entry.item, "bold"),
        f"  {entry.role} {entry.type} by {entry.origin}, {number(last.tokens)} tokens",
        Styled(f"  {story.session}", "dim"),
    )
    _field(out, "", story.about, cells_max=WORDS_CELLS_MAX)
    _field(out, "in short", answer(story), "bold")
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
