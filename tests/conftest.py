"""What every test can ask for: hostile texts, real recordings, cases; and no network.

`hostile_text` as an argument runs a test once for each text of the corpus. Tests that take
`recordings` or `cases` are collected only when CTXLEDGER_RECORDINGS or CTXLEDGER_CASES names
a folder, so that a fresh clone passes alone and nothing is ever skipped.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest

hypothesis.settings.register_profile("ctxledger", deadline=None, print_blob=True)
hypothesis.settings.load_profile("ctxledger")

FOLDERS = {
    "recordings": "CTXLEDGER_RECORDINGS",
    "cases": "CTXLEDGER_CASES",
    "case": "CTXLEDGER_CASES",
}

MARKUP_TEXTS = (
    "[q +",
    "[/]",
    "[bold",
    "awk -F'[/]' '{print $1}'",
    "[1] see [/some/path]",
    "arr[0][1]",
    "[link=x]y",
    "\\[x]",
    "[#888888]a[/#888888]",
    'count[/dim]"',
    "=12,state=OPEN,name=[a]",
    "[@click=app.quit]hi[/]",
    "[$primary]x",
)
CONTROL_TEXTS = (
    "\x1b]52;c;ZWNobyBoaQ==\x07",
    "\x1b]0;title\x07",
    "\x1b]8;;http://example.org\x07link\x1b]8;;\x07",
    "\x1b[2J\x1b[10A",
    "\x1b[6n",
    "\x1bc",
    "\x1bPq\x1b\\",
    "\x1b]unterminated",
    "\x9b31m",
    "\x9d52;c;QQ==\x9c",
    "a\rb\bc\x07",
    "\x1b[31mred\x1b[0m",
    "nul \x00 del \x7f",
    "approve \u202eetirw\u202c this",
    "zero\u200bwidth\u2060 \ufeff",
    "tags \U000e0068\U000e0069",
    "line\u2028paragraph\u2029end",
    "lone \ud800 surrogate",
    "\u00e9 \u00fc \u4e2d stays",
    "emoji \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f wide \u4e2d\u6587",
)
HOSTILE_TEXTS = (*MARKUP_TEXTS, *CONTROL_TEXTS, "x" * 1_000_000)
"""Texts that must be shown literally everywhere. Source: cases k09-01 and k09-02, and more."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "hostile_text" in metafunc.fixturenames:
        metafunc.parametrize("hostile_text", HOSTILE_TEXTS, ids=range(len(HOSTILE_TEXTS)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept, left_out = [], []
    for item in items:
        wanted = {FOLDERS[name] for name in getattr(item, "fixturenames", ()) if name in FOLDERS}
        (kept if all(os.environ.get(name) for name in wanted) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of real recordings."""
    return Path(os.environ["CTXLEDGER_RECORDINGS"])


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of small cases, one JSON file each."""
    return Path(os.environ["CTXLEDGER_CASES"])


@pytest.fixture(scope="session")
def case(cases: Path) -> Callable[[str], dict[str, Any]]:
    """Read a case by its id, such as `k09-02`."""

    def read(case_id: str) -> dict[str, Any]:
        kind, number = case_id.split("-")
        (path,) = cases.glob(f"{kind}_*/{number}_*.json")
        value = json.loads(path.read_text("utf-8"))
        assert value["id"] == case_id
        return dict(value)

    return read


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top folder of the repository."""
    return Path(__file__).parent.parent


def _refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
        if host not in ("127.0.0.1", "::1", "localhost"):
            raise RuntimeError(f"A test tried to reach {host!r}: tests use no network.")


sys.addaudithook(_refuse_network)
