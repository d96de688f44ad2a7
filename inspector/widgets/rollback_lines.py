"""What a roll-back would do, as lines to be read before the question."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from msgspec import Struct

from ctxledger.ledger.rolling_back import RollbackPlan
from ctxledger.ledger.views.contents import ViewEntry

from ..describe import first_words
from ..lines import Line, Span, Style, count_of, left, number, right

SHOWN_MAX = 8
"""Items of each list that are shown; the rest is counted."""


class RollbackPreview(Struct, frozen=True, kw_only=True):
    """A plan with the first items of what it would change."""

    name: str
    handles: tuple[str, ...]
    to: str
    plan: RollbackPlan
    restored: tuple[ViewEntry, ...]
    removed: tuple[ViewEntry, ...]
    tokens_method: str
    unrecorded: int = 0
    """Tokens of the last call that are not in the recording; 0 when none were reported."""

    @property
    def expected_tokens(self) -> int:
        """What the next call would report."""
        return self.plan.tokens_after + self.unrecorded


def command(name: str, handles: Sequence[str], to: str = "") -> str:
    """The command line that does the same."""
    words = ["ctxledger", "rollback", name, *handles, *(("--to", to) if to else ())]
    return shlex.join(words)


def preview_lines(preview: RollbackPreview, width: int) -> list[Line]:
    """Sizes first, then what comes back and what leaves, then the same as a command."""
    plan = preview.plan
    what = f"restore the window of version {plan.to}" if plan.to else f"undo {_names(preview)}"
    before, after = number(plan.tokens_before), number(plan.tokens_after)
    lines: list[Line] = [
        (Span(f"Roll back: {what}", "title"),),
        (Span("One event is appended; nothing is deleted, and it can be undone.", "muted"),),
        (),
        (Span(f"window   {before} → {after} t", "title"), Span(f" ({preview.tokens_method})")),
        *_expected(preview),
        _limit(plan.limit, preview.expected_tokens),
        (),
        *_list("+", "comes back", plan.restored, preview.restored, width),
        *_list("-", "leaves", plan.removed, preview.removed, width),
        (),
        (Span("same as  ", "muted"), Span(command(preview.name, preview.handles, preview.to))),
    ]
    return lines


def _names(preview: RollbackPreview) -> str:
    undid = ", ".join(str(version) for version in preview.plan.undid)
    return f"{' '.join(preview.handles)} (version {undid})"


def _expected(preview: RollbackPreview) -> list[Line]:
    if not preview.unrecorded:
        return []
    more, total = number(preview.unrecorded), number(preview.expected_tokens)
    return [
        (
            Span(f"expect   {total} t", "title"),
            Span(f" with {more} that the provider reported and we do not hold"),
        )
    ]


def _limit(limit: int | None, tokens: int) -> Line:
    if not limit:
        return (Span("limit    unknown: check that your model takes this much", "warn"),)
    if tokens > limit:
        return (Span(f"limit    {number(limit)} t: OVER by {number(tokens - limit)} t", "bad"),)
    return (Span(f"limit    {number(limit)} t: fits ({tokens / limit:.0%})"),)


def _list(
    sign: str, verb: str, items: Sequence[str], shown: Sequence[ViewEntry], width: int
) -> list[Line]:
    lines: list[Line] = [(Span(f"{sign} {verb}: {count_of(len(items), 'item')}", "title"),)]
    style: Style = "good" if sign == "+" else "bad"
    lines.extend(
        (
            Span(f"{sign} {left(entry.item, 9)}", style),
            Span(left(entry.category, 10), "muted"),
            Span(right(number(entry.tokens), 8) + "  "),
            Span(left(_words(entry), max(0, width - 31))),
        )
        for entry in shown
    )
    if len(items) > len(shown):
        lines.append((Span(f"{sign} ... and {number(len(items) - len(shown))} more", "muted"),))
    return lines


def _words(entry: ViewEntry) -> str:
    form = "" if entry.form == "verbatim" else f"[{entry.form}] "
    return form + first_words(entry.block)


def done_lines(name: str, number_of_it: int, version: int) -> list[Line]:
    """What to say when it is done."""
    return [
        (Span(f"Done: r{number_of_it} at version {version}.", "good"),),
        (),
        (Span("undo it  ", "muted"), Span(command(name, (f"r{number_of_it}",)), "title")),
        (Span("or select it in the timeline and press u.", "muted"),),
    ]
