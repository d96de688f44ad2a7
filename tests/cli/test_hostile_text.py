"""Recorded text that acts on a terminal never reaches one, whatever command prints it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]

EVIL = "\x1b]52;c;ZXZpbA==\x07\x9b2J\u202eevil\u2066\x00\r\x08\x7f\u200b\ud800"
ACTING = frozenset(map(chr, (*range(9), *range(11, 32), *range(127, 160), 0x200B))) | frozenset(
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def evil_lines() -> bytes:
    """Something hostile in each field that a command may print."""
    e = EVIL
    lines: list[dict[str, object]] = [
        {"type": "session", "name": f"s{e}", "title": e, "model": e, "folder": e, "branch": e},
        {"type": "system", "content": e},
        {"type": "tools", "tools": [{"name": e, "description": e, "input_schema": {"type": e}}]},
        {"id": f"u{e}", "role": "user", "content": e, "actor": e, "at": e},
        {"id": f"v{e}", "role": "user", "content": e, "actor": e},
        {"type": "call", "call": f"k{e}", "model": e, "params": {e: e}},
        {
            "id": f"a{e}",
            "role": "assistant",
            "content": [{"type": "tool_use", "id": f"t{e}", "name": e, "input": {e: e}}],
        },
        {
            "type": "result",
            "call": f"k{e}",
            "usage": {"input_tokens": 8, e: 1},
            "stop_reason": e,
            "error": {"type": e, "message": e},
        },
        {
            "id": f"o{e}",
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": f"t{e}", "content": e}],
            "meta": {"exit_code": e, e: e},
        },
        {"type": "evict", "items": [f"o{e}/0"], "placeholder": e, "reason": e},
        {"type": "compact", "id": f"b{e}", "sources": [f"v{e}/0"], "brief": {e: e}, "reason": e},
        {"type": "reinject", "items": [f"v{e}/0"], "reason": e},
        {"type": "note", "kind": "constraint", "text": e, "source": f"v{e}/0", "pin": True},
        {"type": "phase", "name": e},
        {"role": f"r{e}", "content": "x"},
        {"type": "evict", "items": [e]},
    ]
    named = [{"session": f"s{e}", **one} for one in lines]
    return "".join(json.dumps(one) + "\n" for one in named).encode() + b"bad \x1b]52;c;x\x07\n"


LOOKS: tuple[tuple[str, ...], ...] = (
    ("sessions",),
    ("log",),
    ("log", "--type", "quarantine"),
    ("window",),
    ("window", "--full"),
    ("window", "--at", "c1^", "--format", "json"),
    ("window", "--format", "anthropic"),
    ("diff", "c1"),
    ("diff", "@", "1", "head", "--all"),
    ("blame",),
    ("blame", "--text", "evil"),
    ("search", "evil"),
    ("stats",),
    ("stats", "@"),
    ("rollback", "@", "--dry-run"),
    ("rollback", "@", "e1", "--dry-run"),
    ("verify",),
)


@pytest.mark.parametrize("width", [None, 60])
@pytest.mark.parametrize("is_json", [False, True])
def test_nothing_recorded_acts_on_the_terminal(
    run: Run, tmp_path: Path, is_json: bool, width: int | None
) -> None:
    path = tmp_path / "na\x1b]52;c;x\x07me\u202e.jsonl"
    path.write_bytes(evil_lines())
    options = ("--json",) if is_json else ()
    printed = {("ingest",): run("ingest", path, *options, width=width)}
    head = json.loads(run("log", "@", "-n", "1", "--json").stdout)["version"]
    shows = [("show", "@", f"{n}{item}") for n in range(1, head + 1) for item in ("", ".0")]
    raw = [("show", "@", str(n), "--raw") for n in range(1, head + 1)]
    wrong = [(name, EVIL[:-1].replace("\0", "")) for name in ("log", "window", "diff", "ingest")]
    for args in (*LOOKS, *shows, *raw, *wrong):
        printed[args] = run(*args, *options, width=width)
    assert head >= 12
    for args, result in printed.items():
        for text in (result.stdout, result.stderr):
            assert not ACTING.intersection(text), args
        assert result.exit_code in (0, 1, 2), (args, result.stderr)
        if is_json:
            assert all(
                isinstance(one, dict) for one in map(json.loads, result.stdout.splitlines())
            ), args
