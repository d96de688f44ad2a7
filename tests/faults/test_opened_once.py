"""Nothing but connection.py opens the database, its WAL or its index.

Closing any descriptor of these files in our process drops SQLite's locks, and somebody else's
acknowledged row is lost (SQLite's "How To Corrupt", 2.2).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.verify import verify

from .harness import RECORDING, make_ledger, say

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "ledger").rglob("*.py"))
CONNECTION = "ledger/storage/connection.py"
OPEN_RECORDINGS = {
    "ledger/importing.py",
    "ledger/tokens.py",
    "ledger/cost.py",  # the table of prices
    "ledger/record/places.py",  # what agents recorded on this machine
    "ledger/record/follow.py",
    "ledger/exporting/native.py",
    "ledger/integrity/doctor.py",  # /proc
    "ledger/storage/copies.py",
}
"""They open recordings, exports, the token table and copies in the making, never a ledger."""
COPIERS = {"shutil", "zipfile", "tarfile", "mmap", "fileinput"}
OPENERS = {
    "open", "fdopen", "read_bytes", "read_text", "write_bytes", "write_text", "touch", "rename",
    "replace_file", "copyfile", "copy2", "sendfile",
}  # fmt: skip


def openings(source: str) -> list[tuple[int, str]]:
    """(line, what) of all that opens or copies files."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = name or getattr(node.func, "id", "")
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            is_ours = getattr(owner, "id", "") in ("Ledger", "cls", "self", "session")
            if name in OPENERS and not is_ours:
                found.append((node.lineno, name))
        elif isinstance(node, ast.Import):
            found += [(node.lineno, a.name) for a in node.names if a.name in COPIERS]
        elif isinstance(node, ast.ImportFrom) and node.module in COPIERS:
            found.append((node.lineno, node.module or ""))
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_other_module_of_the_ledger_opens_files(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    if name != CONNECTION and name not in OPEN_RECORDINGS:
        assert openings(path.read_text("utf-8")) == []


def test_this_rule_finds_what_it_forbids() -> None:
    assert openings("import shutil\nopen(p)\nos.open(p, 0)\nPath(p).read_bytes()\nq.open()") == [
        (1, "shutil"), (2, "open"), (3, "open"), (4, "read_bytes"), (5, "open"),
    ]  # fmt: skip
    assert openings("Ledger.open(p)\ncls.open(p)") == []


_watched: list[tuple[str, list[str]]] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _watched:
        path, seen = _watched[-1]
        if str(arguments[0]).startswith(path):
            seen.append(str(arguments[0]))


sys.addaudithook(_watch)


@contextmanager
def opened_by_python(path: Path) -> Iterator[list[str]]:
    """Paths beginning with `path` that Python code opens meanwhile (SQLite's own do not show)."""
    seen: list[str] = []
    _watched.append((str(path), seen))
    try:
        yield seen
    finally:
        _watched.pop()


def test_a_working_ledger_is_opened_by_sqlite_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, None)
    with opened_by_python(path) as seen, Ledger.open(path) as ledger:
        session = ledger.session("work")
        say(session, "x")
        session.window()
        session.rollback("e1")
        import_file(ledger, RECORDING)
        ledger.db.checkpoint()
        verify(ledger.store)
        with Ledger.open(path, "read") as reader:
            reader.session("work").window()
    assert seen == []
    with opened_by_python(path) as seen:
        path.open("rb").close()
    assert seen == [str(path)]


def test_a_new_ledger_is_made_before_sqlite_opens_it(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with opened_by_python(path) as seen, Ledger.open(path) as ledger:
        ledger.session("s")
    assert seen == [str(path)]
