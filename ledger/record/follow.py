"""Follows a growing file, as `tail -F` does.

Half lines wait, a replaced file is read to its end before the new one is opened, a shrunk or
rewritten one is reported and read again. Nothing is stored twice.
Knows nothing about signals and terminals.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from pathlib import Path

from ..errors import BadInput, UnknownFormat
from ..formats.detect import has_format
from ..import_report import Report
from ..importing import (
    HEAD_BYTES,
    HEAD_LINE_BYTES,
    READ_BYTES,
    FileSource,
    head_of,
    open_reader,
    refuse_own_file,
)
from ..ingest import SourceReader
from ..ledger import Ledger
from ..write_guard import SecretsMode
from .pipe import StopSign

POLL_S = 0.25
"""The file is looked at four times a second; works on network file systems too."""
TAIL_BYTES = 4096
"""So many of the bytes read last are compared at each look: a file can be cut and written anew,
longer than before, between two looks."""

News = Callable[[str], None]


class Follower:
    """One path being followed."""

    def __init__(
        self,
        ledger: Ledger,
        path: Path,
        on_news: News,
        *,
        session: str,
        format_name: str,
        secrets: SecretsMode = "keep",
    ) -> None:
        self._ledger, self._path, self._on_news = ledger, path, on_news
        self._session, self._format_name, self._secrets = session, format_name, secrets
        self._file: FileSource | None = None
        self._reader: SourceReader | None = None
        self._offset = 0
        self._tail = b""
        self._known_state = (0, 0)
        """State of a file that holds nothing but what the ledger has of it."""
        self._problem = ""
        self._unknown: UnknownFormat | None = None
        self._reports: list[Report] = []

    def step(self) -> bool:
        """Read what is new and commit it; False when there was nothing."""
        if self._file is None:
            self._open()
        has_new = self._read_new()
        if self._file is not None and self._was_replaced():
            self._read_new()  # what came to the old file before it was replaced
            self._close("was replaced; reading the new file", is_over=True)
            return True
        return has_new

    def finish(self) -> Report:
        """Commit what is whole and say what was done, all files of this path together.

        Raises:
            BadInput, UnknownFormat: the only file that was there has no format we know.
        """
        if self._file is not None or not self._reports:
            self._close("", is_over=True)
        if self._unknown is not None and not self._reports:
            raise self._unknown
        return _joined(self._reports, str(self._path))

    def _open(self) -> None:
        refuse_own_file(self._ledger, self._path)
        try:
            file = FileSource(self._path)
        except BadInput as error:
            if isinstance(error.__cause__, FileNotFoundError):
                self._wait_because(f"{self._path} does not exist")
            elif self._reports or isinstance(error.__cause__, PermissionError):
                self._wait_because(error.message.removesuffix("."))
            else:
                raise
            return
        self._problem = ""
        self._file, self._offset, self._tail = file, 0, b""
        self._known_state = (0, 0)

    def _wait_because(self, problem: str) -> None:
        if problem != self._problem:
            self._on_news(f"{problem}; waiting for it.")
        self._problem = problem

    def _read_new(self) -> bool:
        file = self._file
        if file is None or file.state == self._known_state:
            return False
        size = file.size
        if size < self._offset:
            self._close(f"shrank from {self._offset:,} to {size:,} bytes; nothing was removed")
            return True
        if file.read(self._offset - len(self._tail), len(self._tail)) != self._tail:
            self._close("was rewritten; reading it again")
            return True
        if self._reader is None and not (self._is_told(file) and self._place_reader(file)):
            return False
        assert self._reader is not None, "BUG: placed without a reader"
        if file.size <= self._offset:
            return False
        while data := file.read(self._offset, READ_BYTES):
            self._offset += len(data)
            self._tail = (self._tail + data)[-TAIL_BYTES:]
            self._reader.push(data)
        self._reader.commit()
        return True

    def _is_told(self, file: FileSource) -> bool:
        """Whether there is enough to tell the format from, as with a pipe."""
        head = head_of(file.read)
        has_line = b"\n" in head
        if bool(self._format_name) or has_format(head):
            return has_line or len(head) >= HEAD_BYTES
        return len(head) >= (HEAD_BYTES if has_line else HEAD_LINE_BYTES)

    def _place_reader(self, file: FileSource) -> bool:
        """Read on behind what is known; False when that is all of it, and more."""
        reader = open_reader(
            self._ledger,
            file,
            session=self._session,
            format_name=self._format_name,
            secrets=self._secrets,
        )
        if reader.length > file.size:
            self._known_state = file.state
            return False
        self._reader, self._offset = reader, reader.length
        start = max(0, self._offset - TAIL_BYTES)
        self._tail = file.read(start, self._offset - start)
        return True

    def _was_replaced(self) -> bool:
        """Another file has the path now; a path that is gone is waited for with the old one."""
        assert self._file is not None, "BUG: no file"
        try:
            status = self._path.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) != self._file.identity

    def _close(self, news: str, *, is_over: bool = False) -> None:
        """Let go of the file.

        Args:
            is_over: nothing more comes, so what is there is judged as it is.
        """
        file = self._file
        if self._reader is None and file is not None and is_over:
            self._read_untold(file)
        if self._reader is not None:
            self._reports.append(self._reader.finish())
        if file is not None:
            file.close()
        self._file = self._reader = None
        if news:
            self._on_news(f"{self._path} {news}.")

    def _read_untold(self, file: FileSource) -> None:
        """The end of a file whose format was not told so far."""
        if file.size == 0 or file.state == self._known_state:
            return
        try:
            if self._place_reader(file) and self._reader is not None:
                for data in file.parts(self._offset):
                    self._reader.push(data)
        except UnknownFormat as error:
            if b"\n" not in file.read(0, HEAD_BYTES):  # half a line
                name = str(self._path)
                self._reports.append(Report(source=name, format="", pending_bytes=file.size))
            else:
                self._unknown = error
                self._on_news(error.message)


def follow_file(
    ledger: Ledger,
    path: Path,
    stop: StopSign,
    *,
    on_news: News,
    session: str = "",
    format_name: str = "",
    secrets: SecretsMode = "keep",
) -> Report:
    """Read a file as it grows until told to stop.

    Args:
        on_news: told in a sentence when the file is missing, replaced or shrunk.
        secrets: what becomes of credentials in new records.

    Raises:
        BadInput, UnknownFormat: it is a folder, cannot be read, or has no format we know.
    """
    follower = Follower(
        ledger, path, on_news, session=session, format_name=format_name, secrets=secrets
    )
    while not stop.is_set:
        follower.step()
        select.select([stop.fd], [], [], POLL_S)
    follower.step()
    return follower.finish()


def _joined(reports: list[Report], name: str) -> Report:
    """One report on all files that had the path."""
    if len(reports) == 1:
        return reports[0]
    total = Report(source=name, format=reports[-1].format if reports else "")
    for report in reports:
        for field in ("records", "new_records", "duplicates", "conflicts", "repaired"):
            setattr(total, field, getattr(total, field) + getattr(report, field))
        total.pending_bytes += report.pending_bytes
        total.warnings += report.warnings
        for what, count in report.unknown.items():
            total.unknown[what] = total.unknown.get(what, 0) + count
        total.are_secrets_redacted |= report.are_secrets_redacted
        for what, count in report.secrets.items():
            total.secrets[what] = total.secrets.get(what, 0) + count
        for key, count_of in report.sessions.items():
            known = total.sessions.get(key)
            if known is None:
                total.sessions[key] = count_of
            else:
                known.records += count_of.records
                known.new_events += count_of.new_events
                known.quarantined += count_of.quarantined
    return total
