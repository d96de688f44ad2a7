"""Damaged lines: glued, torn and spread records are read where there is only one reading."""

from __future__ import annotations

import random

import pytest

from ctxledger.ledger.formats.base import Record
from ctxledger.ledger.formats.records import LineSplitter
from ctxledger.ledger.formats.recovery import JOINED_LINES_MAX

GOOD = b'{"type": "user", "uuid": "u1", "message": {"role": "user", "content": "message 1"}}\n'


LAST = b'{"type": "user", "uuid": "u9", "message": {"role": "user", "content": "message 9"}}\n'


def split(data: bytes, *, chunk_bytes: int = 0) -> tuple[list[Record], bytes]:
    """Push `data` (in chunks), finish, and check the tiling."""
    splitter = LineSplitter()
    records: list[Record] = []
    step = chunk_bytes or max(1, len(data))
    for start in range(0, len(data), step):
        records += splitter.push(data[start : start + step])
    records += splitter.finish()
    assert_tiles(records, splitter.pending, data)
    return records, splitter.pending


def assert_tiles(records: list[Record], pending: bytes, data: bytes) -> None:
    at = 0
    for record in records:
        assert record.offset == at
        at += len(record.data)
    assert b"".join(record.data for record in records) + pending == data


def outline(data: bytes) -> list[tuple[bytes, str]]:
    """Each record's bytes with its fault or repair."""
    return [(record.data, record.fault or record.repaired) for record in split(data)[0]]


def test_the_torn_stub_is_kept_and_the_fused_object_behind_it_is_read() -> None:
    stub = b'{"type": "user", "uuid": "u2", "p'
    records, _ = split(GOOD + stub + LAST + GOOD)
    assert [(r.data, r.fault, r.repaired) for r in records] == [
        (GOOD, "", ""),
        (stub, "torn", ""),
        (LAST, "", "glued"),
        (GOOD, "", ""),
    ]
    assert records[2].value["uuid"] == "u9"


@pytest.mark.parametrize(
    "stub",
    [
        b'{"a":"cut in a string',
        b'{"a":"cut at an escape \\',
        b'{"a":"\\u12',
        b'{"a":1,',
        b'{"a":12',
        b'{"a":tru',
        b'{"a',
        b'{"a":{"b":[1,{"c":"deep',
        b"log line: ",
        b'{"a":"two {',
        b'{"a":"half a character \xe6\x97',
        b'{"a":"\0\0\0\0',
    ],
)
def test_a_stub_ends_where_the_next_object_starts(stub: bytes) -> None:
    records, _ = split(stub + b'{"b": {"c": 2}}\n')
    assert [record.data for record in records] == [stub, b'{"b": {"c": 2}}\n']
    assert records[0].fault
    assert records[1].value == {"b": {"c": 2}}


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"message","message":{"role":"user","content":"x"}\n',
        b'{"type":"a" "message":{"role":"user","content":"x"}}\n',
        b'{"a":1}garbage\n',
        b'{"list":[{"role":"user","content":"x"}\n',
    ],
)
def test_an_inner_object_of_a_damaged_line_never_becomes_a_record(line: bytes) -> None:
    records, _ = split(line + GOOD)
    assert [record.data for record in records] == [line, GOOD]
    assert records[0].fault in ("torn", "not_json")


def test_glued_objects_become_one_record_each() -> None:
    assert outline(b'{"a":1}{"b":2} {"c":3}\n') == [
        (b'{"a":1}', "glued"),
        (b'{"b":2} ', "glued"),
        (b'{"c":3}\n', "glued"),
    ]


def test_a_glued_object_that_is_torn_is_a_fault() -> None:
    assert outline(b'{"a":1}{"b":"x\n') == [(b'{"a":1}', "glued"), (b'{"b":"x\n', "torn")]


def test_raw_newlines_inside_a_string_are_joined() -> None:
    broken = b'{"type":"tool","uuid":"x1","text":"first line\nsecond line\nthird"}\n'
    records, _ = split(GOOD + broken + LAST)
    assert [record.repaired for record in records] == ["", "joined", ""]
    assert records[1].value["text"] == "first line\nsecond line\nthird"


def test_a_pretty_printed_object_is_joined() -> None:
    records, _ = split(b'{\n  "a": [\n    {"b": 1}\n  ]\n}\n' + GOOD)
    assert [record.repaired for record in records] == ["joined", ""]
    assert records[0].value == {"a": [{"b": 1}]}


def test_a_torn_line_never_swallows_the_good_lines_behind_it() -> None:
    torn = b'{"type":"user","text":"torn\n'
    assert outline(torn + GOOD + torn + b'{"b":"y\nz"}\n' + LAST) == [
        (torn, "torn"),
        (GOOD, ""),
        (torn, "torn"),
        (b'{"b":"y\nz"}\n', "joined"),
        (LAST, ""),
    ]


def test_an_open_object_waits_while_following_and_is_a_fault_at_the_end() -> None:
    torn = b'{"type":"user","text":"torn\n'
    splitter = LineSplitter()
    assert list(splitter.push(torn)) == []
    assert splitter.pending == torn
    assert [record.fault for record in splitter.finish()] == ["torn"]


def test_joining_has_a_limit() -> None:
    lines = b"more\n" * (JOINED_LINES_MAX + 100)
    records, _ = split(b'{"a":"open\n' + lines + GOOD)
    assert len(records) == JOINED_LINES_MAX + 102
    assert [record.fault for record in records[:-1]] == ["torn"] + ["not_json"] * 1_100
    assert records[-1].value["uuid"] == "u1"


def test_20000_damaged_lines_raise_nothing_and_tile() -> None:
    rng = random.Random(6)
    noise = [
        b"\0",
        b"\xff",
        b"\xe2\x80",
        b"\\ud800",
        b'"',
        b"{",
        b"}",
        b"\n",
        b"NaN",
        b"1e999",
        b"\x1b]52;c;x\x07",
        b"[" * 300,
        b'{"',
        b"\\",
        b"\xef\xbb\xbf",
        b"\r",
    ]
    damaged = bytearray()
    for number in range(20_000):
        line = bytearray(GOOD if number % 2 else LAST)
        at = rng.randrange(len(line))
        match rng.randrange(4):
            case 0:
                line[at] ^= 1 << rng.randrange(8)
            case 1:
                del line[at:]
            case 2:
                line[at:at] = rng.choice(noise)
            case 3:
                del line[at : at + rng.randrange(9)]
        damaged += line
    records, _ = split(bytes(damaged), chunk_bytes=65_536)
    assert len(records) > 15_000
    assert all((record.value is None) or not record.fault for record in records)


@pytest.mark.parametrize(
    "data",
    [
        b'{"' * 100_000 + b"\n",
        b'{"a":1,"b":{' * 30_000 + b'"c"}\n',
        b"{\n" * 20_000,
        b'{\n"\n' * 20_000,
        (b'{"a\n' + b"x\n" * 60) * 400,
        b'{"a":' * 50_000 + b"x\n",
    ],
)
def test_hostile_lines_are_only_faults(data: bytes) -> None:
    assert all(record.fault for record in split(data, chunk_bytes=65_536)[0])
