"""What the case tests share: a ledger told in native lines, and windows as plain texts."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.importing import import_file, open_pipe
from ctxledger.ledger.session import Session

MODEL = "claude-sonnet-4-5"
Line = dict[str, Any]


class Told:
    """A ledger file, filled through the native grammar."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = folder / "ledger.db"
        self.ledger = Ledger.open(self.db)

    def tell(self, *lines: Line, name: str = "S") -> Session:
        """Take lines in through a pipe; each must be understood."""
        opening = {"type": "session", "name": name, "model": MODEL}
        text = "".join(json.dumps(line) + "\n" for line in (opening, *lines))
        reader = open_pipe(self.ledger, text.encode(), name="told", format_name="native")
        reader.push(text.encode())
        report = reader.finish()
        assert (report.quarantined, report.conflicts, report.pending_bytes) == (0, 0, 0)
        return self.ledger.find(name)

    def take(self, name: str, *lines: Line, **options: Any) -> Any:
        """Write a file and import it; gives the report."""
        path = self.folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        return import_file(self.ledger, path, **options)

    def reopen(self) -> Ledger:
        """As another process would see it."""
        self.ledger.close()
        self.ledger = Ledger.open(self.db)
        return self.ledger


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    """An empty ledger to be told things."""
    made = Told(tmp_path)
    yield made
    made.ledger.close()


def texts(session: Session, at: str | int = "head") -> list[str]:
    """The words of each entry of a window."""
    return [entry.text for entry in session.window(at).entries]


def lines_of(events: list[Line]) -> list[Line]:
    """Messages and compactions of a case as native lines; `sN` names message N."""
    lines: list[Line] = []
    for event in events:
        seq = event["seq"]
        if event.get("type") == "compaction":
            first, last = event["covers"]
            sources = [f"s{n}/0" for n in range(first, last + 1)]
            brief = event.get("summary", "S")
            lines.append({"type": "compact", "sources": sources, "brief": brief, "id": f"s{seq}"})
        else:
            lines.append({"id": f"s{seq}", "role": event["role"], "content": event["text"]})
    return lines


def in_process(work: Callable[[], object]) -> Any:
    """Run work in a forked process, give what it returns, None if it was killed."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else None
