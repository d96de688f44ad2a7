"""What a command gets: settings, the output, and ledgers that are opened when asked for.

Reads the environment. Knows nothing about single commands.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from .paths import is_folder, is_hidden, is_there

if TYPE_CHECKING:
    from ctxledger.ledger import Ledger, Session
    from ctxledger.ledger.record.places import Recording

    from .output import Output

OpenMode = Literal["write", "read", "auto"]
RECORDING_SUFFIXES = frozenset({".jsonl", ".json", ".yaml", ".yml", ".ndjson", ".sse", ".txt"})
"""A SESSION argument with one of these is a file, even where there is none."""


class Context:
    """The settings of one run. Tests make one with fixed width, clock and chance."""

    def __init__(
        self,
        *,
        db: str = "",
        width_cells: int | None = None,
        clock_us: Callable[[], int] | None = None,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        """`width_cells`: lay out for a terminal of this width, whatever stdout is."""
        self.given_db = db
        """What --db said, "" when it was not given; commands that are proposed repeat it."""
        self._width_cells = width_cells
        self._clock_us, self._entropy = clock_us, entropy
        self._closing = ExitStack()
        self._opened: dict[tuple[str, str], Ledger] = {}
        self.exit_code = 0

    @cached_property
    def out(self) -> Output:
        """The output, made when first needed: the help needs none of it."""
        from .output import Output

        return Output(width_cells=self._width_cells)

    def set(self, name: str, value: Any) -> None:
        """Take a global option: `db`, or one of the output's."""
        if name == "db":
            self.given_db = value
        else:
            setattr(self.out, name, value)

    def found(self) -> None:
        """The command found what its exit code 1 stands for; it goes on to its end."""
        self.exit_code = 1

    def close(self, *, is_failed: bool = False) -> None:
        """Close ledgers, finish the output. Safe to call again."""
        self._closing.close()
        self._opened = {}
        if "out" in self.__dict__:
            self.out.close(is_failed=is_failed)

    # -- ledgers ------------------------------------------------------------------------------

    @property
    def db_path(self) -> Path:
        """The ledger file: --db, CTXLEDGER_DB, or the data folder."""
        name = self.given_db or os.environ.get("CTXLEDGER_DB", "")
        if name:
            return Path(name)
        from platformdirs import user_data_path

        return user_data_path("ctxledger", appauthor=False) / "ledger.db"

    def ledger(self, mode: OpenMode = "auto") -> Ledger:
        """The ledger of this run, closed at its end.

        Args:
            mode: `write` makes the file if there is none; `auto` reads, and keeps counts if it can.

        Raises:
            BadInput: there is none to read, exit 2; and what Ledger.open says.
        """
        return self._open(str(self.db_path), mode)

    def _open(self, path: str, mode: OpenMode) -> Ledger:
        from ctxledger.ledger import Ledger

        found = self._opened.get((path, mode))
        if found is not None:
            return found
        if mode == "write" and path == str(self.db_path):
            self._make_folder()
        ledger = Ledger.open(path, mode, clock_us=self._clock_us, entropy=self._entropy)
        self._opened[path, mode] = self._closing.enter_context(ledger)
        return ledger

    def _make_folder(self) -> None:
        from ctxledger.ledger import StorageFailed

        folder = self.db_path.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed(
                f"The folder {folder} cannot be made: {error.strerror}.", "Name a file with --db."
            ) from error

    # -- sessions -----------------------------------------------------------------------------

    @staticmethod
    def is_file(reference: str) -> bool:
        """True when a SESSION argument names an existing file, a pipe, or stdin (`-`).

        A folder counts only when it is written as a path: `src` may be a session.
        """
        if not reference or reference == "-":
            return bool(reference)
        is_path = "/" in reference
        if is_there(reference):
            return is_path or not is_folder(reference)
        return is_path and is_hidden(reference)  # whoever opens it says so

    def reading(self, reference: str) -> Session:
        """The session that a SESSION argument means, to read.

        Args:
            reference: a name, title, unique prefix or `@`; a file, which is read into a ledger in
                memory (its session with the most events); "" = the newest of the ledger, or of
                the recordings on this machine while the ledger is empty.

        Raises:
            UnknownReference: none or several, or the ledger is empty.
            BadInput, UnknownFormat: the file cannot be read; there is no ledger.
        """
        file = self.file_of(reference)
        if file:
            from .files import session_of_file

            return session_of_file(self._open(":memory:", "write"), Path(file), self.out)
        return self._find("auto", reference)

    def file_of(self, reference: str) -> str:
        """The file that a SESSION argument means; "" = it is a session of the ledger.

        Without a SESSION, while the ledger has none: the newest that an agent of this machine
        recorded, which is said.
        """
        if self.is_file(reference):
            return reference
        return self._newest_file if not reference and not self._has_sessions else ""

    def has_session(self, name: str) -> bool:
        """Whether the ledger has a session of exactly this name."""
        return self._has_sessions and self.ledger("auto").store.session_id(name) is not None

    def recordings(self) -> list[Recording]:
        """What the agents of this machine recorded, the newest first."""
        from ctxledger.ledger.record.places import places, recordings

        try:
            home = Path.home()
        except RuntimeError:  # nobody's home: only what the environment names
            home = Path(os.devnull)
        return recordings(places(os.environ, home))

    @cached_property
    def _has_sessions(self) -> bool:
        try:
            if self.db_path.stat().st_size == 0:
                return False
        except FileNotFoundError:
            return False
        except (OSError, ValueError):
            return True  # whoever opens it says what is wrong
        return bool(self.ledger("auto").store.session_names())

    @cached_property
    def _newest_file(self) -> str:
        from ctxledger.ledger.record.places import newest

        found = self.recordings()
        recording = newest(found)
        if recording is not None:
            self.out.note(
                f"The ledger {self.db_path} has no sessions yet. This is the newest that an agent"
                f" recorded on this machine: {recording.path}"
            )
            return str(recording.path)
        if found:
            self.out.note(
                f"An agent recorded {found[0].path}, but {found[0].agent} cannot be read yet."
            )
        return ""

    def writing(self, reference: str) -> Session:
        """The session that a SESSION argument means, to change.

        Raises:
            BadInput: it is a file, or there is no ledger.
        """
        from ctxledger.ledger import BadInput

        if self.is_file(reference):
            raise BadInput(
                f"{reference} is a file; only a ledger can be changed.",
                f"Take it in first: `ctxledger ingest {quote(reference)}`.",
            )
        file = self.file_of(reference)
        if file:
            raise BadInput(
                "There is nothing in the ledger yet that could be changed.",
                f"Take the recording in first: `ctxledger ingest {quote(file)}`.",
            )
        if not is_there(self.db_path):
            return self._find("read", reference)  # says what is missing
        return self._find("write", reference)

    def _find(self, mode: OpenMode, reference: str) -> Session:
        """A session by name; what can only be a mistyped path is called a missing file."""
        from ctxledger.ledger import BadInput, UnknownReference

        try:
            return self.ledger(mode).find(as_name(reference))
        except (BadInput, UnknownReference) as error:
            if not is_path(reference):
                raise
            raise BadInput(
                f"There is no file {reference}, and no session of that name.", "Check the path."
            ) from error


def is_path(reference: str) -> bool:
    """Whether a SESSION argument is written as the path of a file."""
    return "/" in reference or Path(reference).suffix.lower() in RECORDING_SUFFIXES


def as_name(reference: str) -> str:
    """A SESSION argument as a name; "" = `@`.

    Raises:
        BadInput: the shell gave bytes that are no text.
    """
    if not reference.isascii():
        try:
            reference.encode()
        except UnicodeEncodeError as error:
            from ctxledger.ledger import BadInput

            raise BadInput(f"{reference!r} is no text.", "See `ctxledger sessions`.") from error
    return reference or "@"
