"""The words of contents, as the full-text index keeps them and as people ask for them.

Chinese, Japanese and Korean have no spaces: each run of their characters is kept as overlapping
pairs and its last character alone, so that any two characters next to each other are found by a
phrase of pairs, and a single one by the beginning of a pair. Knows nothing about the database
but FTS5's query syntax, of which nothing a person types passes through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ..content import from_json

SNIPPET_CHARS = 120
PREFIX_CHARS_MIN = 4
"""Shorter beginnings fit so many words that reading everything is faster."""
BEFORE_CHARS = 40
"""Text shown before the first match in a snippet."""

_CJK_CLASS = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
_CJK = re.compile(f"[{_CJK_CLASS}]+")
_WORD = re.compile(r"[^\W_]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSENT_TYPES = frozenset({"redacted_thinking"})
_MACHINE_FIELDS = frozenset(
    {"type", "media_type", "id", "tool_use_id", "signature", "encrypted_content", "cache_control"}
)
"""Fields of JSON contents that hold no words."""


class Term(Struct, frozen=True):
    """One thing that must occur: a word, or a phrase that was quoted."""

    text: str
    is_prefix: bool = False


def words_of(block_type: str, text: str, *, is_json: bool) -> str:
    """The words of a block's main value, "" when there are none (an image, encrypted bytes).

    Of JSON contents the strings and numbers, one a line, without keys and base64.
    """
    if block_type in _UNSENT_TYPES:
        return ""
    if not is_json:
        return text
    try:
        return "\n".join(_strings(from_json(text)))
    except (ValueError, RecursionError):
        return text


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
    elif isinstance(value, dict):
        is_base64 = value.get("type") == "base64"
        for key, part in value.items():
            is_machine = key in _MACHINE_FIELDS or (is_base64 and key == "data")
            if not is_machine or not isinstance(part, str):
                yield from _strings(part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def for_index(text: str) -> str:
    """The text with each run of CJK characters as pairs: `A中文字` -> `A 中文 文字 字 `."""
    if text.isascii():
        return text
    text = _SURROGATE.sub("\ufffd", text)
    return _CJK.sub(lambda run: f" {_pairs(run[0])} ", text)


def _pairs(run: str) -> str:
    return " ".join(run[at : at + 2] for at in range(len(run)))


def terms_of(query: str) -> tuple[Term, ...]:
    """Read what a person typed: words, "quoted phrases", and `*` behind for a beginning."""
    terms = []
    for match in re.finditer(r'"([^"]*)"(\*?)|(\S+)', query.replace("\0", " ")):
        phrase, star, word = match.groups()
        if word is not None:
            text = word.replace('"', " ").strip()
            star = "*" if text.endswith("*") else ""
            text = text.rstrip("*") or text
        else:
            text = phrase.strip()
        if text:
            terms.append(Term(text, bool(star)))
    return tuple(terms)


def has_words(text: str) -> bool:
    """True if the index holds anything of such a text."""
    return _WORD.search(text) is not None


def match_expression(terms: Sequence[Term]) -> str:
    """The FTS5 expression that all terms occur; "" when none of them has a word."""
    return " AND ".join(_phrase(term) for term in terms if has_words(term.text))


def _phrase(term: Term) -> str:
    text = _SURROGATE.sub("\ufffd", term.text.replace('"', " "))
    words = list(_WORD.finditer(text))
    last = next(reversed(list(_CJK.finditer(text))), None)
    is_prefix = term.is_prefix
    if last is not None and last.end() == words[-1].end():
        # The run may go on in the text: its last character alone would not be there.
        run = last[0]
        is_prefix = len(run) == 1
        tail = run if is_prefix else " ".join(run[at : at + 2] for at in range(len(run) - 1))
        text = f"{for_index(text[: last.start()])} {tail}"
    else:
        text = for_index(text)
    return f'"{text}" *' if is_prefix else f'"{text}"'


def is_match(terms: Sequence[Term], text: str) -> bool:
    """Check what the index cannot promise: CJK runs and signs stand in the text as they are."""
    for term in terms:
        needles = _CJK.findall(term.text) if has_words(term.text) else [term.text]
        if any(needle not in text for needle in needles):
            return False
    return True


def phrase_within(text: str) -> Term | None:
    """What of a piece of text the index can be asked for: its words that are not cut off.

    Of one word alone, its beginning if that is not too common. None when nothing is left: then
    only reading everything finds it.
    """
    if not text.isascii() and re.search("[\u0300-\u036f]", text):
        return None  # a letter and its accent apart: the index joins them, cutting would not
    words = list(_WORD.finditer(text))
    if words and words[0].start() == 0 and not _CJK.match(text):
        del words[0]
    if not words:
        return None
    first, last = words[0], words[-1]
    if last.end() < len(text) or _CJK.match(last[0][-1]):
        return Term(text[first.start() :])
    if len(words) > 1:
        return Term(text[first.start() : words[-2].end()])
    return Term(last[0], is_prefix=True) if len(last[0]) >= PREFIX_CHARS_MIN else None


def find_pattern(terms: Sequence[Term]) -> re.Pattern[str]:
    """A pattern that finds the terms in raw text, to show where they are."""
    return re.compile("|".join(_term_pattern(term) for term in terms) or "(?!)", re.IGNORECASE)


def _term_pattern(term: Term) -> str:
    words = _WORD.findall(term.text)
    if not words:
        return re.escape(term.text)
    pattern = r"[\W_]+".join(re.escape(word) for word in words)
    if not _CJK.match(words[0]):
        pattern = r"(?<![^\W_])" + pattern
    if not _CJK.match(words[-1][-1]):
        pattern += r"[^\W_]*" if term.is_prefix else r"(?![^\W_])"
    return pattern


def snippet_of(
    text: str, pattern: re.Pattern[str], chars_max: int = SNIPPET_CHARS
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A piece of the text around the first match, and where in it the matches are.

    Returns:
        (at most `chars_max` characters, line ends as spaces, cut ends as an ellipsis;
        (start, end) of each match inside it).
    """
    first = pattern.search(text)
    start = max(0, first.start() - BEFORE_CHARS) if first is not None else 0
    if len(text) - start < chars_max:
        start = max(0, len(text) - chars_max)
    end = min(len(text), start + chars_max)
    piece = re.sub(r"\s", " ", text[start:end])
    if start > 0:
        piece = "…" + piece[1:]
    if end < len(text):
        piece = piece[:-1] + "…"
    spans = (match.span() for match in pattern.finditer(text, start, end))
    return piece, tuple((a - start, b - start) for a, b in spans if b > a)
