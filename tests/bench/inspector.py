"""The inspector on a long ledger against a short one: first paint, and the time a key takes."""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path

from ctxledger.inspector.app import InspectorApp
from ctxledger.inspector.widgets.line_list import LineList
from ctxledger.ledger import Ledger
from ctxledger.ledger.caches.catchup import catch_up

from .ledgers import long_session
from .measure import Result, percentile

EVENTS_SHORT = 1_000
KEYS = ("k", "k", "k", "pageup", "k", "left_square_bracket", "g", "j", "j", "G", "k", "pageup")
"""Up and down, by pages, to a compaction, to both ends."""
VISITS = 7


def inspector(versions: int, folder: Path) -> list[Result]:
    """Both windows have the same number of items, so only the length of the history differs."""
    short, long = folder / "short.db", folder / "million.db"
    for path, events in ((short, EVENTS_SHORT), (long, versions)):
        long_session(path, events)
        with Ledger.open(path) as ledger:
            catch_up(ledger.store)
            ledger.find("long").window()  # counts the tokens once
    asyncio.run(_visit(short))  # imports, and the tokenizer's table
    paints: dict[Path, list[float]] = {short: [], long: []}
    keys: dict[Path, list[float]] = {short: [], long: []}
    for _ in range(VISITS):
        for path in (short, long):
            gc.collect()  # or the apps before this one are cleared away in the middle of it
            gc.disable()
            paint, pressed = asyncio.run(_visit(path))
            gc.enable()
            paints[path].append(paint)
            keys[path] += pressed
    results = []
    for what, times in (("first paint", paints), ("key press", keys)):
        ours, other = percentile(times[long], 0.5), percentile(times[short], 0.5)
        detail = f"{ours * 1e3:.0f} ms, slowest {max(times[long]) * 1e3:.0f} ms"
        name = f"inspector {what}, {versions:,} events / {EVENTS_SHORT:,}"
        results.append(Result(name, ours / other, "", 1.2, detail))
    return results


async def _visit(path: Path) -> tuple[float, list[float]]:
    """Processor seconds until timeline and window are there, and of each key until it is drawn.

    Not the clock's: waiting for the screen's timers is the same for both and would hide much.
    """
    start = time.process_time()
    app = InspectorApp(str(path), "long")
    async with app.run_test(size=(140, 40)) as pilot:
        while not _is_painted(app):
            await pilot.pause()
        paint = time.process_time() - start
        times = []
        for key in KEYS:
            start = time.process_time()
            await pilot.press(key)
            times.append(time.process_time() - start)
        return paint, times


def _is_painted(app: InspectorApp) -> bool:
    lists = app.screen.query("#entries").results(LineList)
    return any(entries.count > 1 for entries in lists)
