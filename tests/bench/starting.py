"""Whole programs, from their start to their end: commands, and what a shell is answered at Tab."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from .ledgers import long_session
from .measure import Result, ratio, seconds


def start_up(versions: int, folder: Path) -> list[Result]:
    """Whole commands against an empty Python process."""
    path = folder / "start.db"
    long_session(path, versions)
    python = sys.executable

    def run(*arguments: str, **environment: str) -> Callable[[], object]:
        def in_a_process() -> None:
            ran = subprocess.run(
                arguments, check=True, capture_output=True, env=os.environ | environment
            )
            assert ran.stdout or arguments == (python, "-c", "pass"), "it did nothing"

        return in_a_process

    tool = [python, "-m", "ctxledger.cli"]
    floor = run(python, "-c", "pass")
    db = ("--db", str(path))
    run(*tool, "window", "long", *db)()  # counts the tokens once
    tab = {
        "_CTXLEDGER_COMPLETE": "bash_complete",
        "COMP_WORDS": f"ctxledger --db {path} diff long ",
        "COMP_CWORD": "5",
    }
    asked = [python, "-c", "from ctxledger.cli.main import main; main()"]
    return [
        Result("--help / python -c pass", ratio(run(*tool, "--help"), floor), "", 6.0),
        Result(
            f"log of {versions:,} events / python -c pass",
            ratio(run(*tool, "log", "long", "-n", "50", *db), floor),
            "",
            12.0,
        ),
        Result(
            f"window among {versions:,} events / python -c pass",
            ratio(run(*tool, "window", "long", *db), floor),
            "",
            12.0,
        ),
        Result(
            f"completion of references, {versions:,} events",
            seconds(run(*asked, **tab)) * 1000,
            "ms",
            100.0,
        ),
    ]
