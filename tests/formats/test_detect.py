"""Formats are told by contents; what cannot be read is named with what to do about it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger.errors import BadInput, LedgerError, UnknownFormat
from ctxledger.ledger.formats.detect import FOLDS, NOT_YET, detect, is_line_based, make_fold
from ctxledger.ledger.formats.looks import looks_like
from ctxledger.ledger.formats.native import NativeFold
from ctxledger.ledger.formats.prefix import value_of_prefix
from ctxledger.ledger.formats.records import LineSplitter, WholeSplitter

HELLO = {"role": "user", "content": "hello"}
CLAUDE_CODE = {"type": "user", "uuid": "u1", "sessionId": "s", "message": HELLO}
BODY = {"max_tokens": 5, "messages": [HELLO], "model": "some-model"}
ANSWER = {"type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1}}
SSE = b'event: message_start\ndata: {"type":"message_start","message":{}}\n\n'
CASSETTE = b"interactions:\n- request:\n    uri: https://api.anthropic.com/v1/messages\n"


def line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


@pytest.mark.parametrize(
    ("head", "format_name"),
    [
        (line(HELLO), "native"),
        (line({"type": "note", "kind": "fact", "text": "x"}), "native"),
        (line({"type": "session", "name": "x"}), "native"),
        (line(CLAUDE_CODE), "claude-code"),
        (line({"type": "summary", "summary": "x", "leafUuid": "u"}), "claude-code"),
        (
            line({"type": "file-history-snapshot", "messageId": "m", "isSnapshotUpdate": False}),
            "claude-code",
        ),
        (line({"type": "queue-operation", "sessionId": "s"}), "claude-code"),
        (line(BODY), "anthropic"),
        (line({"messages": [HELLO], "model": "claude-x"}), "anthropic"),
        (line(ANSWER), "anthropic"),
        (
            line({"request": {"url": "https://x/v1/messages", "body": BODY}, "response": {}}),
            "anthropic",
        ),
        (line({"request": BODY, "response": ANSWER}), "anthropic"),
        (line([{"request": BODY, "response": ANSWER}]), "anthropic"),
        (json.dumps(BODY, indent=2).encode(), "anthropic"),
        (SSE, "anthropic"),
        (b'data: {"type":"message_start"}\n\n', "anthropic"),
        (CASSETTE, "anthropic"),
    ],
)
def test_known_formats_are_told_by_their_contents(head: bytes, format_name: str) -> None:
    assert detect(head, "x.bin") == format_name


@pytest.mark.parametrize(
    "value",
    [
        {"model": "m", "messages": [{"role": "system", "content": "x"}]},
        {"model": "m", "max_tokens": 1, "messages": [{"role": "tool", "content": "x"}]},
        {"id": "chatcmpl-1", "choices": []},
        {"model": "m", "input": "x"},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
        {"request": {"url": "https://x/v1/chat/completions"}, "response": {}},
        {"model": "gpt-4o", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]},
        {"request": {"model": "m", "max_tokens": 1, "messages": []}, "response": {"choices": []}},
        {"id": "resp_1", "object": "response.compaction", "output": []},
        {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {}},
    ],
)
def test_openai_traffic_is_known_by_its_fields(value: Any) -> None:
    assert detect(json.dumps(value).encode(), "x") == "openai"


@pytest.mark.parametrize(
    ("value", "format_name"),
    [
        ({"timestamp": "t", "type": "session_meta", "payload": {}}, "codex"),
        ({"sessionId": "s", "projectHash": "p", "messages": []}, "gemini-cli"),
        ({"version": 1, "sessionId": "s", "agent": "lead", "messages": [HELLO]}, "cline"),
        ({"resourceSpans": []}, "otel-genai"),
        ({"lc": 1, "type": "constructor", "kwargs": {}}, "langchain"),
        ([{"type": "human", "content": "x"}], "langchain"),
        ({"trajectory": [], "history": []}, "swe-agent"),
        ({"instance_id": "i", "history": []}, "openhands"),
        ({"schema_version": "ATIF-v1.2", "steps": []}, "atif"),
        ({"messages_display": "user: x"}, "tau-bench"),
        ([HELLO], "message-list"),
    ],
)
def test_formats_that_are_not_read_yet_are_named(value: Any, format_name: str) -> None:
    assert looks_like(value) == format_name
    with pytest.raises(UnknownFormat) as caught:
        detect(line(value), "a.jsonl")
    assert caught.value.message == (
        f"a.jsonl looks like {NOT_YET[format_name]}, which is not supported yet."
    )
    assert "native" in caught.value.hint


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "x",
        [],
        {},
        {"type": "x"},
        {"content": "x"},
        {"type": []},
        {"role": "user"},
        {"messages": 5},
        {"request": []},
        {"type": "message", "message": HELLO},
        {"type": "note"},
        {"interactions": [4]},
    ],
)
def test_a_record_without_known_fields_looks_like_nothing(value: object) -> None:
    assert looks_like(value) == ""


@pytest.mark.parametrize(
    ("head", "error", "words"),
    [
        (b"", BadInput, "is empty"),
        (b" \n\n", BadInput, "is empty"),
        (b"\0\0", BadInput, "is empty"),
        (b"\x1f\x8b\x08\0rest", BadInput, "is a binary file"),
        (b"SQLite format 3\0", BadInput, "is a binary file"),
        (bytes(range(256)), BadInput, "is a binary file"),
        (b"# A page\n\nin words\n", UnknownFormat, "none of the formats"),
        (b'{"some": "object"}\n', UnknownFormat, "none of the formats"),
        ("größer\n".encode() * 9, UnknownFormat, "none of the formats"),
    ],
)
def test_what_is_no_recording_is_said_so(head: bytes, error: type[LedgerError], words: str) -> None:
    with pytest.raises(LedgerError) as caught:
        detect(head, "a file")
    assert type(caught.value) is error
    assert words in caught.value.message
    assert caught.value.hint


def test_damage_at_the_start_does_not_hide_the_format() -> None:
    assert detect(b'half of a line"}\n\n' + line(CLAUDE_CODE), "x") == "claude-code"
    assert detect(b"\xef\xbb\xbf" + line(HELLO), "x") == "native"
    assert detect(line(HELLO).decode().encode("utf-16"), "x") == "native"


def test_a_first_record_larger_than_the_head_is_recognised() -> None:
    body = {
        "max_tokens": 5,
        "model": "claude-x",
        "messages": [{"role": "user", "content": "y" * 9_000}],
    }
    assert detect(line(body)[:4_000], "x") == "anthropic"
    long = {
        "parentUuid": None,
        "sessionId": "s",
        "type": "user",
        "message": {"content": "z" * 9_000},
    }
    assert detect(line(long)[:4_000], "x") == "claude-code"


def test_the_value_of_a_prefix_is_what_is_whole_in_it() -> None:
    text = b'{"a": [1, {"b": "x,}", "c": "never ends, '
    assert value_of_prefix(text) == {"a": [1, {"b": "x,}", "c": ""}]}
    assert value_of_prefix(b'{"a": 1, "key cut') == {"a": 1}
    assert value_of_prefix(b"}") is None
    assert value_of_prefix(b"plain text") is None


@pytest.mark.parametrize(
    ("head", "is_lines"),
    [
        (line(BODY), True),
        (line(BODY) * 2, True),
        (line(BODY)[:20], True),
        (b"", True),
        (json.dumps(BODY, indent=1).encode(), False),
        (line([BODY]), False),
        (SSE, False),
        (CASSETTE, False),
    ],
)
def test_lines_and_whole_documents_are_told_apart(head: bytes, is_lines: bool) -> None:
    assert is_line_based(head) is is_lines
    splitter, fold = make_fold("anthropic", "main", head)
    assert isinstance(splitter, LineSplitter if is_lines else WholeSplitter)
    assert fold.name == "anthropic"


def test_each_readable_format_has_its_fold() -> None:
    for format_name in FOLDS:
        splitter, fold = make_fold(format_name, "main", line(HELLO))
        assert isinstance(splitter, LineSplitter)
        assert fold.name == format_name
    assert isinstance(make_fold("native", "main")[1], NativeFold)


@pytest.mark.parametrize("format_name", ["codex", "nonsense"])
def test_a_format_that_cannot_be_read_has_no_fold(format_name: str) -> None:
    with pytest.raises(UnknownFormat) as caught:
        make_fold(format_name, "main")
    assert format_name in caught.value.message
    assert "native, claude-code, anthropic" in caught.value.hint


def test_detection_loads_no_parser_it_does_not_need() -> None:
    code = (
        "import sys; from ctxledger.ledger.formats.detect import detect; "
        'detect(b\'{"role":"user","content":"x"}\\n\', \'x\'); '
        "print([name for name in ('yaml', 'ctxledger.ledger.formats.anthropic') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_recording_is_recognised(recordings: Path) -> None:
    found = {}
    for path in sorted(recordings.glob("*/*")):
        try:
            found[path] = detect(path.read_bytes()[: 256 * 1024], path.name)
        except UnknownFormat as error:
            found[path] = error.message
    assert found
    for path, answer in found.items():
        folder = path.parent.name
        if folder in FOLDS:
            assert answer == folder
        else:
            assert ("none of the" if path.suffix == ".md" else NOT_YET[folder]) in answer


def test_a_first_line_longer_than_what_is_looked_at() -> None:
    native = b'{"role": "user", "content": "' + b"x" * 300_000
    blocks = b'{"role": "user", "content": [{"type": "text", "text": "' + b"x\\n" * 100_000
    assert detect(native, "a.jsonl") == "native"
    assert detect(blocks, "a.jsonl") == "native"
