"""Bytes to records: the parts tile the input, and chunks and cuts do not matter."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxledger.ledger.formats.base import Record
from ctxledger.ledger.formats.parsing import DEPTH_MAX, parse
from ctxledger.ledger.formats.records import LineSplitter, WholeSplitter

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


def test_each_line_is_a_record_with_its_value_and_offset() -> None:
    records, pending = split(GOOD + LAST)
    assert [record.value["uuid"] for record in records] == ["u1", "u9"]
    assert [record.offset for record in records] == [0, len(GOOD)]
    assert not any(record.fault or record.repaired for record in records)
    assert pending == b""


def test_a_half_last_line_stays_pending() -> None:
    half = b'{"type": "user", "uuid": "u4", "parentUu'
    records, pending = split(GOOD + LAST + half)
    assert len(records) == 2
    assert pending == half


def test_a_whole_last_line_without_newline_is_taken_only_at_the_end() -> None:
    splitter = LineSplitter()
    assert len(list(splitter.push(GOOD + LAST.rstrip()))) == 1
    assert splitter.pending == LAST.rstrip()
    assert [record.value["uuid"] for record in splitter.finish()] == ["u9"]
    assert splitter.pending == b""


@pytest.mark.parametrize("tail", [b"12", b'"text"', b"garbage", b'{"a":NaN}', b'{"a":1} x'])
def test_an_unfinished_tail_that_is_no_object_stays_pending(tail: bytes) -> None:
    assert split(GOOD + tail)[1] == tail


def test_only_byte_0a_ends_a_line() -> None:
    text = '{"content": "a\u2028b\u2029c\u0085d"}\n'.encode()
    records, _ = split(text + GOOD)
    assert len(records) == 2
    assert records[0].value == {"content": "a\u2028b\u2029c\u0085d"}


def test_bom_and_crlf_are_read_as_utf8() -> None:
    text = b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n")
    words = '{"content": "grüßer – 日本"}\r\n'.encode()
    records, _ = split(text + words)
    assert [(record.repaired, record.fault) for record in records] == [("bom", ""), ("", "")]
    assert records[0].data == text
    assert records[1].value == {"content": "grüßer – 日本"}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("chunk_bytes", [0, 1, 3])
def test_utf16_is_read_line_by_line(encoding: str, chunk_bytes: int) -> None:
    data = '{"a": "né\u0a0a"}\n{"b": 2}\n\n{"c": "half'.encode(encoding)
    records, pending = split(data, chunk_bytes=chunk_bytes)
    assert [record.value for record in records] == [{"a": "né\u0a0a"}, {"b": 2}, None]
    assert [record.repaired for record in records] == ["utf16", "utf16", "blank"]
    assert pending == '{"c": "half'.encode("utf-16-be" if encoding.endswith("be") else "utf-16-le")


def test_utf16_is_known_again_when_resuming() -> None:
    data = '{"a": 1}\n{"b": 2}\n'.encode("utf-16")
    first = next(LineSplitter().push(data))
    resumed = LineSplitter(len(first.data), head=data[:4])
    (second,) = resumed.push(data[len(first.data) :])
    assert (second.offset, second.value) == (len(first.data), {"b": 2})


def test_blank_lines_are_records_without_value_or_fault() -> None:
    assert outline(b"\n" + GOOD + b"  \r\n" + LAST + b"\n") == [
        (b"\n", "blank"),
        (GOOD, ""),
        (b"  \r\n", "blank"),
        (LAST, ""),
        (b"\n", "blank"),
    ]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"not json\n", "not_json"),
        (b'{"a":1,}\n', "not_json"),
        (b'{"a":"x\n', "torn"),
        (b'{"a":"\0"}\n', "nul_bytes"),
        (b"\0\0\0\0\n", "nul_bytes"),
        (b'\0\0\0{"a":1}\n', "nul_padding"),
        (b'{"a":1}\0\0\n', "nul_padding"),
        (b'{"a":"\xff"}\n', "bad_utf8"),
        (b'{"a":"\xed\xa0\x80"}\n', "bad_utf8"),
        (b'{"a":NaN}\n', "not_a_number"),
        (b'{"a":-Infinity}\n', "not_a_number"),
        (b'{"a":1e400}\n', "not_a_number"),
        (b'{"a":' + b"1" * 5_000 + b"}\n", "not_a_number"),
        (b'{"a":"\\ud800"}\n', "surrogates"),
        (b'{"a":"tab\there"}\n', "control_characters"),
        (b'{"a":' + b"[" * 5_000 + b"]" * 5_000 + b"}\n", "too_deep"),
        (b'{"a":123456789012345678901234567890}\n', ""),
        (b'{"a":"\\ud83d\\ude00"}\n', ""),
    ],
)
def test_what_is_wrong_with_a_line_has_a_name(line: bytes, word: str) -> None:
    records, _ = split(line + GOOD)
    assert [(r.data, r.fault or r.repaired) for r in records] == [(line, word), (GOOD, "")]
    assert (records[0].value is None) == bool(records[0].fault)


def test_surrogates_are_kept_as_they_were_written() -> None:
    assert split(b'{"a":"x\\udc00y"}\n')[0][0].value == {"a": "x\udc00y"}


def test_the_depth_limit_does_not_depend_on_the_reader() -> None:
    def nested(depth: int, text: bytes) -> bytes:
        return b"[" * (depth - 1) + b"[" + text + b"]" + b"]" * (depth - 1)

    for text in (b'"x"', b'"\\ud800"'):
        assert parse(nested(DEPTH_MAX, text)).fault == ""
        assert parse(nested(DEPTH_MAX + 1, text)).fault == "too_deep"


def test_every_beginning_of_an_object_is_known_as_cut() -> None:
    whole = b'{"a": [1, {"b": "x\\u00e9\\n"}], "c": true, "d": null, "e": -1.5e-3, "f": "\xc3\xa9"}'
    for end in range(1, len(whole)):
        parsed = parse(whole[:end])
        assert parsed.is_cut or parsed.fault == "bad_utf8", whole[:end]


_FRAGMENTS = st.sampled_from(
    [
        b'{"a":1}',
        b'{"b":"x',
        b'y"}',
        b"\n",
        b"\r\n",
        b" ",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"{",
        b"}",
        b'"',
        b"\\",
        b"[1,",
        b"]",
        b"NaN",
        b'"\\ud800"',
        b"text",
        b'{"c": {"d": [',
        b",",
        b":",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_FRAGMENTS, max_size=40).map(b"".join), st.lists(st.integers(1, 9), min_size=1))
def test_chunks_do_not_matter(data: bytes, steps: list[int]) -> None:
    whole = split(data)
    splitter = LineSplitter()
    records: list[Record] = []
    at = turn = 0
    while at < len(data):
        step = steps[turn % len(steps)]
        records += splitter.push(data[at : at + step])
        at, turn = at + step, turn + 1
    records += splitter.finish()
    assert (records, splitter.pending) == whole


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([GOOD, LAST, b"\n", b"x\n", b'{"a":"torn\n', b'{"a":1}{"b":2}\n'])))
def test_a_cut_at_any_line_changes_no_record(lines: list[bytes]) -> None:
    whole, _ = split(b"".join(lines))
    pieces: list[Record] = []
    for line in lines:
        resumed = LineSplitter(sum(len(record.data) for record in pieces))
        pieces += resumed.push(line)
        pieces += resumed.finish()
    assert pieces == whole


def test_a_20_mb_line_comes_in_small_chunks() -> None:
    huge = b'{"type":"user","text":"' + b"x" * 20_000_000 + b'"}\n'
    records, _ = split(GOOD + huge + LAST, chunk_bytes=65_536)
    assert [len(record.data) for record in records] == [len(GOOD), len(huge), len(LAST)]
    assert len(records[1].value["text"]) == 20_000_000


def test_the_whole_input_is_one_record() -> None:
    splitter = WholeSplitter()
    assert list(splitter.push(b'{\n "model":')) == []
    assert list(splitter.push(b' "m"\n}\n')) == []
    assert splitter.pending == b'{\n "model": "m"\n}\n'
    (record,) = splitter.finish()
    assert (record.offset, record.value, record.fault) == (0, {"model": "m"}, "")
    assert splitter.pending == b""
    assert list(splitter.finish()) == []


def test_text_that_is_no_json_has_neither_value_nor_fault() -> None:
    splitter = WholeSplitter()
    list(splitter.push(b"interactions:\n- request: {}\n"))
    (record,) = splitter.finish()
    assert (record.value, record.fault) == (None, "")


def test_a_batch_cut_anywhere_gives_a_beginning_of_its_records() -> None:
    whole, _ = split(GOOD + LAST + GOOD)
    for end in range(len(GOOD + LAST + GOOD)):
        records, _ = split((GOOD + LAST + GOOD)[:end])
        values = [record.value for record in records]
        assert values == [record.value for record in whole[: len(values)]]
        assert not any(record.fault for record in records)
