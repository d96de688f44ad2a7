"""A report as the blocks of a page for the team: before, after, lost, evidence, undo.

Knows nothing about how the facts are found, nor how a page is written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from .losses import Evidence
from .page import Block, Bullets, Heading, Line, Paragraph, Quote, Recorded, Strong, Table
from .report import Report, Undo

ITEMS_NAMED_MAX = 4
"""Of one file or call."""
_GROUPS = {
    "rules": "What the user wrote",
    "files": "Files",
    "commands": "Commands",
    "errors": "Errors and refusals",
    "todos": "Todos and plans",
    "other": "Everything else",
}


def report_page(report: Report) -> list[Block]:
    """The blocks of the page, top to bottom."""
    return [
        Heading(1, (f"What {report.kind} {report.handle} dropped",)),
        Bullets(tuple(_facts(report))),
        Heading(2, ("Before and after",)),
        Paragraph(_in_short(report)),
        Table(("", "before", "after"), tuple(
            (size.name, _number(size.before), _number(size.after)) for size in report.sizes
        )),
        *_lost(report),
        *_brief(report),
        *_undo(report.undo),
        *_end(report),
    ]  # fmt: skip


def _facts(report: Report) -> Iterator[Line]:
    yield ("Session: ", Recorded(report.session))
    if report.title:
        yield ("Title: ", Recorded(report.title))
    yield ("Recorded by: ", Recorded(" ".join(filter(None, (report.format, report.model)))))
    moment = ""
    if report.at_ms is not None:
        moment = f", {datetime.fromtimestamp(report.at_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    yield (f"When: version {report.version:,}{moment}",)
    if report.trigger:
        yield ("Triggered by: ", Recorded(report.trigger))
    if report.freed is not None:
        yield (f"Freed, as reported: {report.freed:,} tokens",)
    if report.depth > 1:
        yield (Strong(f"A summary of a summary, depth {report.depth}"),)


def _in_short(report: Report) -> Line:
    words = f"{report.dropped:,} items left the window, {report.kept:,} stayed."
    if report.brief_item:
        words += (
            f" In their place stands a brief of {report.brief_tokens:,} tokens,"
            f" {report.brief_item}."
        )
    coverage = (
        " The recording is a transcript: system prompt and tools are not in it."
        if report.coverage == "conversation"
        else ""
    )
    return (f"{words} Tokens are counted by {report.tokens_method}.{coverage}",)


def _lost(report: Report) -> Iterator[Block]:
    yield Heading(2, ("What was lost",))
    if not report.lost:
        yield Paragraph(("Nothing of what is on record.",))
    for loss in report.lost:
        noun = "item" if loss.items == 1 else "items"
        yield Heading(3, (f"{_GROUPS[loss.group]}: {loss.items:,} {noun}, {loss.tokens:,} tokens",))
        lines = [_evidence(one, loss.group) for one in loss.shown]
        more = loss.units - len(loss.shown)
        if more:
            lines.append((f"{more:,} more",))
        yield Bullets(tuple(lines))


def _evidence(one: Evidence, group: str) -> Line:
    named = ", ".join(one.items[:ITEMS_NAMED_MAX])
    if len(one.items) > ITEMS_NAMED_MAX:
        named += f" and {len(one.items) - ITEMS_NAMED_MAX:,} more"
    line: Line = (f"{named} ({one.tokens:,} tokens): ", Recorded(one.words))
    if one.in_brief is False:
        how = "named" if group == "files" else "word for word"
        return (*line, " - ", Strong(f"not {how} in the brief"))
    return line


def _brief(report: Report) -> Iterator[Block]:
    if not report.brief_item:
        return
    yield Heading(2, ("What the model sees instead",))
    yield Quote(report.brief)
    if report.brief_chars_more:
        more = f"{report.brief_chars_more:,} more characters in item {report.brief_item}."
        yield Paragraph((more,))


def _undo(undo: Undo) -> Iterator[Block]:
    yield Heading(2, ("How to undo it",))
    if not undo.commands:
        yield Paragraph((Recorded(undo.why),))
        return
    words = f"The window goes from {undo.tokens_now:,} to {undo.tokens_after:,} counted tokens"
    if undo.unrecorded:
        words += f", about {undo.tokens_after + undo.unrecorded:,} with what is not recorded"
    words += f"; the limit is {undo.limit:,}." if undo.limit is not None else "."
    line: Line = (words,)
    if undo.is_over:
        line = (*line, " ", Strong("That is over the limit: make room before the next call."))
    yield Paragraph((*line, " Everything that came later is kept, and nothing is deleted."))
    yield Quote("\n".join(undo.commands), "sh")


def _end(report: Report) -> Iterator[Block]:
    yield Heading(2, ("Evidence in full",))
    yield Quote("\n".join(report.look), "sh")
    read = "Read the page before you pass it on: only known kinds of secrets are recognised."
    if report.hidden is None:
        yield Paragraph((Strong("Secrets were not hidden on this page."),))
    elif report.hidden == 0:
        yield Paragraph((f"No secrets were found. {read}",))
    else:
        places = "place" if report.hidden == 1 else "places"
        yield Paragraph((f"Secrets were hidden in {report.hidden:,} {places}. {read}",))


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
