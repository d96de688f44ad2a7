"""Clocks, chance and the database stay in the few modules that may touch them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(p for top in ("ledger", "inspector", "cli") for p in (ROOT / top).rglob("*.py"))

CLOCK_AND_CHANCE_FILES = {
    "ledger/session.py",
    "ledger/ledger.py",
    "ledger/ingest.py",
    "ledger/storage/store.py",
    "ledger/storage/connection.py",  # random pauses between tries to get the write lock
}
SQLITE_FILE = "ledger/storage/connection.py"
CATCH_ALL_FILES = {"cli/main.py", "inspector/app.py"}
"""The tops of the two programs."""

CHANCE_MODULES = {"random", "secrets", "uuid"}
BANNED_CALLS = {
    ("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today"),
    ("time", "time"), ("time", "time_ns"), ("time", "localtime"), ("time", "gmtime"),
    ("os", "urandom"), ("os", "getrandom"),
}  # fmt: skip


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported_modules(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module or "")
    return found


def clock_and_chance(source: str) -> set[str]:
    """Name each use of a clock or of chance in a module."""
    tree = ast.parse(source)
    found = {name for name in imported_modules(tree) if name.split(".")[0] in CHANCE_MODULES}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value
            last = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            if (last, node.attr) in BANNED_CALLS:
                found.add(f"{last}.{node.attr}")
        elif isinstance(node, ast.ImportFrom):
            names = {(node.module or "", alias.name) for alias in node.names}
            found |= {".".join(pair) for pair in names & BANNED_CALLS}
    return found


def silent_catch_alls(source: str) -> list[int]:
    """Lines of `except:`, `except Exception`, `except BaseException` that never raise."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        names = {getattr(kind, "id", None) for kind in caught if kind is not None}
        is_broad = node.type is None or names & {"Exception", "BaseException"}
        if is_broad and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_clock_and_chance_are_arguments(path: Path) -> None:
    if name_of(path) not in CLOCK_AND_CHANCE_FILES and not name_of(path).startswith("cli/"):
        assert clock_and_chance(path.read_text("utf-8")) == set()


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_one_module_speaks_to_sqlite(path: Path) -> None:
    has_sqlite = "sqlite3" in imported_modules(ast.parse(path.read_text("utf-8")))
    assert not has_sqlite or name_of(path) == SQLITE_FILE


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_fault_is_swallowed(path: Path) -> None:
    if name_of(path) not in CATCH_ALL_FILES:
        assert silent_catch_alls(path.read_text("utf-8")) == []


def test_these_rules_find_what_they_forbid() -> None:
    assert clock_and_chance("import datetime as d\nd.datetime.now()") == {"datetime.now"}
    assert clock_and_chance("from time import time\nimport random") == {"time.time", "random"}
    assert clock_and_chance("import time\ntime.sleep(1)\nwindow.now()") == set()
    swallow = "try: pass\nexcept (ValueError, Exception): pass\nexcept KeyError: pass"
    assert silent_catch_alls(swallow) == [2]
    assert silent_catch_alls("try: pass\nexcept Exception as e:\n raise Ours() from e") == []
