"""Follows a growing file, as `tail -F` does.

Half lines wait, a replaced file is read to its end before the new one is opened, a shrunk one is
reported. Nothing is stored twice.
Knows nothing about signals and terminals.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from pathlib import Path

from ..errors import BadInput
from ..import_report import Report
from ..importing import READ_BYTES, FileSource, open_reader, refuse_own_file
from ..ingest import SourceReader
from ..ledger import Ledger
from .pipe import StopSign

POLL_S = 0.25
"""The file is looked at four times a second; works on network file systems too."""

News = Callable[[str], None]


class Follower:
    """One path being followed."""

    def __init__(
        self, ledger: Ledger, path: Path, on_news: News, *, session: str, format_name: str
    ) -> None:
        self._ledger, self._path, self._on_news = ledger, path, on_news
        self._session, self._format_name = session, format_name
        self._file: FileSource | None = None
        self._reader: SourceReader | None = None
        self._offset = 0
        self._is_missing = False
        self._reports: list[Report] = []

    def step(self) -> bool:
        """Read what is new and commit it; False when there was nothing."""
        if self._file is None:
            self._open()
        has_new = self._read_new()
        if self._file is not None and self._was_replaced():
            self._read_new()  # what came to the old file before it was replaced
            self._close("was replaced; reading the new file")
            return True
        return has_new

    def finish(self) -> Report:
        """Commit what is whole and say what was done, all files of this path together."""
        if self._file is not None or not self._reports:
            self._close("")
        return _joined(self._reports, str(self._path))

    def _open(self) -> None:
        refuse_own_file(self._ledger, self._path)
        try:
            file = FileSource(self._path)
        except BadInput:
            if self._path.is_dir():
                raise
            if not self._is_missing:
                self._on_news(f"{self._path} does not exist; waiting for it.")
            self._is_missing = True
            return
        self._is_missing = False
        self._file, self._offset = file, 0

    def _read_new(self) -> bool:
        file = self._file
        if file is None:
            return False
        size = file.size
        if size < self._offset:
            self._close(f"shrank from {self._offset:,} to {size:,} bytes; nothing was removed")
            return True
        if self._reader is None:
            if not _has_line(file):
                return False
            self._reader = open_reader(
                self._ledger, file, session=self._session, format_name=self._format_name
            )
            self._offset = self._reader.length
        if size <= self._offset:
            return False
        while data := file.read(self._offset, READ_BYTES):
            self._offset += len(data)
            self._reader.push(data)
        self._reader.commit()
        return True

    def _was_replaced(self) -> bool:
        """Another file has the path now; a path that is gone is waited for with the old one."""
        assert self._file is not None, "BUG: no file"
        try:
            status = self._path.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) != self._file.identity

    def _close(self, news: str) -> None:
        if self._reader is not None:
            self._reports.append(self._reader.finish())
        if self._file is not None:
            self._file.close()
        self._file = self._reader = None
        if news:
            self._on_news(f"{self._path} {news}.")


def follow_file(
    ledger: Ledger,
    path: Path,
    stop: StopSign,
    *,
    on_news: News,
    session: str = "",
    format_name: str = "",
) -> Report:
    """Read a file as it grows until told to stop.

    Args:
        on_news: told in a sentence when the file is missing, replaced or shrunk.

    Raises:
        BadInput, UnknownFormat: it is a folder, cannot be read, or has no format we know.
    """
    follower = Follower(ledger, path, on_news, session=session, format_name=format_name)
    while not stop.is_set:
        follower.step()
        select.select([stop.fd], [], [], POLL_S)
    follower.step()
    return follower.finish()


def _has_line(file: FileSource) -> bool:
    """Whether there is a first whole line to tell the format from."""
    return b"\n" in file.read(0, READ_BYTES)


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
        for key, count_of in report.sessions.items():
            known = total.sessions.get(key)
            if known is None:
                total.sessions[key] = count_of
            else:
                known.records += count_of.records
                known.new_events += count_of.new_events
                known.quarantined += count_of.quarantined
    return total
