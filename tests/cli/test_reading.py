"""log, window, show, sessions: what they print, for people and for programs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from ctxledger.cli.demo_data import write_recording
from ctxledger.ledger.plaintext import cell_width, plain

Run = Callable[..., Result]
FIXTURES = Path(__file__).parents[1] / "fixtures"
RECORDINGS = ("auto-compaction", "claude-code-interrupts", "anthropic-agent-loop")
LOG_KEYS = {
    "version",
    "handle",
    "type",
    "at",
    "actor",
    "summary",
    "tokens_before",
    "tokens_after",
}
WINDOW_KEYS = {
    "session",
    "version",
    "view",
    "coverage",
    "limit",
    "tokens",
    "tokens_method",
    "unrecorded",
    "categories",
    "entries",
}


@pytest.fixture(scope="module")
def compaction(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real session with a compaction: the one of the demo."""
    path = tmp_path_factory.mktemp("recordings") / "auto-compaction.jsonl"
    write_recording(path)
    return path


@pytest.fixture
def recording(request: pytest.FixtureRequest, compaction: Path) -> Path:
    """A recording by its name."""
    name = str(request.param)
    return compaction if name == compaction.stem else next(FIXTURES.glob(f"{name}.*"))


@pytest.mark.parametrize("recording", RECORDINGS, indirect=True)
@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize(
    "command", [("log", "-n", "60"), ("window",), ("window", "--at", "head~5")]
)
def test_golden(
    run: Run,
    golden: Callable[[str, str], None],
    recording: Path,
    width: int,
    command: tuple[str, ...],
) -> None:
    name, *options = command
    result = run(name, recording, *options, width=width)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(cell_width, lines)) <= width
    assert not any(line.endswith(" ") for line in lines)
    words = "".join(filter(str.isalnum, "".join(options)))
    golden(f"{name}-{words}-{recording.stem}-{width}".replace("--", "-"), result.stdout)


def test_log_lines_have_the_keys_of_the_contract(run: Run, compaction: Path) -> None:
    lines = [json.loads(line) for line in run("log", compaction, "--json").stdout.splitlines()]
    assert all(line.keys() >= LOG_KEYS for line in lines)
    assert [line["version"] for line in lines] == list(range(1, 331))
    (found,) = (line for line in lines if line["handle"] == "c1")
    assert found["type"] == "window_compacted"
    assert found["tokens_before"] == 174_247
    assert found["at"] == "2026-02-08T05:46:11.312Z"


def test_log_is_whole_lines_without_colour_when_piped(run: Run, compaction: Path) -> None:
    piped = run("log", compaction, "-n", 0).stdout.splitlines()
    assert len(piped) == 331
    assert not any("\x1b" in line for line in piped)
    assert max(map(len, piped)) > 1000
    shown = run("log", compaction, "-n", 0, "--color", "always", width=80).stdout
    assert "\x1b[1;35m" in shown


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("compaction", {"window_compacted"}),
        ("compactions", {"window_compacted"}),
        ("call,result", {"model_called", "call_completed"}),
        ("session_opened", {"session_opened"}),
    ],
)
def test_log_chooses_types(run: Run, compaction: Path, words: str, expected: set[str]) -> None:
    lines = run("log", compaction, "--type", words, "--json").stdout.splitlines()
    assert {json.loads(line)["type"] for line in lines} == expected


def test_log_ends_at_a_reference_and_says_what_it_left_out(run: Run, compaction: Path) -> None:
    result = run("log", compaction, "--at", "c1", "-n", 3, "--json")
    assert [json.loads(line)["version"] for line in result.stdout.splitlines()] == [247, 248, 249]
    assert "-n 0 shows all" in run("log", compaction, "-n", 3).stderr


def test_log_marks_what_was_undone(run: Run, compaction: Path) -> None:
    run("ingest", compaction)
    assert run("rollback", "@", "c1", "--yes").exit_code in (0, 1)
    lines = {
        line["handle"]: line
        for line in map(json.loads, run("log", "@", "--json").stdout.splitlines())
        if line["handle"]
    }
    assert lines["c1"]["undone"] is True
    assert "r1" in lines
    assert "[undone]" in run("log", "@", "--type", "compaction", width=80).stdout


def test_log_flags_a_clock_that_jumps_back(run: Run, tmp_path: Path) -> None:
    hours = ("12", "09", "13")
    (tmp_path / "clock.jsonl").write_text(
        "".join(
            json.dumps({"role": "user", "content": h, "at": f"2026-11-30T{h}:00:00Z"}) + "\n"
            for h in hours
        )
    )
    lines = run("log", tmp_path / "clock.jsonl", width=80).stdout.splitlines()
    assert ["clock back by 3 h" in line for line in lines].count(True) == 1


def test_window_json_has_the_keys_of_the_contract(run: Run, compaction: Path) -> None:
    before = json.loads(run("window", compaction, "--at", "c1^", "--format", "json").stdout)
    after = json.loads(run("window", compaction, "--at", "c1", "--json").stdout)
    assert before.keys() >= WINDOW_KEYS
    assert (before["version"], len(before["entries"])) == (248, 172)
    assert [entry["form"] for entry in after["entries"]] == ["brief"]
    for shown in (before, after):
        assert sum(shown["categories"].values()) == shown["tokens"]
        assert sum(entry["tokens"] for entry in shown["entries"]) == shown["tokens"]
    assert before["tokens_method"] == "tokenizer/o200k_base"


def test_window_of_a_recorded_call_is_the_request_that_was_sent(run: Run) -> None:
    import yaml

    path = FIXTURES / "anthropic-agent-loop.yaml"
    cassette = yaml.safe_load(path.read_text("utf-8"))
    for number, request in enumerate(cassette["requests"], 1):
        result = run("window", path, "--at", f"call{number}", "--format", "anthropic")
        assert json.loads(result.stdout) == json.loads(request["body"])


def test_window_full_prints_everything(run: Run, compaction: Path) -> None:
    shown = json.loads(run("window", compaction, "--json").stdout)
    printed = run("window", compaction, "--full").stdout
    texts = [entry for entry in shown["entries"] if entry["type"] in ("text", "tool_result")]
    assert len(texts) > 20
    assert all(plain(entry["text"]).rstrip() in printed for entry in texts)


def test_bars_fall_back_to_ascii(run: Run, compaction: Path) -> None:
    assert "\u2588" in run("window", compaction, width=80).stdout


def test_show_tells_where_an_item_came_from(run: Run, compaction: Path) -> None:
    item = json.loads(run("show", compaction, "24.0", "--json").stdout)
    raw = compaction.read_bytes()
    came = item["from"]
    record = raw[came["offset"] : came["offset"] + came["length"]]
    assert came["line"] == raw[: came["offset"]].count(b"\n") + 1
    assert json.loads(record)["message"]["content"][0]["content"] == item["text"]
    assert json.loads(run("show", compaction, "24", "--raw").stdout) == json.loads(record)
    shown = run("show", compaction, "24.0").stdout
    assert f"line {came['line']}, byte {came['offset']:,}" in shown
    assert item["text"].splitlines()[0] in shown


def test_show_tells_what_a_call_and_a_compaction_were(run: Run, compaction: Path) -> None:
    call = json.loads(run("show", compaction, "call7", "--json").stdout)
    assert call["model"] == "claude-opus-4-6"
    assert call["usage"]["cache_read_tokens"] == 54_390
    compacted = json.loads(run("show", compaction, "c1", "--json").stdout)
    assert compacted["in_force"] is True
    assert compacted["depth"] == 1
    assert compacted["items"][0]["text"].startswith("This session is being continued")
    shown = run("show", compaction, "c1").stdout
    assert "174,247 (provider)" in shown
    assert "172 items out, 1 in" in shown


def test_log_says_how_large_the_window_was_after_a_compaction(run: Run, compaction: Path) -> None:
    (line,) = run("log", compaction, "--type", "compaction", "--json").stdout.splitlines()
    told = json.loads(line)
    assert (told["tokens_before"], told["tokens_after"]) == (174_247, 61_595)
    assert "174,247 -> 61,595 tokens as reported" in told["summary"]


def test_show_takes_the_newest_session_when_only_a_reference_is_given(
    run: Run, compaction: Path
) -> None:
    run("ingest", compaction)
    assert json.loads(run("show", "c1", "--json").stdout)["handle"] == "c1"
    assert run("show", "@", "c1", "24").exit_code == 2


def test_sessions_lists_them_and_filters(run: Run, compaction: Path) -> None:
    run("ingest", compaction, FIXTURES / "claude-code-interrupts.jsonl")
    rows = [json.loads(line) for line in run("sessions", "--json").stdout.splitlines()]
    assert {row["version"] for row in rows} == {330, 58}
    assert rows[-1]["compactions"] == 1
    assert rows[-1]["tokens"] == 74_765
    assert rows[-1]["updated_at"].startswith("2026-02-08T05:51")
    newer = run("sessions", "--since", "2026-01-01", "--json").stdout.splitlines()
    assert [json.loads(line)["session"] for line in newer] == [rows[-1]["session"]]
    mine = run("sessions", "--cwd", rows[0]["cwd"], "--json").stdout.splitlines()
    assert [json.loads(line)["session"] for line in mine] == [rows[0]["session"]]
    assert run("sessions", "--since", "yesterday").exit_code == 2
    assert f"`@`, or no SESSION, means {rows[0]['session']}," in run("sessions").stderr
    for width in (80, 140):
        assert max(map(cell_width, run("sessions", width=width).stdout.splitlines())) <= width


def test_a_pipe_in_place_of_a_session(run: Run, compaction: Path) -> None:
    piped = run("window", "-", "--at", "c1", "--json", stdin=compaction.read_bytes())
    assert json.loads(piped.stdout)["tokens"] == 2860
    command = f"{sys.executable} -m ctxledger.cli log <(cat {compaction}) --type compaction --json"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout)["handle"] == "c1"


def hostile_recording(folder: Path, text: str) -> Path:
    """A native recording with a text in every place that a file can fill."""
    call = {"type": "tool_use", "id": "t1", "name": text[:100], "input": {"command": text}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": text}
    lines = [
        {"type": "session", "name": text[:90], "title": text, "model": text[:50], "folder": text},
        {"type": "system", "content": text},
        {"role": "user", "content": text, "meta": {"path": text}},
        {"type": "call", "call": text[:60], "model": text[:60], "params": {"stop": [text]}},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": text}, call]},
        {"role": "user", "content": [result], "id": "r"},
        {"type": "result", "call": text[:60], "error": text, "stop_reason": text[:50]},
        {"type": "evict", "items": ["r/0"], "placeholder": text, "reason": text},
        {"type": "note", "kind": "fact", "text": text, "source": text},
        {"type": "compact", "brief": text, "reason": text},
        {"role": text[:40], "content": text},
    ]
    path = folder / "hostile.jsonl"
    broken = b'{"role": "user", "content": ' + text.encode("utf-8", "surrogatepass") + b"\n"
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines) + broken)
    return path


def test_no_recorded_text_acts_on_the_terminal(run: Run, tmp_path: Path, hostile_text: str) -> None:
    path = hostile_recording(tmp_path, hostile_text)
    outputs = [run("ingest", path), run("sessions"), run("sessions", width=80)]
    versions = run("log", path, "--json")
    for name, *options in (
        ("log",),
        ("log", "--json"),
        ("window",),
        ("window", "--full"),
        ("window", "--json"),
        ("window", "--at", "c1^", "--full"),
        ("window", "--format", "anthropic"),
        ("export", "--format", "events"),
    ):
        outputs += [run(name, path, *options, width=width) for width in (None, 80)]
    count = len(versions.stdout.splitlines()) if len(hostile_text) < 1000 else 1
    for version in range(1, count + 1):
        outputs += [run("show", path, version), run("show", path, version, "--json")]
    for item in re.findall(r'"item": "([\d.]+)"', run("window", path, "--json").stdout):
        outputs.append(run("show", path, item))
    for result in outputs:
        assert result.exit_code in (0, 1), result.stderr
        assert plain(result.output) == result.output
