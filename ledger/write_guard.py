"""Credentials in records that are being read: counted, or masked before anything is stored.

Masks are as long as what they hide, so that places in a source stay those of the file. Knows
nothing about storage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal

import msgspec

from .formats.base import Record, Splitter
from .masking import Mask, masked, replaced, spans_in
from .secrets import find_secrets, may_hold_secrets

SecretsMode = Literal["keep", "mark", "redact"]
"""`keep`: not looked for. `mark`: counted, stored as they are. `redact`: never stored."""


def find(text: str) -> list[tuple[int, int, str]]:
    """Credentials in a plain text."""
    return [(secret.start, secret.end, secret.kind) for secret in find_secrets(text)]


def without_secrets(name: str) -> str:
    """A name that holds no credential, readable as one word."""
    text = replaced(name, spans_in(name, find))
    return text if text == name else text.replace("[redacted:", "redacted-").replace("]", "")


class WriteGuard:
    """Looks at each record of one reading."""

    def __init__(self, mode: SecretsMode, make: Callable[[], Splitter]) -> None:
        """`make` gives a fresh splitter of the source's format."""
        self.mode = mode
        self._make = make
        self.counts: Counter[str] = Counter()

    def take(self, record: Record) -> tuple[Record, list[Mask]]:
        """The record to store, and the masks in it."""
        if self.mode == "keep":
            return record, []
        encoding = "utf-16-le" if record.repaired == "utf16" and record.data[:1] != b"\0" else ""
        encoding = encoding or ("utf-16-be" if record.repaired == "utf16" else "utf-8")
        if encoding == "utf-8" and not may_hold_secrets(record.data.decode("utf-8", "replace")):
            return record, []
        found = masked(record.data, find, encoding=encoding, are_opaque_kept=True)
        self.counts.update(kind for _, _, kind in found.spans)
        if self.mode == "mark" or not found.spans:
            return record, []
        masks = [Mask(record.offset + at, length, kind) for at, length, kind in found.spans]
        return self._read_again(record, found.data), masks

    def _read_again(self, record: Record, data: bytes) -> Record:
        """The record with what its masked bytes say."""
        splitter = self._make()
        read = [*splitter.push(data), *splitter.finish()]
        if len(read) != 1 or read[0].data != data:
            return msgspec.structs.replace(record, data=data, value=None, fault="not_json")
        return msgspec.structs.replace(record, data=data, value=read[0].value, fault=read[0].fault)
