"""Writes recorded text to a file in the current folder. Knows nothing about Textual."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ctxledger.ledger.content import to_bytes

NAME_CHARS_MAX = 60
TRIES_MAX = 1_000


def file_stem(session: str, items: list[str]) -> str:
    """`refactor-auth-42.1`: only letters that every file system takes."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", session).strip("-")[:NAME_CHARS_MAX] or "session"
    return f"{name}-{items[0]}" if items else name


def save_text(text: str, stem: str, folder: Path) -> Path:
    """Write exactly this text to a new file, readable by its owner alone.

    Never overwrites: `stem-2.txt` follows `stem.txt`.

    Raises:
        OSError: it cannot be written.
    """
    for attempt in range(1, TRIES_MAX):
        path = folder / (f"{stem}.txt" if attempt == 1 else f"{stem}-{attempt}.txt")
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "wb") as file:
            file.write(to_bytes(text))
        return path
    raise FileExistsError(f"There are too many files named {stem}.")
