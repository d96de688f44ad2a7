"""The hash chain over stored events, and the head that proves nothing was cut off.

    hash(n) = blake2b-256(hash(n-1), position, session, version, time, type, actor, data)

every field preceded by its length, so that no two rows can be confused. hash(0) is the
ledger's origin. A chain alone does not notice a cut tail: a head saved elsewhere does.
Knows nothing about storage.
"""

from __future__ import annotations

from hashlib import blake2b

from msgspec import Struct

from ..errors import BadInput

HASH_BYTES = 32


class Head(Struct, frozen=True):
    """How far the ledger goes: three lines of text, to be kept outside of it."""

    origin: str
    """Hex name of the ledger."""
    size: int
    """Number of events."""
    hash: str
    """Hex hash of the last one."""

    def text(self) -> str:
        """The three lines."""
        return f"{self.origin}\n{self.size}\n{self.hash}\n"

    @classmethod
    def parse(cls, text: str) -> Head:
        """Read what `text` wrote.

        Raises:
            BadInput: not three lines of a head.
        """
        lines = text.split()
        if len(lines) != 3 or not lines[1].isdigit():
            raise BadInput("This is no saved head.", "Save one with `ctxledger head > FILE`.")
        return cls(lines[0], int(lines[1]), lines[2])


def link(
    previous: bytes,
    position: int,
    session: int,
    version: int,
    recorded_at: int,
    type_name: str,
    actor: str,
    data: bytes,
) -> bytes:
    """The hash of one event: 32 bytes."""
    digest = blake2b(previous, digest_size=HASH_BYTES)
    digest.update(b"%d,%d,%d,%d;" % (position, session, version, recorded_at))
    for field in (type_name.encode(), actor.encode(), data):
        digest.update(b"%d:" % len(field))
        digest.update(field)
    return digest.digest()


def commit_to(salt: bytes, data: bytes) -> bytes:
    """The key of a body: 16 bytes that commit to its contents, and say nothing without the salt."""
    return blake2b(salt + data, digest_size=16).digest()


def content_digest(data: bytes) -> bytes:
    """16 bytes, unsalted: equal for equal contents."""
    return blake2b(data, digest_size=16).digest()
