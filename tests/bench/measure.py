"""Timing in pairs, and the table that the README shows."""

from __future__ import annotations

import platform
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    what: str
    value: float
    unit: str
    goal: float
    detail: str = ""

    @property
    def is_reached(self) -> bool:
        """True when the value is at most the goal."""
        return self.value <= self.goal


def seconds(run: Callable[[], object], repeats: int = 5) -> float:
    """Median seconds of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def ratio(
    ours: Callable[[], object],
    other: Callable[[], object],
    repeats: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Median of ours divided by other's, run in turn."""
    ratios = []
    for _ in range(repeats):
        start = clock()
        ours()
        middle = clock()
        other()
        ratios.append((middle - start) / (clock() - middle))
    return statistics.median(ratios)


def percentile(values: list[float], share: float) -> float:
    """The value that `share` of all are at most."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def table(results: list[Result]) -> str:
    """A Markdown table."""
    python, sqlite = platform.python_version(), sqlite3.sqlite_version
    lines = [
        f"Python {python}, SQLite {sqlite}, {sys.platform}, {platform.machine()}",
        "",
        "| what | measured | goal | reached | detail |",
        "|---|---|---|---|---|",
    ]
    lines.extend(
        f"| {r.what} | {r.value:.3g} {r.unit} | <= {r.goal:g} {r.unit} |"
        f" {'yes' if r.is_reached else '**no**'} | {r.detail} |"
        for r in results
    )
    return "\n".join(lines)
