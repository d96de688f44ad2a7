"""Takes a file or a pipe into a ledger: detect its format, find what is known of it, read on.

One file because finding what is known of a file and placing a reader behind it is one decision.
Knows nothing about terminals.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from .errors import BadInput, StorageFailed
from .formats.detect import TRAFFIC, detect, has_format, is_line_based, make_fold
from .import_report import Report
from .ingest import SourceReader
from .ledger import Ledger
from .storage.masks import Masks
from .storage.sources import Source, SourceOptions, Sources
from .write_guard import SecretsMode, without_secrets

READ_BYTES = 1024 * 1024
HEAD_BYTES = 256 * 1024
"""This much is looked at to tell the format."""
HEAD_LINE_BYTES = 16 * 1024 * 1024
"""At most this much of a first line whose beginning does not tell it."""


class FileSource:
    """An open file with random access, for comparing and reading on."""

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            BadInput: it does not exist, is a folder, or cannot be read.
        """
        self.path = path
        try:
            self._file: BinaryIO = open(path, "rb", opener=_open_at_once)  # noqa: SIM115
        except FileNotFoundError as error:
            raise BadInput(f"There is no file {path}.", "Check the path.") from error
        except IsADirectoryError as error:
            raise BadInput(f"{path} is a folder.", "Give the path of a recording.") from error
        except OSError as error:
            raise BadInput(
                f"{path} cannot be read: {error.strerror}.", "Check its name and permissions."
            ) from error
        if not self._file.seekable():
            self._file.close()
            raise BadInput(f"{path} is a pipe or a device.", "Read it as one, with `open_pipe`.")

    @property
    def size(self) -> int:
        """Bytes now."""
        return os.fstat(self._file.fileno()).st_size

    @property
    def identity(self) -> tuple[int, int]:
        """(device, inode): changes when the file is replaced."""
        status = os.fstat(self._file.fileno())
        return status.st_dev, status.st_ino

    @property
    def state(self) -> tuple[int, int]:
        """(bytes, time of the last change): differs when something was written."""
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns

    def read(self, offset: int, length: int) -> bytes:
        """Bytes at a place, fewer at the end."""
        self._file.seek(offset)
        try:
            return self._file.read(length)
        except OSError as error:
            raise StorageFailed(
                f"{self.path} cannot be read: {error.strerror}.", "Check the disk."
            ) from error

    def parts(self, offset: int) -> Iterator[bytes]:
        """The bytes from `offset` on, in pieces."""
        while data := self.read(offset, READ_BYTES):
            offset += len(data)
            yield data

    def first_record(self, *, is_whole: bool) -> bytes:
        """The first line with its end; the whole file when it has none or is one record."""
        if is_whole:
            return b"".join(self.parts(0))
        head = b""
        for part in self.parts(0):
            line, newline, _ = part.partition(b"\n")
            head += line + newline
            if newline:
                break
        return head

    def close(self) -> None:
        """Close it."""
        self._file.close()


def _open_at_once(path: str, flags: int) -> int:
    """Open a named pipe too without waiting for its writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def refuse_own_file(ledger: Ledger, path: Path) -> None:
    """To be asked before a path is opened: closing a file of the ledger drops SQLite's locks.

    Raises:
        BadInput: it is the ledger itself, or its log.
    """
    for suffix in ("", "-wal", "-shm"):
        own = Path(f"{ledger.db.path}{suffix}")
        try:
            is_own = own.samefile(path)
        except OSError:  # one of them is not there, or nobody may look
            continue
        if is_own:
            raise BadInput(f"{path} is the ledger itself.", "Give the path of a recording.")


def import_file(
    ledger: Ledger,
    path: str | Path,
    *,
    session: str = "",
    format_name: str = "",
    is_again: bool = False,
    secrets: SecretsMode = "keep",
    on_read: Callable[[int, int], None] | None = None,
) -> Report:
    """Take a file in; what the ledger knows already is not added again.

    Args:
        session: name for the (first) session; "" = the source's own, or the file's stem.
        format_name: "" = detected from its contents.
        is_again: take it as a new source even if its bytes are known.
        secrets: what becomes of credentials in new records.
        on_read: told (bytes read, bytes of the file) after each part.

    Raises:
        BadInput: it cannot be read, or `session` has no letters.
        UnknownFormat: it is no format we know.
    """
    refuse_own_file(ledger, Path(path))
    file = FileSource(Path(path))
    try:
        reader = open_reader(
            ledger,
            file,
            session=session,
            format_name=format_name,
            is_again=is_again,
            secrets=secrets,
        )
        for part in file.parts(reader.length):
            reader.push(part)
            if on_read is not None:
                on_read(reader.length, file.size)
        return reader.finish()
    finally:
        file.close()


def head_of(read: Callable[[int, int], bytes]) -> bytes:
    """What the format is told from: more than usual when the first line starts with a long text.

    Args:
        read: gives (offset, length) of the input.
    """
    head = read(0, HEAD_BYTES)
    if len(head) < HEAD_BYTES or b"\n" in head or has_format(head):
        return head
    return read(0, HEAD_LINE_BYTES)


def open_reader(
    ledger: Ledger,
    file: FileSource,
    *,
    session: str = "",
    format_name: str = "",
    is_again: bool = False,
    secrets: SecretsMode = "keep",
) -> SourceReader:
    """A reader placed behind what the ledger knows of the file."""
    head = head_of(file.read)
    name = _storable(str(file.path))
    format_name = format_name or detect(head, name)
    source: Source | None = None
    found = ""
    is_whole = is_whole_document(format_name, head)
    if not is_again:
        first = file.first_record(is_whole=is_whole)
        source, found = match_source(ledger.sources, first, file.read, file.size)
        if source is not None and source.format != format_name:
            source, found = None, ""
    if secrets == "redact":
        name, session = without_secrets(name), without_secrets(session)
    options = _options(session, file.path.stem) if source is None else source.options
    reader = SourceReader(
        ledger.store,
        ledger.writer,
        source,
        lambda: make_fold(format_name, options.default_session, head),
        name=name,
        kind="file",
        format_name=format_name,
        options=options,
        is_same_text=found == "changed",
        is_whole=is_whole,
        secrets=secrets,
    )
    if source is not None:
        _warn_of_masks(ledger, source, name, reader)
    if source is not None and session not in ("", options.given_session):
        reader.report.warnings.append(
            f"{name} is in the ledger already, as {options.default_session};"
            " --session was not used."
        )
    if found == "shrunk":
        reader.report.warnings.append(
            f"{name} is shorter than what the ledger has of it; nothing was removed."
        )
    elif found == "changed":
        reader.report.warnings.append(
            f"{name} begins like a known recording but its past was changed; only records"
            " that are not known were added."
        )
    return reader


def _warn_of_masks(ledger: Ledger, source: Source, name: str, reader: SourceReader) -> None:
    hidden = sum(mask.length for mask in Masks(ledger.db).of(source.id))
    if hidden:
        reader.report.warnings.append(
            f"{name} was redacted in the ledger: {hidden:,} bytes of it are not taken in again."
        )


def match_source(
    sources: Sources, head: bytes, read: Callable[[int, int], bytes], size: int
) -> tuple[Source | None, str]:
    """Find the stored source that a file continues.

    Args:
        head: the bytes of the file's first record.
        read: gives (offset, length) of the file.
        size: bytes of the file.

    Returns:
        (source, "") when the file begins with all of it; (source, "shrunk") when the file is a
        shorter state of it; (None, "changed") when only their first records are equal;
        (None, "") when it is new.
    """
    candidates = sources.with_head(head)
    masks = Masks(sources.db)
    for source in candidates:
        if source.length <= size and masks.is_beginning(source, read):
            return source, ""
    for source in candidates:
        if source.length <= size:
            continue
        beginning = masks.behind(source.id, 0, read(0, size))
        if sources.read_range(source.id, 0, size) == beginning:
            return source, "shrunk"
    return None, "changed" if candidates else ""


def is_whole_document(format_name: str, head: bytes) -> bool:
    """True when the whole input is one record (a cassette, a stream of server events)."""
    return format_name in TRAFFIC and not is_line_based(head)


def _storable(name: str) -> str:
    """A file name as text that can be stored: what is not UTF-8 in it shows as `?`."""
    return name.encode("utf-8", "replace").decode()


_NO_LABEL = re.compile(r"[^A-Za-z0-9_.@+=~-]+")
"""What a session named by its file has a dash for: `my log (1)` is `my-log-1`."""


def _options(session: str, stem: str) -> SourceOptions:
    session, stem = _storable(session), without_secrets(_storable(stem))
    slug = _NO_LABEL.sub("-", stem).strip("-")
    return SourceOptions(
        default_session=session or slug or stem or "session", given_session=session
    )


def open_pipe(
    ledger: Ledger,
    head: bytes,
    *,
    name: str,
    session: str = "",
    format_name: str = "",
    secrets: SecretsMode = "keep",
) -> SourceReader:
    """A reader for a pipe whose first bytes are `head` (not yet consumed)."""
    format_name = format_name or detect(head, name)
    session = without_secrets(session) if secrets == "redact" else session
    default = session or f"pipe-{ledger.now_ms()}"
    options = SourceOptions(default_session=default, given_session=session)
    return SourceReader(
        ledger.store,
        ledger.writer,
        None,
        lambda: make_fold(format_name, default, head),
        name=name,
        kind="pipe",
        format_name=format_name,
        options=options,
        is_whole=is_whole_document(format_name, head),
        secrets=secrets,
    )
