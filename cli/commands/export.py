"""`ctxledger export`: the source byte for byte, native lines, or a request body."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import click

from ctxledger.ledger import BadInput, Session, StorageFailed
from ctxledger.ledger.storage.sources import Source

from ..arguments import command_line
from ..context import Context
from ..json_text import json_line
from ..options import at_option, command, session_argument
from ..paths import is_folder, is_pipe_or_device, is_there
from ..tables import counted, number
from .window import REQUEST_FORMATS, print_repairs, request_at

EXAMPLES = """
ctxledger export refactor-auth --format original -o session.jsonl
ctxledger export @ --format events > session.native.jsonl
ctxledger export @ --format anthropic --at c1^ -o request.json
"""
MASKS_NAMED_MAX = 10
FORMATS = ("original", "events", *REQUEST_FORMATS)


@command(EXAMPLES)
@session_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    required=True,
    help="The bytes that came in; native lines; a request body valid for sending.",
)
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    default="",
    help="A new file, or a folder for several sources.",
)
@click.option("--force", "is_forced", is_flag=True, help="Overwrite files.")
@at_option
@click.pass_obj
def export(
    context: Context, session: str, form: str, target: str, is_forced: bool, at: str
) -> None:
    """Write a session out again, to stdout or into a file that only you can read.

    `original` is byte-exact and whole, whatever --at says; `events` taken in again gives the same
    windows.
    """
    chosen = context.reading(session)
    out = context.out
    if form == "original":
        again = command_line(
            context,
            "export",
            session or context.file_of("") or "@",
            "--format",
            "original",
            "-o",
            "FOLDER",
        )
        write_sources(chosen, target, context, again, is_forced=is_forced)
        return
    version = chosen.resolve(at)
    if form == "events":
        parts: Iterable[bytes] = (f"{line}\n".encode() for line in native_text(chosen, version))
    else:
        provider = next(name for name in REQUEST_FORMATS if name == form)
        body, repairs = request_at(chosen, version, provider)
        print_repairs(repairs, out)
        parts = (f"{json_line(body)}\n".encode(),)
    write(parts, target, context, is_forced=is_forced)


def native_text(session: Session, version: int) -> Iterator[str]:
    """The session as lines of the native grammar."""
    from ctxledger.ledger.exporting.native import native_lines

    for _, lines in native_lines(session, version):
        yield from map(json_line, lines)


def write_sources(
    session: Session, target: str, context: Context, again: str, *, is_forced: bool
) -> None:
    """Write the sources of a session: one to stdout or a file, several into a folder.

    Raises:
        BadInput: it came from no source; several and no folder; the file exists.
    """
    sources = session.ledger.sources
    found = sources.of_session(session.id)
    if not found:
        raise BadInput(
            f"{session.name} came from no recording.", "Use --format events for what was recorded."
        )
    has_folder = bool(target) and is_folder(target)
    if len(found) == 1 and not has_folder:
        write(sources.read(found[0].id), target, context, is_forced=is_forced)
        say_masked(session, found, context)
        return
    if not has_folder:
        names = "; ".join(f"{s.name} ({number(s.length)} bytes)" for s in found)
        raise BadInput(
            f"{session.name} came from {len(found)} sources: {names}.",
            f"Write them into an existing folder: `{again}`.",
        )
    for name, source in zip(file_names(found), found, strict=True):
        write(sources.read(source.id), str(Path(target) / name), context, is_forced=is_forced)
    say_masked(session, found, context)


def say_masked(session: Session, sources: Iterable[Source], context: Context) -> None:
    """Where the bytes written are not those that came in."""
    from ctxledger.ledger.storage.masks import Masks

    for source in sources:
        masks = Masks(session.ledger.db).of(source.id)
        if not masks:
            continue
        size = counted(sum(mask.length for mask in masks), "byte")
        places = ", ".join(number(mask.offset) for mask in masks[:MASKS_NAMED_MAX])
        more = " ..." if len(masks) > MASKS_NAMED_MAX else ""
        context.out.warn(f"{source.name}: {size} were redacted, at byte {places}{more}")


def file_names(sources: Iterable[Source]) -> list[str]:
    """A name for each source: that of its file, numbered where two are equal."""
    names: list[str] = []
    for source in sources:
        name = Path(source.name).name if source.kind == "file" else f"pipe-{source.id}"
        stem, suffix = Path(name).stem, Path(name).suffix
        count = 1
        while name in names:
            count += 1
            name = f"{stem}-{count}{suffix}"
        names.append(name)
    return names


def write(parts: Iterable[bytes], target: str, context: Context, *, is_forced: bool) -> None:
    """Write bytes to stdout or a file.

    Raises:
        BadInput: the file exists, is the ledger, or no file; stdout is a terminal, where raw
            bytes are not safe.
        StorageFailed: it cannot be written.
    """
    if not target:
        if sys.stdout.isatty():
            raise BadInput(
                "Recorded bytes are not written to a terminal.",
                "Name a file with -o, or use a pipe.",
            )
        context.out.flush()
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        return
    refuse_ledger(context, Path(target))
    size = 0
    with opened(Path(target), is_forced=is_forced) as file:
        for part in parts:
            size += file.write(part)
    context.out.note(f"Wrote {number(size)} bytes to {target}.")


def refuse_ledger(context: Context, target: Path) -> None:
    """--force is for exports that are made again; it never means the ledger and its log."""
    for suffix in ("", "-wal", "-shm"):
        try:
            is_own = target.samefile(f"{context.db_path}{suffix}")
        except OSError:  # one of them is not there, or nobody may look
            continue
        if is_own:
            raise BadInput(f"{target} is the ledger itself.", "Name another file with -o.")


@contextmanager
def opened(path: Path, *, is_forced: bool) -> Iterator[IO[bytes]]:
    """A file of mode 0600 that appears whole or not at all."""
    if is_folder(path):
        raise BadInput(f"{path} is a folder.", "Name a file with -o.")
    if is_pipe_or_device(path):  # it would be replaced by a file
        raise BadInput(f"{path} is a pipe or a device.", "Leave -o out and redirect stdout.")
    if is_there(path) and not is_forced:
        raise BadInput(f"{path} exists already.", "Name another file, or overwrite with --force.")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise StorageFailed(
            f"{path} cannot be written: {error.strerror}.", "Check the folder and the free space."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
