"""Where results and messages go: stdout, stderr, a pager; colour and width.

Everything printed passes through `plaintext.plain`, so recorded text cannot act on the terminal.
On a terminal lines are laid out for its width; piped, they are whole, one record a line, without
colour. Knows nothing about ledgers.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from ctxledger.ledger.plaintext import ELLIPSIS, plain

from .json_text import json_line

if TYPE_CHECKING:
    from .pager import Pager
    from .tables import Column

WIDTH_CELLS = 80
HEIGHT_LINES = 24
"""Used when the terminal does not say."""

_SGR = {
    "bold": "1", "dim": "2", "underline": "4", "red": "31", "green": "32", "yellow": "33",
    "blue": "34", "magenta": "35", "cyan": "36",
}  # fmt: skip


class Styled(NamedTuple):
    """Text with a style of words such as `bold red`; the style is lost without colour."""

    text: str
    style: str = ""


Text = str | Styled
"""What may be printed; both may hold recorded text as it came."""


class Output:
    """The output of one run."""

    def __init__(self, *, width_cells: int | None = None) -> None:
        """`width_cells`: lay out for a terminal of this width, whatever stdout is."""
        self.is_json = False
        """--json: the command prints `json` and nothing else on stdout."""
        self.color = "auto"
        self.is_quiet = False
        self.is_unpaged = False
        self._width_cells = width_cells
        self._held: list[str] | None = None
        self._pager: Pager | None = None
        self._late: list[str] = []

    # -- what stdout is -----------------------------------------------------------------------

    @property
    def is_terminal(self) -> bool:
        """True when lines are laid out for a width; False when piped."""
        return self._width_cells is not None or _is_tty(sys.stdout)

    @property
    def width(self) -> int | None:
        """Cells of a line, None = as long as it needs (piped)."""
        if self._width_cells is not None:
            return self._width_cells
        return max(40, _screen()[0]) if _is_tty(sys.stdout) else None

    @property
    def has_color(self) -> bool:
        """Whether styles are written."""
        if self.color != "auto":
            return self.color == "always"
        return (
            _is_tty(sys.stdout)
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") != "dumb"
        )

    @property
    def is_unicode(self) -> bool:
        """Whether stdout can show blocks and ellipses."""
        encoding = (getattr(sys.stdout, "encoding", "") or "ascii").lower()
        return encoding.replace("-", "").startswith("utf")

    @property
    def ellipsis(self) -> str:
        """The mark of cut text."""
        return ELLIPSIS if self.is_unicode else "..."

    # -- results: stdout ----------------------------------------------------------------------

    def json(self, value: Mapping[str, object]) -> None:
        """Print one object on one line."""
        self._write(json_line(value, is_ascii=not self.is_unicode))

    def line(self, *parts: Text) -> None:
        """Print one line of text and styled texts; newlines in them are kept."""
        self._write("".join(self.paint(part) for part in parts).rstrip(" "))

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[Text]]) -> None:
        """Print rows under a heading; see tables.py."""
        from .tables import table_lines

        for parts in table_lines(columns, rows, self.width, self.ellipsis):
            self.line(*parts)

    def paint(self, part: Text, *, keep_newlines: bool = True) -> str:
        """One text made safe, with its style if there is colour."""
        text, style = part if isinstance(part, Styled) else (part, "")
        safe = plain(text, keep_newlines=keep_newlines)
        if not style or not self.has_color or not safe.strip():
            return safe
        codes = ";".join(_SGR[word] for word in style.split())
        return f"\x1b[{codes}m{safe}\x1b[0m"

    # -- messages: stderr ---------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Say something that -q silences."""
        if not self.is_quiet:
            self._say(text)

    def warn(self, text: str) -> None:
        """Say something that must be said."""
        self._say(f"ctxledger: {text}")

    def _say(self, text: str) -> None:
        """Behind what was printed before; while a pager has the screen, when it has ended."""
        if self._pager is not None:
            self._late.append(text)
            return
        self.flush()
        _to_stderr(text)

    def usage(self, text: str) -> None:
        """Say how the program is called."""
        _to_stderr(text)

    def fail(self, message: str, hint: str) -> None:
        """Say why nothing was done, and what to do next."""
        try:
            sys.stdout.flush()
        except OSError:
            self.forget_stdout()
        _to_stderr(f"ctxledger: {message}")
        if hint:
            _to_stderr(f"  {hint}")

    # -- writing ------------------------------------------------------------------------------

    def _write(self, text: str) -> None:
        """Hold back the first screenful on a terminal: what is longer goes to a pager."""
        if self._pager is not None:
            self._pager.write(text + "\n")
            return
        if self.is_unpaged or self.is_json or not (_is_tty(sys.stdout) and _is_tty(sys.stdin)):
            _emit(sys.stdout, text + "\n")
            return
        self._held = [*(self._held or []), text]
        if sum(part.count("\n") + 1 for part in self._held) >= _screen()[1]:
            from .pager import start_pager

            self._pager = start_pager()
            held, self._held = self._held, None
            if self._pager is None:
                self.is_unpaged = True
            for part in held:
                self._write(part)

    def flush(self) -> None:
        """Show what is held back, at once."""
        held, self._held = self._held, None
        for text in held or ():
            _emit(sys.stdout, text + "\n")
        if self._pager is None:
            sys.stdout.flush()

    def close(self, *, is_failed: bool = False) -> None:
        """Show everything and wait for the pager; after a failure, never fail again."""
        try:
            self.flush()
            if self._pager is not None:
                pager, self._pager = self._pager, None
                pager.close()
            late, self._late = self._late, []
            for text in late:
                _to_stderr(text)
        except OSError:
            if not is_failed:
                raise
            self.forget_stdout()

    @staticmethod
    def forget_stdout() -> None:
        """The reader of stdout has gone: drop what is buffered, so that exit is quiet."""
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            return  # no file behind stdout: nothing can complain at exit


def _to_stderr(text: str) -> None:
    sys.stdout.flush()
    with suppress(OSError):  # nobody can be told any more; the exit code still says it
        _emit(sys.stderr, plain(text) + "\n")
        sys.stderr.flush()


def _emit(stream: IO[str], text: str) -> None:
    """Write, whatever the stream's encoding can take."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = getattr(stream, "encoding", "") or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _is_tty(stream: IO[str]) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


def _screen() -> tuple[int, int]:
    """(columns, lines); COLUMNS and LINES come first."""
    size = shutil.get_terminal_size((WIDTH_CELLS, HEIGHT_LINES))
    return size.columns, size.lines
