"""How large a window is to its model, and how sure that is.

The provider's number for the last call, plus an estimate of what changed since. What the counter
does not find (the provider's tokenizer, a system prompt that is not in a transcript) is the
`unattributed` part; parts plus unattributed is the total. Knows nothing about storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

from ..calibration import CALIBRATED, COUNTED_WITH, Family, Seen, estimate, family_of
from ..cost import Limit, reserve_of, share_of

PROVIDER = "provider"


class Keyed(Seen, Protocol):
    """An entry that can be found in another window."""

    @property
    def key(self) -> str:
        """Names its place."""
        ...


class Weighed(Struct, frozen=True):
    """An entry's count, without its contents."""

    key: str
    role: str
    type: str
    origin: str
    tokens: int


class Reported(Struct, frozen=True):
    """What a call's provider said, and the window it said it of."""

    tokens: int
    """Context of the call."""
    entries: tuple[Weighed, ...]
    output_tokens: int = 0
    """Of its answer when that was complete; 0 = not known."""

    @property
    def unrecorded(self) -> int:
        """What is more in it than was counted."""
        return self.tokens - sum(entry.tokens for entry in self.entries)


class ContextSize(Struct, frozen=True):
    """The size of a window as its model counts it."""

    tokens: int
    method: str
    """`provider`, `estimate/calibrated`, or both joined by ` + `."""
    unattributed: int
    """`tokens` minus what was counted."""
    by_tokenizer: int | None = None
    """Of `unattributed`: what the model's own tokenizer adds to our counts (an estimate), less
    what the provider leaves out; the rest is not on record. None = no factor is known."""
    estimated_tokens: int = 0
    """How much of it is an estimate; the errors are shares of this."""
    family: Family | None = None
    """Whose factor was used."""
    limit: Limit = Limit()
    reserve_tokens: int = 0
    """Of the limit, kept for the answer."""

    @property
    def error_tokens(self) -> tuple[int, int] | None:
        """(median, nine of ten) of the estimate's error; None = not measured or none."""
        family = self.family
        if family is None or family.error_median is None or family.error_p90 is None:
            return None
        if not self.estimated_tokens:
            return None
        size = self.estimated_tokens
        return round(family.error_median * size), round(family.error_p90 * size)

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        limit, error = self.limit.tokens, self.error_tokens
        factor = self.family if self.estimated_tokens else None
        share = share_of(limit, self.reserve_tokens, self.tokens) if limit else None
        return {
            "tokens": self.tokens,
            "method": self.method,
            "unattributed": self.unattributed,
            "by_tokenizer": self.by_tokenizer,
            "estimated": self.estimated_tokens,
            "error_median": error[0] if error else None,
            "error_p90": error[1] if error else None,
            "factor": factor.factor if factor else None,
            "factor_date": factor.date if factor else None,
            "factor_samples": factor.samples if factor else None,
            "limit": limit,
            "limit_source": self.limit.source,
            "reserve": self.reserve_tokens if limit else None,
            "percent_of_limit": share.full_percent if share else None,
            "percent_of_usable": share.usable_percent if share else None,
            "tokens_left": share.tokens_left if share else None,
        }


def size_of(
    entries: Sequence[Keyed],
    reported: Reported | None,
    *,
    model: str,
    counter: str,
    is_exact: bool,
    limit: Limit = Limit(),  # noqa: B008 - frozen
    max_tokens: int | None = None,
) -> ContextSize | None:
    """The size of a window to its model; None when nothing true can be said.

    Args:
        entries: the window, with counts by `counter`.
        reported: the newest call whose context was reported.
        is_exact: the whole request is on record, so that a count of it alone means something.
        max_tokens: what the newest call asked for at most.
    """
    counted = sum(entry.tokens for entry in entries)
    family = family_of(model) if counter == COUNTED_WITH else None
    reserve = reserve_of(limit, max_tokens)
    if reported is None:
        if family is None or not is_exact:
            return None
        tokens = estimate(family, model, entries)
        added = tokens - counted
        return ContextSize(tokens, CALIBRATED, added, added, tokens, family, limit, reserve)
    change, estimated = _change(entries, reported, family, model)
    method = PROVIDER
    if estimated:
        method += f" + {CALIBRATED if family is not None else counter}"
    tokens = max(0, reported.tokens + change)
    own = estimate(family, model, entries) - counted if family is not None else None
    return ContextSize(tokens, method, tokens - counted, own, estimated, family, limit, reserve)


def _change(
    entries: Sequence[Keyed], reported: Reported, family: Family | None, model: str
) -> tuple[int, int]:
    """(tokens since the report, how many of them are estimated)."""

    def weigh(part: Sequence[Seen]) -> int:
        if family is None:
            return sum(entry.tokens for entry in part)
        return estimate(family, model, part)

    before = reported.entries
    change = weigh(entries) - weigh(before)
    goes_on = [e.key for e in entries[: len(before)]] == [e.key for e in before]
    if reported.output_tokens and goes_on and len(entries) > len(before):
        answer = _answer(entries[len(before) :])
        known = reported.output_tokens
        change += known - weigh(answer)
        return change, abs(change - known)
    return change, abs(change)


def _answer(entries: Sequence[Keyed]) -> Sequence[Keyed]:
    """The blocks at the beginning that the assistant wrote."""
    end = next((n for n, e in enumerate(entries) if e.role != "assistant"), len(entries))
    return entries[:end]
