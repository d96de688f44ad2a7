"""How large a window is to its model, in lines: the size, the limit, and how sure that is.

Knows nothing about where the numbers come from.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxledger.ledger.cost import share_of
from ctxledger.ledger.views.contents import WindowView
from ctxledger.ledger.views.context_size import ContextSize

from .output import Styled, Text
from .tables import number

FIRST_SHARE = 0.10
"""An unattributed part of at least this much of the whole is shown before the others."""


def size_lines(shown: WindowView) -> Iterator[tuple[Text, ...]]:
    """Counted tokens; what they are to the model; how that is known."""
    counted = f"{number(shown.tokens)} tokens"
    if shown.context is None:
        yield (Styled(counted, "bold"), f" counted ({shown.tokens_method})")
        yield (Styled(f"to the model: not known, {_why_unknown(shown)}", "dim"),)
        return
    size = shown.context
    about = "" if size.method == "provider" else "about "
    limit = size.limit.tokens
    share = f", {size.tokens / limit:.0%} of {number(limit)}" if limit else ", limit unknown"
    yield (Styled(f"{about}{number(size.tokens)} tokens", "bold"), f" to the model{share}")
    for text in (*_limit(size), *_known(size, shown.reported)):
        yield (Styled(f"  {text}", "dim"),)
    yield (f"{counted} counted in the items below ({shown.tokens_method})",)
    for text in _unattributed(size, shown.coverage):
        yield (Styled(f"  {text}", "dim"),)


def _limit(size: ContextSize) -> Iterator[str]:
    if size.limit.tokens:
        share = share_of(size.limit.tokens, size.reserve_tokens, size.tokens)
        yield (
            f"limit: {size.limit.source}; {share.usable_percent:.0f}% of the"
            f" {number(share.usable_tokens)} beside an answer"
        )


def _known(size: ContextSize, reported: int | None) -> Iterator[str]:
    """How the number was made, with its error."""
    if not size.estimated_tokens:
        yield "as the provider reported it"
        return
    if reported:
        estimated = number(size.estimated_tokens)
        yield f"{number(reported)} reported for the last call, {estimated} estimated since"
    family = size.family
    if family is None:
        yield "by our counter alone: its model was never measured"
    elif size.error_tokens is None:
        yield f"by {family.name}, factor {family.factor:.2f}: error not measured"
    else:
        median, most = size.error_tokens
        yield f"off by {number(median)} as a rule, by over {number(most)} in 1 of 10"
        yield f"measured on {family.name}: {family.samples} samples, {family.date}"


def _unattributed(size: ContextSize, coverage: str) -> Iterator[str]:
    """What is in the total and in no item."""
    if size.unattributed < 0:
        yield f"{number(-size.unattributed)} more than the model counts for them"
        return
    yield f"{number(size.unattributed)} unattributed:"
    own = size.by_tokenizer
    if own:
        yield f"  {number(own)} by the model's own tokenizer and framing"
    rest = size.unattributed - (own or 0)
    if rest > 0 and coverage != "exact":
        yield f"  {number(rest)} not in a transcript: system prompt, tools, re-read files"
    elif rest:
        yield f"  {number(rest)} counted otherwise"


def _why_unknown(shown: WindowView) -> str:
    if shown.coverage != "exact":
        return "no call reported it, and a transcript holds only a part"
    return "no call reported it, and its model was never measured"
