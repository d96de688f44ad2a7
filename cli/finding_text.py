"""The recordings that agents left on this machine, as a table or as JSON.

Knows nothing about how they are found: see ledger/record/places.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ctxledger.ledger.plaintext import one_line
from ctxledger.ledger.record.places import Outline, Recording

from .event_text import iso_time
from .output import Output, Styled
from .tables import counted, number, one_line_text

if TYPE_CHECKING:
    from collections.abc import Iterable

INDENT = "    "


class Found(Struct, frozen=True):
    """A recording and what it is about."""

    recording: Recording
    outline: Outline


def found_json(found: Found) -> dict[str, object]:
    """One line of `sessions --found --json`."""
    recording, about = found.recording, found.outline
    return {
        "file": str(recording.path),
        "format": recording.agent,
        "is_readable": recording.is_readable,
        "session": recording.path.stem,
        "title": about.title,
        "cwd": about.folder,
        "branch": about.branch,
        "bytes": recording.bytes,
        "updated_at": iso_time(recording.modified_ms),
    }


def show_found(out: Output, found: Iterable[Found]) -> None:
    """Print them in their order: on a terminal two lines each, the file below; piped one."""
    not_yet = 0
    for one in found:
        recording, about = one.recording, one.outline
        not_yet += not recording.is_readable
        updated = (iso_time(recording.modified_ms) or "")[:16].replace("T", " ")
        kilobytes = number(-(-recording.bytes // 1024))
        head = f"{updated}  {recording.agent:<11}  {kilobytes:>7} kB  "
        words = about.title if recording.is_readable else f"(not yet readable) {about.title}"
        if out.width is None:
            out.line(head, f"{recording.path}  ", one_line_text(words))
            continue
        title = one_line(words, max(1, out.width - len(head)))
        out.line(Styled(head, "dim"), Styled(title, "bold"))
        out.line(INDENT, str(recording.path))
    if not_yet:
        out.note(f"{counted(not_yet, 'recording')} here cannot be read yet.")
    out.note("Name a file in place of a session, or take it in: `ctxledger ingest FILE`.")
