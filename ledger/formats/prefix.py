"""The readable part of a JSON value whose end is missing.

For detection only: a request body can be larger than what detection reads. Knows nothing
about formats.
"""

from __future__ import annotations

import re
from typing import Any

from .parsing import parse

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[{}\[\],]', re.DOTALL)
_CLOSERS = {b"{": b"}", b"[": b"]"}


def value_of_prefix(text: bytes) -> Any:
    """Read `text` up to where it is cut and close what is open there; None if that is no JSON.

    A value cut inside a string is read as an empty string; else the text ends at its last comma.
    """
    closers: list[bytes] = []
    end = 0
    closing = b""
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark.startswith(b'"') and (len(mark) == 1 or not mark.endswith(b'"')):
            if text[: token.start()].rstrip().endswith(b":"):
                end, closing = token.start(), b'""' + b"".join(reversed(closers))
            break
        if mark in _CLOSERS:
            closers.append(_CLOSERS[mark])
        elif mark == b",":
            end, closing = token.start(), b"".join(reversed(closers))
        elif mark in b"}]" and (not closers or closers.pop() != mark):
            return None
    return parse(text[:end] + closing).value
