"""What gets loaded: nothing heavy at start, and a pure core."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("textual", "rich", "anthropic", "tiktoken", "yaml", "sqlite_utils", "requests", "numpy")
PURE = (
    "errors", "plaintext", "images", "secrets", "masking", "content", "drafts", "events",
    "event_codec", "window",
    "deltas", "rollback", "blocks", "state", "policy", "eviction", "checks", "render",
)  # fmt: skip


def loaded_by(program: str) -> set[str]:
    """Top-level modules in memory after a program ran in a new process."""
    code = f"{program}\nimport sys; print('\\n'.join({{m.split('.')[0] for m in sys.modules}}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


@pytest.mark.parametrize(
    "module", ["ledger", "ledger.tokens", "ledger.formats", "inspector", "cli"]
)
def test_importing_loads_nothing_heavy(module: str) -> None:
    assert loaded_by(f"import ctxledger.{module}") & set(HEAVY) == set()


def test_the_contract_of_the_pure_core_names_every_pure_module() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (c for c in contracts if c["name"] == "the core is pure")
    there = {
        n for n in PURE if (ROOT / "ledger" / n).is_dir() or (ROOT / f"ledger/{n}.py").is_file()
    }
    assert {name.rpartition(".")[2] for name in contract["source_modules"]} == there


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; sys.argv = ['ctxledger', '--help']\n"
        "from ctxledger.cli.main import main\n"
        "import io, contextlib\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()): main()"
    )
    assert loaded_by(program) & set(HEAVY) == set()
