"""One piece of text to one JSON value, or the reason why not.

Strict and fast first (msgspec); what it refuses is read by the standard library when there is
only one way to read it: lone surrogates, raw control characters inside strings. Numbers that
have no exact value (NaN, 1e400), broken UTF-8, NUL bytes and hostile nesting are faults.
Knows nothing about lines, offsets or formats.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec
from msgspec import Struct

DEPTH_MAX = 200
"""Nesting that every later step (re-encoding, digests) can follow without recursion errors."""

JSON_SPACE = b" \t\r\n"
UTF8_BOM = b"\xef\xbb\xbf"

_strict = msgspec.json.Decoder().decode
_HALF_TOKEN = re.compile(r"(?:tr?u?|fa?l?s?|nu?l?|-|\.|[eE][+-]?|\\(?:u[0-9a-fA-F]{0,4})?)\Z")
_HALF_TOKEN_CHARS_MAX = 8
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Parsed(Struct, frozen=True):
    """A value, or the fault that prevented one."""

    value: Any = None
    fault: str = ""
    """`not_json`, `bad_utf8`, `nul_bytes`, `too_deep`, `not_a_number`; "" = fine."""
    repaired: str = ""
    """`surrogates`, `control_characters`, `bom`, `nul_padding`; "" = read strictly."""
    is_cut: bool = False
    """With `not_json`: the text is the beginning of a value; more text could complete it."""


def parse(text: bytes) -> Parsed:
    """Read one JSON value of any type; never raises on content. Time is linear in `text`."""
    try:
        value = _strict(text)
    except RecursionError:
        return Parsed(fault="too_deep")
    except msgspec.DecodeError:
        return _parse_leniently(text)
    return Parsed(fault="too_deep") if is_too_deep(text, value) else Parsed(value)


def parse_padded(data: bytes) -> Parsed:
    """Read one value that a byte order mark or a run of NULs may stand before or behind."""
    parsed = parse(data)
    if not parsed.fault:
        return parsed
    core = data.strip(b"\0" + JSON_SPACE)
    is_bom = core.startswith(UTF8_BOM)
    core = core.removeprefix(UTF8_BOM)
    if not is_bom and (b"\0" not in data or b"\0" in core):
        return parsed
    inner = parse(core)
    if inner.fault:
        return inner if inner.fault != "not_json" or b"\0" not in data else parsed
    return Parsed(inner.value, repaired=inner.repaired or ("bom" if is_bom else "nul_padding"))


def is_cut_short(error: json.JSONDecodeError) -> bool:
    """True when the text ended too early, rather than went wrong before its end."""
    if error.msg.startswith("Extra data"):
        return False
    end = len(error.doc.rstrip(" \t\r\n"))
    if error.pos >= end or error.msg.startswith("Unterminated string"):
        return True
    tail_start = end - _HALF_TOKEN_CHARS_MAX
    return error.pos >= tail_start and bool(_HALF_TOKEN.search(error.doc[:end], max(0, tail_start)))


def is_too_deep(text: bytes, value: object) -> bool:
    """True when `value`, parsed from `text`, nests containers more than DEPTH_MAX deep."""
    if text.count(b"{") + text.count(b"[") <= DEPTH_MAX:
        return False
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [child for node in level for child in _containers(node)]
        if not level:
            return False
    return True


def _containers(node: object) -> list[object]:
    if isinstance(node, dict):
        return [child for child in node.values() if isinstance(child, dict | list)]
    if isinstance(node, list):
        return [child for child in node if isinstance(child, dict | list)]
    return []


def _parse_leniently(text: bytes) -> Parsed:
    if b"\0" in text:
        return Parsed(fault="nul_bytes")
    try:
        string = text.decode()
    except UnicodeDecodeError:
        return Parsed(fault="bad_utf8")
    try:
        value = lenient_decoder.decode(string)
    except RecursionError:
        return Parsed(fault="too_deep")
    except json.JSONDecodeError as error:
        return Parsed(fault="not_json", is_cut=is_cut_short(error))
    except ValueError:
        return Parsed(fault="not_a_number")
    if is_too_deep(text, value):
        return Parsed(fault="too_deep")
    is_surrogate = _SURROGATE.search(string) is not None and _has_lone_surrogate(value)
    return Parsed(value, repaired="surrogates" if is_surrogate else "control_characters")


def _has_lone_surrogate(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is out of range")
    return number


lenient_decoder = json.JSONDecoder(
    strict=False, parse_constant=_refuse_constant, parse_float=_finite_float
)
"""Raw control characters and lone surrogates pass; numbers without a value raise ValueError."""
