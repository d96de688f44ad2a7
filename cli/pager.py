"""The pager for what is longer than the screen: $PAGER, else `less -R`, else none.

Knows nothing about what is shown.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys


class Pager:
    """A running pager."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._is_gone = False

    def write(self, text: str) -> None:
        """Give it text. When it was quit, the program ends quietly (BrokenPipeError)."""
        stdin = self._process.stdin
        assert stdin is not None, "BUG: the pager has no stdin"
        stdin.write(text)

    def close(self) -> None:
        """Wait until the user has quit it."""
        stdin = self._process.stdin
        assert stdin is not None, "BUG: the pager has no stdin"
        try:
            stdin.close()
        except BrokenPipeError:
            self._is_gone = True
        while True:
            try:
                self._process.wait()
            except KeyboardInterrupt:
                continue  # ctrl-c belongs to the pager
            return


def start_pager() -> Pager | None:
    """Start it; None when there is none or the user wants none (`PAGER=cat`, `PAGER=`)."""
    try:
        command = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:  # a quote without an end
        return None
    if not command or command[0] == "cat" or shutil.which(command[0]) is None:
        return None
    environment = {**os.environ}
    environment.setdefault("LESS", "FRX")
    environment.setdefault("LESSCHARSET", "utf-8")
    process = subprocess.Popen(  # noqa: S603 (the user's own pager)
        command,
        stdin=subprocess.PIPE,
        env=environment,
        text=True,
        encoding=sys.stdout.encoding,
        errors="backslashreplace",
    )
    return Pager(process)
