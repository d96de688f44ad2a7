"""Windows of recordings at chosen versions: an importer that changes them has to say so here.

`CTXLEDGER_UPDATE_GOLDEN=1` writes what is found; look at the difference before keeping it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.importing import import_file

GOLDEN_FILE = Path(__file__).parents[1] / "golden" / "windows.json"
GOLDEN: dict[str, Any] = json.loads(GOLDEN_FILE.read_text("utf-8")) if GOLDEN_FILE.exists() else {}
FIXTURES = Path(__file__).parents[1] / "fixtures"
IN_FIXTURES = (
    "claude-code-interrupts.jsonl",
    "anthropic-agent-loop.yaml",
    "anthropic-thinking-stream.yaml",
)
IN_RECORDINGS = (
    "claude-code/auto-compaction.jsonl",
    "claude-code/microcompaction.jsonl",
    "claude-code/rewind.jsonl",
    "anthropic/compaction-end-to-end.yaml",
    "anthropic/context-management.yaml",
)


def windows_of(path: Path) -> dict[str, Any]:
    """Digest and number of entries at about eight versions of each session of a file."""
    out: dict[str, Any] = {}
    with Ledger.open() as ledger:
        import_file(ledger, path)
        for session, name in ledger.store.session_names():
            head = ledger.store.head_version(session)
            for version in sorted({head * part // 7 for part in range(8)}):
                window = ledger.store.window(session, version)
                out[f"{name}@{version}"] = f"{len(window.entries)} {window.digest()}"
    return out


def check(name: str, path: Path) -> None:
    found = windows_of(path)
    assert found
    if os.environ.get("CTXLEDGER_UPDATE_GOLDEN"):
        GOLDEN[name] = found
        GOLDEN_FILE.write_text(json.dumps(GOLDEN, indent=1, sort_keys=True) + "\n", "utf-8")
    assert found == GOLDEN[name]


@pytest.mark.parametrize("name", IN_FIXTURES)
def test_windows_of_bundled_recordings(name: str) -> None:
    check(name, FIXTURES / name)


@pytest.mark.parametrize("name", IN_RECORDINGS)
def test_windows_of_more_recordings(recordings: Path, name: str) -> None:
    check(name, recordings / name)
