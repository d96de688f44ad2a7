"""Sizes of files and functions, and what stands at the top of the repository."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FILE_LINES_MAX = 400
FILE_LINES_WITHOUT_REASON = 300
FUNCTION_LINES_MAX = 70
PACKAGES = ("ledger", "inspector", "cli")
TOP_LEVEL = {
    ".ci", ".git", ".gitignore", ".layout", "CHANGELOG.md", "LICENSE", "README.md", "cli",
    "inspector", "ledger", "pyproject.toml", "tests",
}  # fmt: skip
ONLY_LOCAL = {
    ".venv", ".hypothesis", ".import_linter_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache",
    "build", "ctxledger.egg-info", "dist", ".python-version", ".idea", ".vscode",
}  # fmt: skip
"""Left by tools, never committed."""
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "base_utils"}

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def function_lengths(path: Path) -> dict[str, int]:
    """Lines of each function without its docstring."""
    lengths = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node, clean=False)
            told = docstring.count("\n") + 1 if docstring else 0
            lengths[node.name] = (node.end_lineno or node.lineno) - node.lineno + 1 - told
    return lengths


def test_there_are_sources() -> None:
    assert len(SOURCES) > 10


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=name_of)
def test_files_end_at_400_lines_and_over_300_say_why(path: Path) -> None:
    text = path.read_text("utf-8")
    lines = text.count("\n")
    assert lines <= FILE_LINES_MAX
    if lines > FILE_LINES_WITHOUT_REASON:
        docstring = ast.get_docstring(ast.parse(text)) or ""
        assert "One file because" in docstring, "split it, or say 'One file because ...' on top"


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=name_of)
def test_functions_end_at_70_lines(path: Path) -> None:
    long = {name: n for name, n in function_lengths(path).items() if n > FUNCTION_LINES_MAX}
    assert long == {}


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=name_of)
def test_modules_say_what_they_hold(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert path.stem not in NAMES_THAT_SAY_NOTHING


def test_nothing_stands_at_the_top_without_a_reason() -> None:
    assert {path.name for path in ROOT.iterdir()} - TOP_LEVEL - ONLY_LOCAL == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_are_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()
