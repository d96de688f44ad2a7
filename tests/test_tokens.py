"""Counting offline: the shipped table is tiktoken's, images are never counted as text."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiktoken_ext.openai_public
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxledger.ledger import tokens
from ctxledger.ledger.content import Block, block_from, tool_from
from ctxledger.ledger.errors import BadInput, StorageFailed
from ctxledger.ledger.images import PixelSize, pixel_size
from ctxledger.ledger.tokens import LEN4, O200K, count_block, counter, image_tokens


def png(width: int, height: int, size_bytes: int = 0) -> str:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return base64.b64encode(head.ljust(size_bytes, b"\0")).decode()


def image(data: str, media_type: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def weigh(raw: dict[str, Any]) -> int:
    return count_block(counter(), block_from(raw, "human"))


def whole(text: str) -> int:
    """Tokens of a text that the encoder sees in one piece."""
    return len(tokens._o200k().encode_ordinary(text))


def test_the_table_is_the_one_tiktoken_would_download() -> None:
    ranks = sorted(tokens._read_table().items(), key=lambda item: item[1])
    lines = b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks)
    known = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    assert hashlib.sha256(lines).hexdigest() == known


def test_pattern_and_specials_are_tiktokens(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        tiktoken_ext.openai_public,
        "load_tiktoken_bpe",
        lambda url, expected_hash: asked.append((url, expected_hash)) or {},
    )
    theirs = tiktoken_ext.openai_public.o200k_base()
    ours = tokens._o200k()
    assert ours._pat_str == theirs["pat_str"]
    assert ours._special_tokens == theirs["special_tokens"]
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("\u4e2d\u6587\u5b57", 1), ("x" * 8, 1)],
)
def test_known_counts(text: str, count: int) -> None:
    assert counter().count(text) == count


def test_lone_surrogates_are_counted() -> None:
    assert counter().count("a\ud800b") > 0
    assert counter("len4").count("a\ud800b") == 2


def test_counting_needs_no_network_and_no_cache() -> None:
    program = (
        "import socket, sys\n"
        "def refuse(*_): raise SystemExit('network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from ctxledger.ledger.tokens import counter\n"
        "print(counter().count('hello world'), 'requests' in sys.modules)\n"
    )
    environment = os.environ | {"TIKTOKEN_CACHE_DIR": "/nonexistent"}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.returncode) == ("2 False\n", 0), ran.stderr


def test_a_missing_table_is_an_error_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "_TABLE", tmp_path / "o200k_base.zst")
    with pytest.raises(StorageFailed, match=r"o200k_base\.zst .* is missing") as caught:
        tokens._read_table()
    assert LEN4 in caught.value.hint


def test_a_damaged_table_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(tokens._TABLE.read_bytes())
    data[5000] ^= 1
    (tmp_path / "o200k_base.zst").write_bytes(data)
    monkeypatch.setattr(tokens, "_TABLE", tmp_path / "o200k_base.zst")
    with pytest.raises(StorageFailed, match="is damaged"):
        tokens._read_table()


def test_counters_by_name() -> None:
    assert counter().name == counter("o200k").name == counter(O200K).name == O200K
    assert counter("len4").name == counter(LEN4).name == LEN4
    with pytest.raises(BadInput, match="wordcount") as caught:
        counter("wordcount")
    assert O200K in caught.value.hint


def test_len4_is_a_quarter_of_the_bytes_rounded_up() -> None:
    count = counter("len4").count
    assert [count(""), count("a"), count("abcd"), count("abcde")] == [0, 1, 1, 2]
    assert count("\u4e2d\u6587\u5b57\u7b26") == 3


@settings(max_examples=30)
@given(st.lists(st.text(max_size=8), min_size=1, max_size=30), st.integers(1, 60))
def test_pieces_add_up_to_the_text(words: list[str], repeat: int) -> None:
    text = " ".join(words * repeat * 20)
    pieces = list(tokens._pieces(text))
    assert "".join(pieces) == text
    assert all(len(piece) <= tokens.PIECE_CHARS_MAX for piece in pieces)


@settings(max_examples=20)
@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=12), min_size=5))
def test_cutting_at_lone_spaces_changes_no_count(words: list[str]) -> None:
    sentence = " ".join(words) + " the end. "
    text = sentence * (2 * tokens.PIECE_CHARS_MAX // len(sentence) + 1)
    cuts = len(text) // (tokens.PIECE_CHARS_MAX - tokens.SEAM_CHARS_MAX) + 1
    has_seams = all(piece[:1] == " " for piece in list(tokens._pieces(text))[1:])
    assert abs(counter().count(text) - whole(text)) <= (0 if has_seams else cuts)


@pytest.mark.parametrize("unit", ["a", "=", " ", "\n", "\u4e2d\u6587\u5b57", "9f", "aGk"])
def test_long_runs_are_fast_and_nearly_exact(unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    started_s = time.perf_counter()
    count = counter().count(text)
    assert time.perf_counter() - started_s < 0.5
    assert abs(count - whole(text)) <= 100_000 / tokens.PIECE_CHARS_MAX


def test_a_million_spaces_do_not_break_the_encoder() -> None:
    assert 7_000 < counter().count(" " * 1_000_000) < 9_000


def test_blocks_count_what_the_model_reads() -> None:
    assert weigh({"type": "text", "text": "hello world"}) == 2
    signed = {"type": "thinking", "thinking": "hello world", "signature": "x" * 4000}
    assert weigh(signed) == 2
    call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a.py"}}
    assert weigh(call) == whole("Read") + whole('{"path":"a.py"}')
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "hello world"}
    assert weigh(result) == 2
    parts = [{"type": "text", "text": "hello world"}, image(png(750, 10))]
    assert weigh({**result, "content": parts}) == 2 + 10
    assert weigh({"type": "tool_result", "tool_use_id": "toolu_1"}) == 0
    definition = {"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}}
    ours = count_block(counter(), tool_from(definition))
    assert ours == whole(json.dumps(definition, separators=(",", ":")))


def test_unknown_blocks_and_documents_are_counted() -> None:
    assert weigh({"type": "search_result", "title": "hello world"}) > 2
    assert count_block(counter(), Block(type="unknown", text='{"a":1}', is_json=True)) > 0
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "A" * 1_000_000}
    assert 10_000 < weigh({"type": "document", "source": pdf}) < 60_000
    note = {"type": "text", "media_type": "text/plain", "data": "hello world"}
    assert weigh({"type": "document", "source": note}) == 2
    assert 0 < weigh({"type": "redacted_thinking", "data": "A" * 600}) <= 150


@pytest.mark.parametrize(
    ("head", "size"),
    [
        (b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480), (640, 480)),
        (b"GIF89a" + struct.pack("<HH", 640, 480), (640, 480)),
        (b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 640, 480), (640, 480)),
        (
            b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 639 | 479 << 14) + bytes(5),
            (640, 480),
        ),
        (b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + b"\x7f\x02\0\xdf\x01\0", (640, 480)),
        (
            b"\xff\xd8\xff\xe1\x00\x06Exif\xff\xff\xc2\x00\x11\x08"
            + struct.pack(">HH", 480, 640)
            + bytes(9),
            (640, 480),
        ),
        (b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 0, 480), None),
        (b"\xff\xd8\xff\xe0", None),
        (b"not an image", None),
        (b"", None),
    ],
)
def test_pixel_sizes(head: bytes, size: tuple[int, int] | None) -> None:
    assert pixel_size(base64.b64encode(head).decode()) == (size and PixelSize(*size))


@given(st.text(max_size=60) | st.binary(max_size=200).map(lambda b: base64.b64encode(b).decode()))
def test_no_bytes_break_the_size_reader(data: str) -> None:
    size = pixel_size(data)
    assert size is None or min(size) > 0


@given(st.binary(max_size=120))
def test_no_jpeg_breaks_the_size_reader(data: bytes) -> None:
    pixel_size(base64.b64encode(b"\xff\xd8" + data).decode())


def test_images_are_scaled_and_capped() -> None:
    assert image_tokens(png(750, 100)) == 100
    assert image_tokens(png(1, 1)) == 1
    assert image_tokens(png(10_000, 10_000)) == image_tokens("unreadable") == 1600
    assert image_tokens(png(15_680, 750)) == round(1568 * 75 / 750)
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + png(750, 100)}}
    assert weigh(url) == 100
    assert (
        weigh({"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}})
        == 1600
    )


def test_case_k04_08_an_image_is_never_counted_as_text(
    case: Callable[[str], dict[str, Any]],
) -> None:
    expect = case("k04-08")["expect"]
    data = png(1000, 1000, size_bytes=3_000_000)
    assert len(data) == 4_000_000
    for name in tokens.COUNTER_NAMES:
        count = count_block(counter(name), block_from(image(data), "human"))
        assert expect["estimate_min"] <= count <= expect["estimate_max"]
