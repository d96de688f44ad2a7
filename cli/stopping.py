"""SIGINT and SIGTERM as a flag, so that a live reader ends between two commits.

Knows nothing about what is being read.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether a signal came; `fd` becomes readable then, for select."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.is_set = False


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Inside, SIGINT and SIGTERM set the flag; a second one ends the program as usual."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    stop = Stop(read_end)
    earlier = {number: signal.getsignal(number) for number in SIGNALS}

    def on_signal(number: int, _frame: object) -> None:
        if stop.is_set:
            raise KeyboardInterrupt
        stop.is_set = True
        os.write(write_end, bytes((number,)))

    for number in SIGNALS:
        signal.signal(number, on_signal)
    try:
        yield stop
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
        os.close(read_end)
        os.close(write_end)
