"""The output: JSON that is safe to print, tables, bars, colour, the pager."""

from __future__ import annotations

import json
import os
import pty
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxledger.cli.bars import bar
from ctxledger.cli.demo_data import write_recording
from ctxledger.cli.json_text import json_line
from ctxledger.cli.output import Styled
from ctxledger.cli.tables import Column, table_lines
from ctxledger.ledger.plaintext import cell_width, plain

FIXTURE = Path(__file__).parents[1] / "fixtures" / "claude-code-interrupts.jsonl"
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


@given(ANY_TEXT, st.booleans())
def test_json_is_equal_when_parsed_and_safe_to_print(text: str, is_ascii: bool) -> None:
    line = json_line({"a": text, text: [text]}, is_ascii=is_ascii)
    assert json.loads(line) == {"a": text, text: [text]}
    assert plain(line, keep_newlines=False) == line
    assert line.isascii() or not is_ascii


def test_json_keeps_other_scripts_readable() -> None:
    assert json_line({"a": "\u4e2d\u6587 \u00e9"}) == '{"a": "\u4e2d\u6587 \u00e9"}'
    assert "\\u202e" in json_line({"a": "\u4e2d \u202e"})


CELLS = st.lists(st.lists(ANY_TEXT, min_size=4, max_size=4), max_size=5)
COLUMNS = (
    Column("n", is_number=True, width_min=3),
    Column("word", width_min=9),
    Column("a", is_flexible=True),
    Column("b", is_flexible=True),
)


@given(CELLS, st.integers(60, 140))
def test_rows_of_a_table_are_one_line_that_fits(cells: list[list[str]], width: int) -> None:
    rows = [[row[0][:3], row[1][:9], *row[2:]] for row in cells]
    for parts in table_lines(COLUMNS, iter(rows), width, "\u2026"):
        line = "".join(p.text if isinstance(p, Styled) else p for p in parts).rstrip(" ")
        assert "\n" not in line
        assert cell_width(line) <= width + 3 * 16  # three characters shown as <U+10FFFF>


@given(CELLS)
def test_piped_rows_are_whole(cells: list[list[str]]) -> None:
    for row, parts in zip(
        [[c.title for c in COLUMNS], *cells], table_lines(COLUMNS, cells, None, "..."), strict=True
    ):
        line = "".join(p.text if isinstance(p, Styled) else p for p in parts)
        assert all(plain(cell, keep_newlines=False) in line for cell in row)


@given(st.integers(0, 10**7), st.integers(1, 10**7), st.integers(1, 60), st.booleans())
def test_bars_grow_with_the_share_and_never_overflow(
    value: int, whole: int, cells: int, is_unicode: bool
) -> None:
    drawn = bar(value, whole, cells, is_unicode=is_unicode)
    assert len(drawn) <= cells
    assert bool(drawn) == (value > 0)
    assert len(drawn) <= len(bar(value + whole // 10, whole, cells, is_unicode=is_unicode))
    assert is_unicode or drawn.isascii()


def on_terminal(
    *args: object, rows: int = 24, columns: int = 80, typed: bytes = b"", **environment: str
) -> tuple[int, bytes]:
    """Run the program on a terminal of its own, where `typed` was typed ahead.

    Returns:
        (exit code, what the terminal showed).
    """
    import fcntl
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    without = {"COLUMNS", "LINES", "NO_COLOR", "PAGER", "LESS"}
    process = subprocess.Popen(
        [sys.executable, "-m", "ctxledger.cli", *map(str, args)],
        stdin=follower,
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env={k: v for k, v in os.environ.items() if k not in without}
        | {"TERM": "xterm"}
        | environment,
    )
    os.close(follower)
    os.write(leader, typed)
    written = b""
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:  # the other end was closed
            break
        if not data:
            break
        written += data
    os.close(leader)
    return process.wait(), written.replace(b"\r\n", b"\n")


def test_a_terminal_gets_colour_and_its_own_width() -> None:
    code, written = on_terminal("log", FIXTURE, "-n", 5, columns=70)
    assert code == 0
    assert b"\x1b[" in written
    _, bare = on_terminal("log", FIXTURE, "-n", 5, columns=70, NO_COLOR="1")
    assert b"\x1b" not in bare
    assert max(cell_width(line) for line in bare.decode().splitlines()) <= 70
    _, wide = on_terminal("log", FIXTURE, "-n", 5, "--color", "never", columns=70, COLUMNS="200")
    assert max(cell_width(line) for line in wide.decode().splitlines()) > 70


@pytest.mark.parametrize(
    ("options", "is_paged"),
    [
        (("-n", "50"), True),
        (("-n", "5"), False),
        (("-n", "50", "--no-pager"), False),
        (("-n", "50", "--json"), False),
    ],
)
def test_only_what_is_longer_than_the_screen_goes_to_the_pager(
    tmp_path: Path, options: tuple[str, ...], is_paged: bool
) -> None:
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path / 'paged'}\n")
    pager.chmod(0o755)
    code, written = on_terminal("log", FIXTURE, *options, PAGER=str(pager))
    assert code == 0
    assert (tmp_path / "paged").exists() == is_paged
    if is_paged:
        assert written == b""
        assert (tmp_path / "paged").read_text().count("\n") >= 50
    else:
        assert written.count(b"\n") >= 5


def test_a_pager_that_is_quit_early_is_no_problem(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nhead -n 1\n")
    pager.chmod(0o755)
    code, written = on_terminal("window", FIXTURE, "--full", PAGER=str(pager))
    assert code == 0
    assert b"Traceback" not in written


@pytest.mark.parametrize("pager", ["less '", "", "cat", "/nonexistent/pager -x"])
def test_without_a_pager_that_runs_all_is_shown_at_once(pager: str) -> None:
    code, written = on_terminal("log", FIXTURE, "-n", "50", PAGER=pager)
    assert code == 0
    assert written.count(b"\n") >= 50


def test_recorded_bytes_are_not_written_to_a_terminal() -> None:
    code, written = on_terminal("export", FIXTURE, "--format", "original")
    assert (code, written) == (2, b"")


def test_a_question_and_what_it_is_about_are_never_paged(tmp_path: Path) -> None:
    pager, db = tmp_path / "pager", tmp_path / "ledger.db"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path / 'paged'}\n")
    pager.chmod(0o755)
    write_recording(tmp_path / "demo.jsonl")
    assert on_terminal("ingest", tmp_path / "demo.jsonl", "--db", db)[0] == 0
    undo = ("rollback", "c1", "--db", db)
    code, written = on_terminal(*undo, rows=10, typed=b"n\n", PAGER=str(pager))
    assert (code, (tmp_path / "paged").exists()) == (1, False)
    assert b"undo c1 (now at version 330)" in written
    code, written = on_terminal(*undo, rows=10, typed=b"y\n", PAGER=str(pager))
    assert (code, (tmp_path / "paged").exists()) == (0, False)
    assert b"Done: r1, version 331." in written
