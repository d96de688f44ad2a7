"""One thread beside the screen that reads and counts, with its own connection.

Questions are answered one after the other; whoever asks awaits, and cancels what is old.
Knows nothing about Textual.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .feed import Feed

T = TypeVar("T")


class Background:
    """Owns a thread and the feed that lives in it."""

    def __init__(self, make_feed: Callable[[], Feed]) -> None:
        self._make_feed = make_feed
        self._feed: Feed | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ctxledger-reader")

    async def ask(self, question: Callable[[Feed], T]) -> T:
        """Run a question on the thread's feed and give its answer or its error."""
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, lambda: question(self._own_feed())
        )

    async def run(self, work: Callable[[], T]) -> T:
        """Run something that needs no feed on the same thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _own_feed(self) -> Feed:
        if self._feed is None:
            self._feed = self._make_feed()
        return self._feed

    def close(self) -> None:
        """End the thread after what it is doing; questions that wait are dropped."""

        def close_feed() -> None:
            if self._feed is not None:
                self._feed.close()

        try:
            self._thread.submit(close_feed)
        finally:
            self._thread.shutdown(wait=True, cancel_futures=False)
