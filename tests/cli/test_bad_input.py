"""Every row of "bad input", through the command line: exit code, message, what is stored, export.

One file because the rows are one table and share how they are looked at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import Result

Run = Callable[..., Result]
FIXTURE = Path(__file__).parents[1] / "fixtures" / "claude-code-interrupts.jsonl"
OF_CLAUDE_CODE = FIXTURE.read_bytes().splitlines(keepends=True)[1]
OF_ANTHROPIC = (
    b'{"request":{"model":"claude-x","max_tokens":5,"messages":[{"role":"user","content":"x"}]},'
    b'"response":{"id":"m","type":"message","role":"assistant","content":[]}}\n'
)
LONG_NAME = "n" * 300
"""Longer than a file name may be."""
PATIENCE_S = 20.0


def line(number: int) -> bytes:
    return (
        json.dumps({"role": "user", "content": f"message {number}", "id": f"u{number}"}).encode()
        + b"\n"
    )


def said(content: bytes) -> bytes:
    return b'{"role":"user","content":' + content + b"}\n"


def with_meta(value: bytes) -> bytes:
    return b'{"role":"user","content":"x","meta":{"a":' + value + b"}}\n"


def is_one_message(result: Result) -> bool:
    """A line that says what is wrong, and a hint below it."""
    lines = result.stderr.splitlines()
    return len(lines) == 2 and lines[0].startswith("ctxledger: ") and lines[1].startswith("  ")


# -- what cannot be used at all: exit 2, one line and a hint, nothing stored ----------------------

UNUSABLE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n \r\n", "is empty"),
    "zeros": (bytes(5000), "is empty"),
    "binary": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, "is a binary file"),
    "prose": (b"Dear diary, nothing happened.\n" * 9, "none of the formats"),
    "carriage returns": (line(1).replace(b"\n", b"\r") * 2, "none of the formats"),
    "another format": (b'{"type":"session_meta","payload":{}}\n', "not supported yet"),
}


@pytest.mark.parametrize("name", UNUSABLE)
@pytest.mark.parametrize("command", ["ingest", "log", "window"])
def test_what_cannot_be_used_is_refused_in_one_line(
    run: Run, tmp_path: Path, name: str, command: str
) -> None:
    contents, words = UNUSABLE[name]
    path = tmp_path / "input"
    path.write_bytes(contents)
    result = run(command, path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert is_one_message(result)
    assert run("sessions", "--json").stdout == ""


@pytest.mark.parametrize("command", ["ingest", "log", "export", "stats"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("folder", "is a folder"),
        ("none/missing", "There is no"),
        ("file/below", ""),
        (LONG_NAME, ""),
        ("loop", ""),
        ("dangling", "There is no"),
    ],
)
def test_names_that_lead_to_no_file(
    run: Run, tmp_path: Path, command: str, name: str, words: str
) -> None:
    run("ingest", FIXTURE)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    options = ("--format", "original") if command == "export" else ()
    result = run(command, tmp_path / name, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert is_one_message(result)


@pytest.mark.parametrize("command", ["log", "ingest", "rebuild", "rollback", "demo", "verify"])
def test_a_ledger_with_a_name_that_no_file_can_have(run: Run, tmp_path: Path, command: str) -> None:
    files = (FIXTURE,) if command == "ingest" else ()
    result = run("--db", tmp_path / LONG_NAME, command, *files)
    assert result.exit_code in (2, 5)
    assert is_one_message(result)


@pytest.mark.parametrize("command", ["log", "ingest"])
def test_a_pipe_is_no_ledger(run: Run, tmp_path: Path, command: str) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    files = (FIXTURE,) if command == "ingest" else ()
    result = run("--db", tmp_path / "pipe.db", command, *files)
    assert result.exit_code == 2
    assert "is a pipe or a device" in result.stderr
    assert is_one_message(result)


# -- what can be used in part: the rest goes on ---------------------------------------------------


class Row(NamedTuple):
    """An input and what is to come of it."""

    data: bytes
    messages: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    repaired: int = 0
    pending_bytes: int = 0


M1, M2, M3 = "message 1", "message 2", "message 3"
DEEP = b"[" * 10_000 + b"]" * 10_000
LONG = b"i" * 1_000_000

ROWS: dict[str, Row] = {
    "crlf": Row((line(1) + line(2)).replace(b"\n", b"\r\n"), (M1, M2)),
    "utf-16": Row((line(1) + line(2)).decode().encode("utf-16"), (M1, M2), repaired=2),
    "utf-16 big": Row((line(1) + line(2)).decode().encode("utf-16-be"), (M1, M2), repaired=2),
    "utf-16 half": Row(
        line(1).decode().encode("utf-16") + b"\0", (M1,), repaired=1, pending_bytes=1
    ),
    "utf-32": Row(
        line(1).decode().encode("utf-32"), (), ("nul_bytes",), pending_bytes=2
    ),
    "mark": Row(b"\xef\xbb\xbf" + line(1) + line(2), (M1, M2), repaired=1),
    "mark inside": Row(line(1) + b"\xef\xbb\xbf" + line(2), (M1, M2), repaired=1),
    "blank first": Row(b"\n\r\n" + line(1), (M1,)),
    "not json": Row(line(1) + b"no json at all\n" + line(2), (M1, M2), ("not_json",)),
    "glued": Row(line(1).strip() + line(2) + line(3), (M1, M2, M3), repaired=2),
    "torn and glued": Row(
        line(1)[:15] + line(2) + line(3), (M2, M3), ("torn",), repaired=1
    ),
    "split": Row(said(b'"a\nb"') + line(2), ("a\nb", M2), repaired=1),
    "padded": Row(line(1) + bytes(50) + line(2), (M1, M2), repaired=1),
    "nul inside": Row(said(b'"a\0b"') + line(1), (M1,), ("nul_bytes",)),
    "broken utf-8": Row(said(b'"a\xff\xfeb"') + line(1), (M1,), ("bad_utf8",)),
    "lone surrogate": Row(said(b'"a\\ud800b"') + line(1), ("a\ud800b", M1), repaired=1),
    "half at the end": Row(line(1) + line(2)[:20], (M1,), pending_bytes=20),
    "no newline at the end": Row(line(1) + line(2).strip(), (M1, M2)),
    "deep": Row(line(1) + said(DEEP) + line(2), (M1, M2), ("too_deep",)),
    "deep first": Row(said(DEEP) + line(1), (M1,), ("too_deep",)),
    "numbers": Row(
        line(1) + with_meta(b"1e999") + with_meta(b"NaN") + with_meta(b"9" * 5000) + line(2),
        (M1, M2),
        ("not_a_number",) * 3,
    ),
    "double keys": Row(b'{"role":"user","content":"x","content":"y"}\n', ("y",)),
    "long ids": Row(b'{"role":"user","content":"x","id":"' + LONG + b'"}\n' + line(1), ("x", M1)),
    "long text first": Row(
        b'{"content":"' + LONG + b'","role":"user"}\n' + line(1), (LONG.decode(), M1)
    ),
    "long session": Row(
        b'{"session":"' + LONG + b'","role":"user","content":"x"}\n', ("x",)
    ),
    "other values": Row(line(1) + b'1\n"x"\nnull\n[]\n{}\n', (M1,), ("?",) * 5),
    "claude code in native": Row(
        line(1) + OF_CLAUDE_CODE + line(2), (M1, M2), ("wrong_format",)
    ),
    "anthropic in native": Row(line(1) + OF_ANTHROPIC + line(2), (M1, M2), ("wrong_format",)),
    "codex in native": Row(
        line(1) + b'{"type":"session_meta","payload":{}}\n' + line(2), (M1, M2), ("wrong_format",)
    ),
}  # fmt: skip


def rows_of(text: str) -> list[dict[str, object]]:
    return [json.loads(row) for row in text.splitlines()]


@pytest.mark.parametrize("how", ["file", "pipe"])
@pytest.mark.parametrize("name", ROWS)
def test_what_can_be_read_is_read_and_all_of_it_comes_out_again(
    run: Run, db: Path, tmp_path: Path, name: str, how: str
) -> None:
    row = ROWS[name]
    path = tmp_path / "input.jsonl"
    path.write_bytes(row.data)
    if how == "file":
        result = run("ingest", path, "--json", "--session", "s")
        code, printed, told = result.exit_code, result.stdout, result.stderr
    else:
        piped = subprocess.run(
            [sys.executable, "-m", "ctxledger.cli", "ingest", "-", "--json", "--session", "s"],
            input=row.data,
            capture_output=True,
            timeout=PATIENCE_S,
            env={**os.environ, "CTXLEDGER_DB": str(db)},
            check=False,
        )
        code, printed, told = piped.returncode, piped.stdout.decode(), piped.stderr.decode()
    report = json.loads(printed)
    assert code == (1 if row.reasons else 0), told
    assert (report["repaired"], report["pending_bytes"]) == (row.repaired, row.pending_bytes)
    assert bool(row.pending_bytes) == ("are a half record" in told)
    assert all(reason in told for reason in row.reasons if reason != "?")
    found = rows_of(run("log", "s", "--type", "quarantine", "--json").stdout)
    assert len(found) == len(row.reasons)
    assert all(want in ("?", one["reason"]) for want, one in zip(row.reasons, found, strict=True))
    for one in found:
        start, size = int(str(one["offset"])), int(str(one["length"]))
        shown = json.loads(run("show", "s", one["version"], "--raw", "--json").stdout)
        assert shown["raw"] == row.data[start : start + size].decode("utf-8", "backslashreplace")
        assert shown["from"]["offset"] == start
        assert run("show", "s", one["version"]).exit_code == 0
    window = json.loads(run("window", "s", "--json").stdout)
    texts = [entry["text"] for entry in window["entries"] if entry["role"] == "user"]
    assert tuple(texts) == row.messages
    assert run("export", "s", "--format", "original", "-o", tmp_path / "out").exit_code == 0
    whole = len(row.data) - row.pending_bytes
    assert (tmp_path / "out").read_bytes() == row.data[:whole]
    assert json.loads(run("verify", "--json").stdout)["ok"]
    again = run("ingest", path)
    assert (again.exit_code, "nothing new" in again.stderr) == (0, True)


SESSION_NAMES = (
    "/etc/passwd", "../../x", "@", "head", "42", "42.1", "c1", "-", "--help", "a b", "$(id)",
    "`id`", "it's", " ", "\n", "\u202e", "%s", "{}", "%", "_", "x^", "x~1", "*", "\x1b[2J",
)  # fmt: skip


def test_session_names_that_mean_something_elsewhere(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "names.jsonl"
    lines = [{"session": name, "role": "user", "content": name} for name in SESSION_NAMES]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert run("ingest", path).exit_code == 0
    listed = rows_of(run("sessions", "--json").stdout)
    assert len(listed) == len(SESSION_NAMES)
    for one in listed:
        printed = run("sessions").stdout + run("log", "@").stdout
        assert "\x1b" not in printed
        assert "\u202e" not in printed
        assert one["version"] == 2


def test_proposed_commands_are_safe_to_paste(run: Run, tmp_path: Path, db: Path) -> None:
    folder = tmp_path / "x; touch owned; $(id)"
    folder.mkdir()
    path = folder / "a b.jsonl"
    path.write_bytes(line(1) + b"bad\n" + line(2))
    assert f"`ctxledger ingest '{folder}'/*`" in run("ingest", folder).stderr
    assert f"`ctxledger ingest '{path}'`" in run("rollback", path).stderr
    told = run("ingest", path, "--session", "s", "--db", db).stderr
    assert f"`ctxledger log s --db {db}`" in told
    assert f"`ctxledger log s --type quarantine --db {db}`" in told


# -- streams and files that are not what they should be -------------------------------------------


def shell(command: str, db: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", command.replace("ctxledger", f"{sys.executable} -m ctxledger.cli")],
        capture_output=True,
        timeout=PATIENCE_S,
        env={**os.environ, "CTXLEDGER_DB": str(db)},
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("ctxledger ingest - <&-", 2),
        ("ctxledger ingest <&-", 2),
        ("ctxledger log - <&-", 2),
        ("ctxledger log >&-", 0),
        ("ctxledger log nosuch 2>&-", 2),
        ("ctxledger log <&- >&- 2>&-", 0),
        ("ctxledger log >/dev/full", 5),
        ("ctxledger log --json >/dev/full", 5),
        ("ctxledger export @ --format original >/dev/full", 5),
        ("ctxledger export @ --format events >/dev/full", 5),
    ],
)
def test_closed_and_full_streams(run: Run, db: Path, command: str, code: int) -> None:
    run("ingest", FIXTURE)
    done = shell(command, db)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr
    assert json.loads(run("verify", "--json").stdout)["ok"]


def test_a_named_pipe_without_a_writer_ends_with_a_signal(db: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [sys.executable, "-m", "ctxledger.cli", "ingest", str(tmp_path / "pipe")],
        env={**os.environ, "CTXLEDGER_DB": str(db)},
        stderr=subprocess.PIPE,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.5)
    process.terminate()
    _, told = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, told.strip()) == (130, b"")


@pytest.mark.parametrize("name", ["ledger.db", "ledger.db-wal", "link", "pipe"])
def test_an_export_never_overwrites_the_ledger_or_a_device(
    run: Run, db: Path, tmp_path: Path, name: str
) -> None:
    run("ingest", FIXTURE)
    (tmp_path / "link").symlink_to(db)
    os.mkfifo(tmp_path / "pipe")
    Path(f"{db}-wal").touch()
    target = tmp_path / name
    before = target.lstat()
    result = run("export", "@", "--format", "original", "-o", target, "--force")
    assert result.exit_code == 2
    assert is_one_message(result)
    # the log is removed when the last reader closes it
    assert not target.exists() or target.lstat().st_ino == before.st_ino
    assert json.loads(run("verify", "--json").stdout)["ok"]


@pytest.mark.parametrize("args", [("log",), ("search", "message")])
def test_a_count_that_is_larger_than_anything(run: Run, args: tuple[str, ...]) -> None:
    run("ingest", FIXTURE)
    result = run(*args, "-n", 10**30)
    assert result.exit_code in (0, 1)
    assert "Traceback" not in result.stderr
