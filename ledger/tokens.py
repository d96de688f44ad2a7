"""Counting tokens offline: the counters, and what a block weighs.

A counter's name is `method/detail`; the methods are those of the ledger's numbers
(`provider`, `count_api`, `tokenizer`, `estimate`), so that every number can say how it was
made. The table of the tokenizer is a file of this package: nothing is ever fetched, and a
missing table is an error with a hint. Neither counter is the provider's own: what that means
on recorded calls is calibration.py's.
Knows nothing about events, windows, storage or prices.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .content import CALL_TYPES, Block, from_json, to_bytes, to_json
from .errors import BadInput, StorageFailed
from .images import pixel_size

if TYPE_CHECKING:
    from tiktoken import Encoding

O200K = "tokenizer/o200k_base"
LEN4 = "estimate/len4"
COUNTER_NAMES = (O200K, LEN4)

PIECE_CHARS_MAX = 10_000
"""The encoder sees no longer piece: 100,000 characters without a space stay cheap."""
SEAM_CHARS_MAX = 1_000
"""A piece ends at a space if there is one in its last so many characters."""
BYTES_PER_TOKEN = 4

IMAGE_PIXELS_PER_TOKEN = 750
IMAGE_EDGE_PIXELS_MAX = 1_568
IMAGE_TOKENS_MAX = 1_600
"""Anthropic scales larger images down to this; also taken when the size cannot be read.

Source: Anthropic's vision guide: tokens = width * height / 750, long edge 1,568 pixels.
"""
DOCUMENT_BYTES_PER_PAGE = 50_000
DOCUMENT_TOKENS_PER_PAGE = 2_250
"""Source: Anthropic's PDF guide, 1,500 to 3,000 tokens a page; bytes a page are our guess."""
OPAQUE_CHARS_PER_TOKEN = 6
"""Encrypted thinking: base64 of about 4.5 bytes a token; a rough guess."""

_TABLE = Path(__file__).parent / "tokenizer" / "o200k_base.zst"
_TABLE_SHA256 = "ca432b4460881646fca5683bcbd506fdd5d5982ab886f2f60f3b0166bbfabf91"
_TABLE_TOKENS = 199_998
_TABLE_BYTES_MAX = 4_000_000
# The pattern of tiktoken's o200k_base; a test compares the two.
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_PATTERN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class Counter(Protocol):
    """Counts the tokens of a text; equal texts give equal numbers."""

    @property
    def name(self) -> str:
        """`method/detail`, such as `tokenizer/o200k_base`."""
        ...

    def count(self, text: str) -> int:
        """Tokens of `text`, at least 0. Never fails on content."""
        ...


class TokenizerCounter:
    """The o200k_base tokenizer through tiktoken; the table is read at the first count."""

    name = O200K

    def count(self, text: str) -> int:
        """Count tokens as `encode_ordinary` does: `<|endoftext|>` is ordinary text here.

        Exact up to `PIECE_CHARS_MAX` characters and wherever pieces can end at a space; a run
        without spaces may count one token more for each piece.
        """
        encode = _o200k().encode_ordinary
        if len(text) <= PIECE_CHARS_MAX:
            return len(encode(text))
        return sum(len(encode(piece)) for piece in _pieces(text))


class Len4Counter:
    """A quarter of the UTF-8 bytes, rounded up: about 800 times faster and roughly right.

    Bytes and not characters, because a Chinese character is about one token and three bytes.
    """

    name = LEN4

    def count(self, text: str) -> int:
        """Estimate: bytes / 4."""
        size_bytes = len(text) if text.isascii() else len(to_bytes(text))
        return -(-size_bytes // BYTES_PER_TOKEN)


def counter(name: str = "") -> Counter:
    """Give the counter of that name, in full or without its method; "" is the default.

    Raises:
        BadInput: no counter has this name.
    """
    if name in ("", O200K, "o200k_base", "o200k", "tokenizer"):
        return TokenizerCounter()
    if name in (LEN4, "len4", "estimate"):
        return Len4Counter()
    known = ", ".join(COUNTER_NAMES)
    raise BadInput(f"There is no token counter called {name!r}.", hint=f"Counters: {known}.")


def count_block(counter: Counter, block: Block) -> int:
    """Count what the model reads of a block.

    Text, thinking and results: their words. Calls: name and input as JSON. Tool definitions:
    their JSON. Images by their pixels and documents by their size, never their base64;
    encrypted thinking by its length. Signatures and other bookkeeping count nothing.
    """
    if block.type == "redacted_thinking":
        return -(-len(block.text) // OPAQUE_CHARS_PER_TOKEN)
    if not block.is_json:
        return counter.count(block.text)
    if block.type in CALL_TYPES:
        return counter.count(block.tool_name) + counter.count(block.text)
    value = from_json(block.text)
    if isinstance(value, list):
        return sum(_count_part(counter, part) for part in value)
    if isinstance(value, dict) and block.type != "tool":
        return _count_part(counter, {"type": block.type, **value})
    return counter.count(block.text)


def image_tokens(base64_text: str) -> int:
    """Estimate an image: width * height / 750 after scaling, 1,600 when the size is unknown."""
    size = pixel_size(base64_text)
    if size is None:
        return IMAGE_TOKENS_MAX
    scale = min(1.0, IMAGE_EDGE_PIXELS_MAX / max(size))
    pixels = size.width * scale * size.height * scale
    return min(IMAGE_TOKENS_MAX, max(1, round(pixels / IMAGE_PIXELS_PER_TOKEN)))


def _count_part(counter: Counter, part: object) -> int:
    """Count one part of a result, or a block that is not split: an image, a document, others."""
    if not isinstance(part, dict):
        return counter.count(part if isinstance(part, str) else to_json(part))
    if isinstance(part.get("text"), str):
        return counter.count(part["text"])
    kind = part.get("type")
    source = part.get("source")
    data = source.get("data") if isinstance(source, dict) else None
    if kind in ("image", "image_url", "input_image"):
        return image_tokens(data if isinstance(data, str) else _data_of_url(part.get("image_url")))
    if isinstance(source, dict) and source.get("type") == "base64" and isinstance(data, str):
        pages = max(1, round(len(data) * 3 / 4 / DOCUMENT_BYTES_PER_PAGE))
        return pages * DOCUMENT_TOKENS_PER_PAGE
    if isinstance(data, str):
        return counter.count(data)
    return counter.count(to_json(part))


def _data_of_url(url: object) -> str:
    """Give the base64 of a `data:` URL, "" for a remote one."""
    address = url.get("url") if isinstance(url, dict) else url
    if not isinstance(address, str) or not address.startswith("data:"):
        return ""
    return address.partition(",")[2]


def _pieces(text: str) -> list[str]:
    """Cut a text into pieces of at most `PIECE_CHARS_MAX`, where possible before a lone space.

    A token of this tokenizer never spans "x y" at the space, so those cuts change no count.
    Short pieces are also for safety: tiktoken 0.14 panics on a million spaces in one piece.
    """
    pieces = []
    start = 0
    while len(text) - start > PIECE_CHARS_MAX:
        end = start + PIECE_CHARS_MAX
        seam = text.rfind(" ", end - SEAM_CHARS_MAX, end)
        while seam > start and (text[seam - 1].isspace() or text[seam + 1].isspace()):
            seam = text.rfind(" ", end - SEAM_CHARS_MAX, seam)
        end = seam if seam > start else end
        pieces.append(text[start:end])
        start = end
    pieces.append(text[start:])
    return pieces


@cache
def _o200k() -> Encoding:
    """Build the encoder from the table of this package; about 0.2 s, once a process."""
    from tiktoken import Encoding

    return Encoding(
        "o200k_base",
        pat_str=_PATTERN,
        mergeable_ranks=_read_table(),
        special_tokens={"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018},
    )


def _read_table() -> dict[bytes, int]:
    """Unpack the table: token bytes -> rank.

    Raises:
        StorageFailed: the file is missing or is not the one that was shipped.
    """
    import zstandard

    try:
        packed = _TABLE.read_bytes()
    except OSError as error:
        raise _table_error("is missing") from error
    if sha256(packed).hexdigest() != _TABLE_SHA256:
        raise _table_error("is damaged")
    table = zstandard.ZstdDecompressor().decompress(packed, max_output_size=_TABLE_BYTES_MAX)
    ranks = {}
    at = _TABLE_TOKENS
    for rank in range(_TABLE_TOKENS):
        end = at + table[rank]
        ranks[table[at:end]] = rank
        at = end
    return ranks


def _table_error(fault: str) -> StorageFailed:
    return StorageFailed(
        f"The token table {_TABLE.name} of this installation {fault}.",
        hint=f"Install ctxledger again, or count with the estimate: {LEN4}.",
    )
