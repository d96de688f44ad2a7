"""The command line in this process: fixed clock and chance, a ledger of its own, golden texts.

CTXLEDGER_UPDATE_GOLDEN=1 writes the golden files anew; look at the difference before keeping it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ctxledger.cli.context import Context
from ctxledger.cli.main import cli

GOLDEN = Path(__file__).parent / "golden"
START_US = 1_790_000_000_000_000
FIXTURES = Path(__file__).parents[1] / "fixtures"

Run = Callable[..., Result]


def fixed_context(db: Path | str, width: int | None = None) -> Context:
    """A context whose clock ticks a millisecond a call and whose chance is counted."""
    ticks = itertools.count(START_US, 1000)
    salts = itertools.count(1)
    return Context(
        db=str(db),
        width_cells=width,
        clock_us=lambda: next(ticks),
        entropy=lambda n: next(salts).to_bytes(n, "big"),
    )


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder: no agent of the real machine is found."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A ledger file that does not exist yet."""
    return tmp_path / "ledger.db"


@pytest.fixture
def run(db: Path) -> Run:
    """Run the program: `run("log", "@", width=80)`. Piped unless a width is given."""

    def invoke(*args: object, width: int | None = None, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(
            cli, [str(arg) for arg in args], obj=fixed_context(db, width), input=stdin
        )

    return invoke


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare a text with `golden/<name>.txt`; recordings' paths are cut to their names."""

    def compare(name: str, text: str) -> None:
        text = text.replace(str(FIXTURES) + "/", "")
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("CTXLEDGER_UPDATE_GOLDEN"):
            path.write_text(text, "utf-8")
        assert text == path.read_text("utf-8")

    return compare
