"""JSON that is safe to print: what acts on a terminal stays escaped.

Equal as parsed JSON to what was given; lone surrogates survive as escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache

from ctxledger.ledger.plaintext import plain

_UNUSUAL = re.compile(r"[^\x20-\x7e]")


def json_line(value: Mapping[str, object], *, is_ascii: bool = False) -> str:
    """Write one object on one line.

    Args:
        is_ascii: for outputs that cannot show anything else.
    """
    text = json.dumps(value, ensure_ascii=is_ascii, allow_nan=False)
    if text.isascii() and "\x7f" not in text:
        return text
    if plain(text, keep_newlines=False) == text:
        return text
    return _UNUSUAL.sub(lambda match: _escaped(match[0]), text)


@lru_cache(maxsize=4096)
def _escaped(character: str) -> str:
    if plain(character, keep_newlines=False) == character:
        return character
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"
