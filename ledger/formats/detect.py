"""Which format an input has, told by its first bytes and never by its name.

The table at the top is where a new format is entered. Folds are imported when they are
needed, so that looking at a file loads no parser of a format it does not have. Knows nothing
about the ledger.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from ..errors import BadInput, UnknownFormat
from .base import Fold, Splitter
from .looks import looks_like
from .parsing import UTF8_BOM, parse
from .physical import sniff_encoding
from .prefix import value_of_prefix
from .records import LineSplitter, WholeSplitter

FOLDS = {
    "native": (".native", "NativeFold"),
    "claude-code": (".claude_code", "ClaudeCodeFold"),
    "anthropic": (".anthropic", "AnthropicFold"),
    "openai": (".openai", "OpenAIFold"),
}
"""Formats that can be read: module and class of each fold."""

TRAFFIC = frozenset({"anthropic", "openai"})
"""Formats whose whole input may be one record: a cassette, a stream."""

NOT_YET = {
    "codex": "a Codex rollout",
    "gemini-cli": "a Gemini session",
    "cline": "a Cline session",
    "otel-genai": "OpenTelemetry GenAI spans",
    "langchain": "a LangChain message dump",
    "swe-agent": "a SWE-agent trajectory",
    "openhands": "an OpenHands history",
    "atif": "an ATIF trajectory",
    "tau-bench": "tau-bench dialogues",
    "message-list": "one JSON array of messages (native input is one message a line)",
}
"""Formats that are recognised and cannot be read yet, in words."""

_RECORDS_LOOKED_AT_MAX = 50
_BINARY_STARTS = (
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"\x28\xb5\x2f\xfd",
    b"SQLite format 3",
    b"\x7fELF",
    b"%PDF",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"BZh",
    b"\xfd7zXZ",
)
_TEXT_SIGNS = (
    (
        "anthropic",
        re.compile(rb"^(?:event: *|data: *\{ *\"type\": *\")message_start", re.MULTILINE),
    ),
    ("anthropic", re.compile(rb"/v1/messages|\bapi\.anthropic\.com|\banthropic-version\b")),
    ("openai", re.compile(rb"/chat/completions|/v1/responses|\bapi\.openai\.com|\"chatcmpl-")),
    ("gemini-cli", re.compile(rb"\bgenerativelanguage\.googleapis\.com")),
)
_CASSETTE_OR_STREAM = re.compile(
    rb"^(?:interactions|requests|version):|\A\s*(?:event|data|id|retry)?:", re.MULTILINE
)
_OPENERS = (b"{", b"[")
_HINT = f"The formats that can be read are {', '.join(FOLDS)}; --format names one."


def detect(head: bytes, name: str) -> str:
    """Tell the format of an input from its beginning.

    Args:
        head: its first bytes, 256 kB of them or all.
        name: what to call the input in messages.

    Returns:
        A key of FOLDS.

    Raises:
        BadInput: it is empty or binary.
        UnknownFormat: it is of a format that is not read yet, or of none we know.
    """
    if not head.strip(b" \t\r\n\0"):
        raise BadInput(f"{name} is empty.", "There is nothing to read in it yet.")
    text = _as_utf8(head)
    found = _format_of(text)
    if found in FOLDS:
        return found
    if found:
        words = f"{name} looks like {NOT_YET[found]}, which is not supported yet."
        raise UnknownFormat(words, _HINT)
    if _is_binary(text):
        raise BadInput(f"{name} is a binary file.", "If it is an archive, unpack it first.")
    raise UnknownFormat(f"{name} has none of the formats we know.", _HINT)


def has_format(head: bytes) -> bool:
    """Whether the beginning of an input is enough to tell its format."""
    try:
        detect(head, "")
    except BadInput:
        return False
    return True


def make_fold(
    format_name: str, default_session: str, head: bytes = b"", offset: int = 0
) -> tuple[Splitter, Fold]:
    """Give a fresh splitter and fold for one source.

    Args:
        default_session: session of records that name none.
        head: the source's first bytes: they tell lines from one whole document, and UTF-16.
        offset: where the splitter starts when a source is continued.

    Raises:
        UnknownFormat: `format_name` is not in FOLDS.
    """
    if format_name not in FOLDS:
        words = NOT_YET.get(format_name)
        problem = f"is {words} and not supported yet" if words else "is no format we know"
        raise UnknownFormat(f"The format {format_name!r} {problem}.", _HINT)
    module, name = FOLDS[format_name]
    fold: Fold = getattr(import_module(module, __package__), name)(default_session)
    is_whole = format_name in TRAFFIC and not is_line_based(head)
    return (WholeSplitter(offset) if is_whole else LineSplitter(offset, head)), fold


def is_line_based(head: bytes) -> bool:
    """Tell whether each line is a record, rather than the whole input being one.

    True when the first line is a JSON object, or the beginning of one longer than `head`; or
    when it is damaged or a stray log line, and records of traffic follow, each on its line.
    """
    text = _as_utf8(head).lstrip()
    line, newline, _ = text.partition(b"\n")
    if text.startswith(_OPENERS):
        if not newline or isinstance(parse(line).value, dict):
            return True
        if line.strip() in _OPENERS or not parse(text).fault:
            return False
    elif not text:
        return True
    lines = text.split(b"\n", _RECORDS_LOOKED_AT_MAX)[:_RECORDS_LOOKED_AT_MAX]
    found = (_first_values(one + b"\n") for one in lines if one.startswith(b"{"))
    return any(looks_like(value) in TRAFFIC for values in found for value in values)


def _format_of(text: bytes) -> str:
    if not text.lstrip().startswith(_OPENERS) and _CASSETTE_OR_STREAM.search(text):
        for name, sign in _TEXT_SIGNS:
            if sign.search(text):
                return name
    return next((name for name in map(looks_like, _first_values(text)) if name), "")


def _first_values(text: bytes) -> list[Any]:
    """The whole text as one value, or its first lines as values, or what is there of one."""
    whole = parse(text)
    if not whole.fault:
        return [whole.value]
    if text.lstrip().partition(b"\n")[0].strip() in _OPENERS:
        # One document over many lines: what stands inside it says nothing by itself.
        beginning = value_of_prefix(text)
        if beginning is not None:
            return [beginning]
    values: list[Any] = []
    for record in LineSplitter().push(text):
        if isinstance(record.value, dict | list):
            values.append(record.value)
        if len(values) >= _RECORDS_LOOKED_AT_MAX:
            break
    return values or [value_of_prefix(text)]


def _as_utf8(head: bytes) -> bytes:
    encoding = sniff_encoding(head)
    if encoding != "utf-8":
        head = head.decode(encoding, "ignore").encode("utf-8", "ignore")
    return head.removeprefix(UTF8_BOM).lstrip(b"\0")


def _is_binary(text: bytes) -> bool:
    if text.startswith(_BINARY_STARTS):
        return True
    broken = text.decode("utf-8", "replace").count("\ufffd") + text.count(b"\0")
    return broken * 20 > len(text)
