"""The pixel size of an image, read from the first bytes of its base64 text.

PNG, JPEG, GIF and WebP: the media types that model providers accept. Decodes only a prefix,
so a 4 MB image costs microseconds. Knows nothing about tokens, blocks or providers.
"""

from __future__ import annotations

import binascii
from typing import NamedTuple

PREFIX_CHARS_MAX = 256 * 1024
"""JPEG headers may stand behind a large preview; past this the size counts as unknown."""
JPEG_SEGMENTS_MAX = 1000

# Markers that start a frame: C0 to CF without DHT (C4), JPG (C8) and DAC (CC).
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset((0x01, *range(0xD0, 0xD9)))


class PixelSize(NamedTuple):
    """Width and height in pixels, each at least 1."""

    width: int
    height: int


def pixel_size(base64_text: str) -> PixelSize | None:
    """Read the size from an image's base64 text; None when it is no image we know."""
    prefix = base64_text[: PREFIX_CHARS_MAX - PREFIX_CHARS_MAX % 4]
    try:
        head = binascii.a2b_base64(prefix[: len(prefix) - len(prefix) % 4])
    except (binascii.Error, ValueError):
        return None
    size = _size_of(head)
    return size if size is not None and min(size) > 0 else None


def _size_of(head: bytes) -> PixelSize | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return _big_endian(head[16:20], head[20:24])
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
        return _little_endian(head[6:8], head[8:10])
    if head.startswith(b"\xff\xd8"):
        return _jpeg_size(head)
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP" and len(head) >= 30:
        return _webp_size(head)
    return None


def _jpeg_size(head: bytes) -> PixelSize | None:
    at = 2
    for _ in range(JPEG_SEGMENTS_MAX):
        while at < len(head) and head[at] == 0xFF:
            at += 1
        if at + 8 > len(head) or head[at - 1] != 0xFF:
            return None
        marker = head[at]
        if marker in _JPEG_FRAMES:
            return _big_endian(head[at + 6 : at + 8], head[at + 4 : at + 6])
        length = int.from_bytes(head[at + 1 : at + 3], "big")
        at += 1 if marker in _JPEG_BARE else 1 + length
    return None


def _webp_size(head: bytes) -> PixelSize | None:
    kind = head[12:16]
    if kind == b"VP8 ":
        size = _little_endian(head[26:28], head[28:30])
        return PixelSize(size.width & 0x3FFF, size.height & 0x3FFF)
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return PixelSize((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1)
    if kind == b"VP8X":
        size = _little_endian(head[24:27], head[27:30])
        return PixelSize(size.width + 1, size.height + 1)
    return None


def _big_endian(width: bytes, height: bytes) -> PixelSize:
    return PixelSize(int.from_bytes(width, "big"), int.from_bytes(height, "big"))


def _little_endian(width: bytes, height: bytes) -> PixelSize:
    return PixelSize(int.from_bytes(width, "little"), int.from_bytes(height, "little"))
