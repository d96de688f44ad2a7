"""How bytes are packed for the disk: a first byte names the way, the rest is the data.

The ways are part of the stored form and never change; a better one gets a new number.
Knows nothing about what the bytes mean.
"""

from __future__ import annotations

import zstandard

from ..errors import CorruptLedger

RAW = 0
ZSTD = 1
ZSTD_EVENT = 2
LEVEL = 3
FRAME_LEVEL = 6
"""For frames of source bytes: 0.121 of raw at 260 MB/s; level 3 gives 0.131, level 9 0.118 at
80 MB/s (a 1.3 MB transcript)."""
SMALL_BYTES = 64
"""Below this, compressing costs more than it saves."""
UNPACKED_BYTES_MAX = 2 * 1024**3
"""No packed bytes of ours are larger; a frame that claims more is damage."""

# Typical event text: a dictionary makes small events about three times smaller. Fixed for ever.
_EVENT_WORDS = (
    b'{"type":"call_completed","called":,"stop_reason":"end_turn","usage":{"input_tokens":,'
    b'"cache_read_tokens":,"cache_write_tokens":,"output_tokens":},"at_ms":17'
    b'{"type":"items_evicted","number":,"items":["],"rule":"","tokens":{"n":,"counter":"provider"}'
    b'"is_inferred":true,"delta":{"replace":[" placeholder = '
    b'{"type":"window_compacted","number":,"sources":["..],"brief":[".0"],"method":"agent",'
    b'"trigger":"auto","base_version":,"outcome":"imported","delta":{"remove":["..'
    b'{"type":"rolled_back","number":,"undid":[],"delta":{"remove":["],"insert":[["",["'
    b'{"type":"model_called","number":,"call":"req_011C","model":"claude-opus-4-5-20251101",'
    b'"claude-sonnet-4-5-20250929","digest":"","params":"","marks":""}'
    b'{"type":"message_extended","messages":[{"message":"msg_01","role":"assistant","blocks":[{'
    b'"type":"text","body":"==","size":1,"origin":"assistant"}]}],"delta":{"insert":[[".0",[".0"]]]'
    b'"type":"thinking","body":"","size":,"origin":"assistant","rest":"=="}]}],"delta":{"append":['
    b'{"type":"message_appended","at_ms":17,"messages":[{"message":"msg_01","role":"assistant",'
    b'"blocks":[{"type":"tool_use","body":"==","size":,"origin":"assistant","is_json":true,'
    b'"tool_id":"toolu_01","tool_name":"Bash"}]}],"delta":{"append":[".0"]}}"Read""Edit""Grep"'
    b'{"type":"message_appended","at_ms":17,"messages":[{"message":"","role":"user","blocks":[{'
    b'"type":"tool_result","body":"==","size":,"origin":"tool","tool_id":"toolu_01",'
    b'"is_error":false,"meta":"=="}]}],"delta":{"append":[".0-1"]}}"origin":"human""harness"'
)

_compress = zstandard.ZstdCompressor(level=LEVEL)
_compress_frame = zstandard.ZstdCompressor(level=FRAME_LEVEL)
_event_words = zstandard.ZstdCompressionDict(_EVENT_WORDS, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
_compress_event = zstandard.ZstdCompressor(level=LEVEL, dict_data=_event_words)
_decompress = zstandard.ZstdDecompressor()
_decompress_event = zstandard.ZstdDecompressor(dict_data=_event_words)


def pack(data: bytes) -> bytes:
    """Compress contents where it pays."""
    if len(data) >= SMALL_BYTES:
        packed = _compress.compress(data)
        if len(packed) < len(data):
            return b"\x01" + packed
    return b"\x00" + data


def pack_frame(data: bytes) -> bytes:
    """Compress a frame of source bytes: written once, seldom read."""
    packed = _compress_frame.compress(data)
    return b"\x01" + packed if len(packed) < len(data) else b"\x00" + data


def pack_event(data: bytes) -> bytes:
    """Compress an event, with the dictionary of event words."""
    packed = _compress_event.compress(data)
    return b"\x02" + packed if len(packed) < len(data) else b"\x00" + data


def unpack(packed: bytes) -> bytes:
    """Give back what was packed.

    Raises:
        CorruptLedger: the bytes are damaged or claim an absurd size.
    """
    try:
        way = packed[0] if packed else -1
        if way == RAW:
            return packed[1:]
        if way in (ZSTD, ZSTD_EVENT):
            if zstandard.frame_content_size(packed[1:]) > UNPACKED_BYTES_MAX:
                raise CorruptLedger("Packed bytes claim an absurd size.", "Run `ctxledger verify`.")
            return (_decompress if way == ZSTD else _decompress_event).decompress(packed[1:])
    except zstandard.ZstdError as error:
        raise CorruptLedger(
            f"Packed bytes cannot be read: {error}.", "Run `ctxledger verify`."
        ) from error
    raise CorruptLedger(f"Packed bytes of unknown kind {way}.", "Run `ctxledger verify`.")
