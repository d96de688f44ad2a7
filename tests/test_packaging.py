"""What gets installed: three packages under one name, their data, and nothing else."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGES = ("cli", "inspector", "ledger")
README = (ROOT / "README.md").read_text("utf-8")


def test_every_folder_with_code_is_installed() -> None:
    folders = {p.parent for top in PACKAGES for p in (ROOT / top).rglob("*.py")}
    names = {"ctxledger." + ".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert set(SETTINGS["tool"]["setuptools"]["packages"]) == names
    assert all((folder / "__init__.py").is_file() for folder in folders)


def test_every_data_file_is_installed() -> None:
    data = SETTINGS["tool"]["setuptools"]["package-data"]
    shipped = {
        path
        for top in PACKAGES
        for pattern in data[f"ctxledger.{top}"]
        for path in (ROOT / top).glob(pattern)
    }
    there = {
        path
        for top in PACKAGES
        for path in (ROOT / top).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert there - shipped == set()


def test_the_link_for_tools_that_only_read_files() -> None:
    assert (ROOT / ".layout" / "ctxledger" / "ledger").samefile(ROOT / "ledger")


@pytest.mark.parametrize(
    "name", [re.split(r"[<>=\[ ]", d)[0] for d in SETTINGS["project"]["dependencies"]]
)
def test_readme_has_a_line_for_each_dependency(name: str) -> None:
    rows = [line for line in README.splitlines() if line.startswith("|")]
    assert sum(row.split("|")[1].strip() == name for row in rows) == 1


def test_readme_has_exactly_two_set_up_commands() -> None:
    section = README.split("## Set up", 1)[1].split("\n## ", 1)[0]
    commands = re.findall(r"```sh\n(.*?)\n```", section, flags=re.DOTALL)
    assert len(commands) == 2
    assert all("\n" not in command for command in commands)
    assert commands[0].endswith("ctxledger demo")
    assert "pytest" in commands[1]


def test_version_is_said_once() -> None:
    version = SETTINGS["project"]["version"]
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"## {version}" in changes


def test_nothing_names_a_private_machine() -> None:
    texts = [
        p for p in ROOT.rglob("*") if p.suffix in (".py", ".toml", ".md", ".tcss") and p.is_file()
    ]
    ours = [p for p in texts if not {".venv", ".layout", "build"} & set(p.relative_to(ROOT).parts)]
    private = re.compile(r"/(?:work|root)" + "/")
    assert [str(p) for p in ours if private.search(p.read_text("utf-8"))] == []
