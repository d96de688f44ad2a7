"""Files of traffic as they are found: damaged at the top, glued, large, packed; and junk inside."""

from __future__ import annotations

import base64
import copy
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ctxledger.ledger.formats.anthropic import AnthropicFold
from ctxledger.ledger.formats.base import Record
from ctxledger.ledger.formats.detect import detect, is_line_based

from .traffic import URL, Recording, agent, answer, result, said, take, text, use, user

Json = dict[str, Any]
FIRST = agent(user("a"))
SECOND = agent(user("a"), said("b", use("t1")), user(result("t1")))


def recorded() -> Recording:
    recording = Recording()
    recording.pair("agent", FIRST, "b", use("t1"))
    recording.pair("agent", SECOND, "done")
    return recording


LINES = recorded().data
ONE, TWO = LINES.splitlines()


@pytest.mark.parametrize(
    "data",
    [
        b"proxy listens on :8080\n" + LINES,
        ONE[:200] + b"\n" + LINES,
        b"\n" + LINES,
        ONE + TWO + b"\n",
        ONE + b"\n" + TWO[:300] + b"\n" + TWO + b"\n",
        b"[\n" + ONE + b",\n" + TWO + b"\n]\n",
        b"[" + ONE + b"," + TWO + b"]",
        LINES.replace(b"\n", b"\r\n"),
    ],
    ids=["log line", "torn", "blank", "glued", "torn later", "list", "one list", "crlf"],
)
def test_what_can_be_read_is_read(data: bytes, tmp_path: Path) -> None:
    assert take(data, tmp_path).requests == [FIRST, SECOND]


def test_requests_recorded_without_any_answer(tmp_path: Path) -> None:
    rows = [{"request": {"url": URL, "body": body}} for body in (FIRST, SECOND)]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    assert take(data, tmp_path).requests == [FIRST, SECOND]


def test_a_pretty_body_larger_than_what_detection_reads(tmp_path: Path) -> None:
    body = agent(*[said("y" * 900) if n % 2 else user("x" * 900) for n in range(401)])
    data = json.dumps(body, indent=1).encode()
    assert len(data) > 300_000
    assert detect(data[: 256 * 1024], "it") == "anthropic"
    assert not is_line_based(data[: 256 * 1024])
    assert take(data, tmp_path).requests == [body]


def test_a_call_through_another_cloud_is_traffic(tmp_path: Path) -> None:
    body = {key: value for key, value in FIRST.items() if key != "model"}
    body["anthropic_version"] = "bedrock-2023-05-31"
    url = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-x/invoke"
    row = {"request": {"url": url, "body": body}, "response": {"body": answer(1, "b")}}
    assert take(json.dumps(row).encode() + b"\n", tmp_path).requests == [body]


@pytest.mark.parametrize("is_packed", [False, True])
def test_base64_bodies_of_a_cassette(is_packed: bool, tmp_path: Path) -> None:
    def wrapped(body: Json) -> Json:
        data = json.dumps(body).encode()
        packed = gzip.compress(data) if is_packed else data
        return {"base64_string": base64.b64encode(packed).decode()}

    pairs = [
        {
            "request": {"method": "POST", "uri": URL, "body": wrapped(body)},
            "response": {"status": {"code": 200}, "body": wrapped(answer(1, "b", use("t1")))},
        }
        for body in (FIRST, SECOND)
    ]
    taken = take(yaml.safe_dump({"interactions": pairs, "version": 1}).encode(), tmp_path)
    assert taken.requests == [FIRST, SECOND]
    assert taken.main.window().entries[-1].block.tool_id == "t1"


JUNK: list[object] = [
    None, True, 0, -1, 10**18, 1e300, "", "x", "\ud800", [], [[]], ["a", ["b"]], {}, {"a": [1]},
    [{"type": "text"}], {"type": "text", "text": 7}, {"string": "x"}, "H4sIxx",
    "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59",
]  # fmt: skip


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for key, child in inner:
        yield from places(child, (*path, key))


def with_junk(value: Any, path: tuple[Any, ...], junk: object) -> Any:
    if not path:
        return junk
    value = copy.copy(value)
    value[path[0]] = with_junk(value[path[0]], path[1:], junk)
    return value


def a_full_pair() -> Json:
    clear = {"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 0}}
    edits = {"edits": [{**clear, "exclude_tools": ["Bash"]}]}
    applied = {"applied_edits": [{"type": clear["type"], "cleared_tool_uses": 1}]}
    usage = {"input_tokens": 1, "iterations": [{"type": "message", "input_tokens": 1}]}
    blocks = [{"type": "thinking", "thinking": "x", "signature": "s"}, text("b", citations=[{}])]
    recording = Recording()
    body = agent(user("a"), said({"type": "compaction", "content": "c"}, use("t1")),
                 user(result("t1", [text("r")])), context_management=edits)  # fmt: skip
    answered = answer(1, *blocks, use("t2"), usage=usage, context_management=applied)
    recording.pair("agent", body, body=answered)
    return {**recording.rows[0], "logged_at": "2030-01-01"}


def test_junk_anywhere_in_a_pair_stops_nothing() -> None:
    pair = a_full_pair()
    good = Record(offset=0, data=b"", value=pair)
    for path in places(pair):
        for junk in JUNK:
            fold = AnthropicFold("main")
            fold.feed(Record(offset=0, data=b"", value=with_junk(pair, path, junk)))
            assert fold.feed(good).kind == "window", (path, junk)


def test_junk_anywhere_in_a_stream_stops_nothing() -> None:
    recording = recorded()
    row = recording.rows[0]
    raw = row["response"]["body_raw"]
    events = [json.loads(line[5:]) for line in raw.split("\n") if line.startswith("data:")]
    events[0]["message"]["content"] = [{"type": "text", "text": ""}, 7, ["x"]]
    for path in places(events):
        for junk in JUNK if path else ():
            changed = with_junk(events, path, junk)
            body_raw = "".join(f"data: {json.dumps(event)}\n\n" for event in changed)
            value = {**row, "response": {"status_code": 200, "body_raw": body_raw}}
            fed = AnthropicFold("main").feed(Record(offset=0, data=b"", value=value))
            assert fed.kind == "window", (path, junk)
