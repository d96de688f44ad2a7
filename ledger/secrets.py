"""Finds credentials in text: twelve kinds, each told by its own form.

Only forms that say what they are count, never randomness: hashes, uuids, signatures and encrypted
contents are left alone. Pure. Knows nothing about JSON, storage and what becomes of a find.

The forms are those that the providers document, or that GitHub's table of supported secret
scanning patterns names, as of `TABLE_DATE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

TABLE_DATE = "2026-11-30"
"""When the table below was last compared with what providers issue."""
PEM_CHARS_MAX = 20_000


class Secret(Struct, frozen=True):
    """One credential in a text."""

    start: int
    end: int
    kind: str


class _Form(Struct, frozen=True):
    """One way in which a kind of credential is written; group 1, where there is one, is it."""

    kind: str
    hints: tuple[str, ...]
    """One of them is in every text that `pattern` matches (lower case where `is_any_case`)."""
    pattern: re.Pattern[str]
    is_any_case: bool = False


_BEFORE, _AFTER = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9])"
_KEY = r"-----{} (?:[A-Z0-9]+ ){{0,3}}PRIVATE KEY(?: BLOCK)?-----"
_KEY_TEXT = r"(?:[A-Za-z0-9+/=\s→|>]|\\+[nrt]|[A-Z][A-Za-z-]{2,20}: [\x20-\x7e]{1,80}$)"
"""Also with the line numbers that reading tools put before each line."""


def _form(kind: str, hints: str, pattern: str, *, is_any_case: bool = False) -> _Form:
    flags = re.IGNORECASE if is_any_case else re.NOFLAG
    return _Form(kind, tuple(hints.split()), re.compile(pattern, flags | re.MULTILINE), is_any_case)


FORMS: tuple[_Form, ...] = (
    _form("anthropic", "sk-ant-", rf"{_BEFORE}sk-ant-[a-z]{{2,12}}\d{{2}}-[A-Za-z0-9_-]{{20,}}"),
    _form(
        "openai",
        "sk-",
        rf"{_BEFORE}sk-(?:(?:proj|svcacct|admin|service|None)-[A-Za-z0-9_-]{{32,}}"
        rf"|[A-Za-z0-9]{{20}}T3BlbkFJ[A-Za-z0-9]{{20}}{_AFTER}|[A-Za-z0-9]{{48}}{_AFTER})",
    ),
    _form(
        "github",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        rf"{_BEFORE}(?:gh[pousr]_[A-Za-z0-9]{{36,255}}"
        rf"|github_pat_[A-Za-z0-9]{{22}}_[A-Za-z0-9]{{59}}){_AFTER}",
    ),
    _form("aws", "AKIA ASIA ABIA ACCA", rf"{_BEFORE}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_AFTER}"),
    _form(
        "aws",
        "secret_access_key secretaccesskey",
        r"(?:secret_access_key|secretaccesskey)[\\\"']*\s*[=:]\s*[\\\"']*"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        is_any_case=True,
    ),
    _form(
        "google",
        "AIza GOCSPX- ya29.",
        rf"{_BEFORE}(?:AIza[A-Za-z0-9_-]{{35}}(?![A-Za-z0-9_-])|GOCSPX-[A-Za-z0-9_-]{{28}}"
        r"|ya29\.[A-Za-z0-9_-]{20,})",
    ),
    _form(
        "slack",
        "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe. xapp-",
        rf"{_BEFORE}(?:xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{{10,}}"
        r"|xapp-\d-[A-Z0-9]{8,}-\d{8,}-[a-f0-9]{32,})",
    ),
    _form(
        "slack",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/T[A-Z0-9]{7,}/[AB][A-Z0-9]{7,}"
        r"/(?:\d+/)?([A-Za-z0-9]{20,})",
    ),
    _form(
        "stripe",
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        rf"{_BEFORE}(?:[sr]k_(?:live|test)_[A-Za-z0-9]{{16,}}|whsec_[A-Za-z0-9+/=]{{32,}}){_AFTER}",
    ),
    _form(
        "huggingface",
        "hf_ api_org_",
        rf"{_BEFORE}(?:hf_|api_org_)[A-Za-z0-9]{{34,40}}{_AFTER}",
    ),
    _form(
        "pem",
        "PRIVATE",
        _KEY.format("BEGIN")
        + rf"(?:{_KEY_TEXT}{{1,{PEM_CHARS_MAX}}}?{_KEY.format('END')}|{_KEY_TEXT}{{64,}})",
    ),
    _form(
        "jwt",
        "eyJ",
        rf"{_BEFORE}eyJ[A-Za-z0-9_-]{{10,}}\.eyJ[A-Za-z0-9_-]{{10,}}\.[A-Za-z0-9_-]{{16,}}",
    ),
    _form(
        "bearer",
        "authorization",
        r"authorization[\\\"']*\s*[:=]\s*[\\\"']*(?:bearer|basic|token)\s+"
        r"([A-Za-z0-9._~+/=-]{16,})",
        is_any_case=True,
    ),
    _form("bearer", "bearer", r"\bbearer\s+([A-Za-z0-9._~+/=-]{24,})", is_any_case=True),
    _form(
        "url",
        "://",
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/?#@\"'\\<>`|,;()\[\]{}$]{0,64}"
        r":([^\s:/?#@\"'\\<>`|,;()\[\]{}$]{3,128})@[A-Za-z0-9\[]",
    ),
)
KINDS = tuple(dict.fromkeys(form.kind for form in FORMS))
CONTEXTUAL_KINDS = frozenset({"aws", "slack", "bearer", "url"})
"""Kinds that may be told only by what stands around them: found elsewhere by their value."""

_STAND_IN_WORDS = (
    "your|my|the|some|insert|replace|sample|dummy|fake|change|changeme|here|token|access"
    "|api|key|secret|passw(?:or)?d|pass|pwd|pw|user(?:name)?|redacted"
)
_STAND_IN = re.compile(
    rf"(?:{_STAND_IN_WORDS})(?:[_.-]?(?:{_STAND_IN_WORDS}))*|(.)\1+|[x*.•…-]+", re.IGNORECASE
)
_DEFAULT_PASSWORDS = frozenset({"postgres", "root", "admin", "guest", "test", "mysql", "redis"})
"""In the examples of every manual: nothing to hide."""


def _is_real(kind: str, value: str) -> bool:
    """False for what stands in manuals where a credential would be."""
    if value.startswith("[redacted"):
        return False
    if kind == "url":
        return value.lower() not in _DEFAULT_PASSWORDS and not _STAND_IN.fullmatch(value)
    if kind == "bearer":
        has_parts = value.count(".") == 2
        return has_parts or (any(map(str.isdigit, value)) and not _STAND_IN.fullmatch(value))
    return True


_GATES = (
    (("sk-",), re.compile(r"sk-[A-Za-z0-9_-]{20}")),
    (("hf_", "api_org_"), re.compile(r"(?:hf_|api_org_)[A-Za-z0-9]{34}")),
    (("eyJ",), re.compile(r"eyJ[A-Za-z0-9_-]{10,}\.eyJ")),
    (("://",), re.compile(r"://[^\s/?#@\"'<>]{0,64}:[^\s/?#@\"'<>]{3,128}@")),
    ((":\\",), re.compile(r":\\+/\\+/[^\s\"'<>]{1,200}@")),
    (("earer", "EARER", "uthorization", "UTHORIZATION"),
     re.compile(r"(?i:bearer|basic|token)(?:\s|\\+[nrt])+[A-Za-z0-9._~+/=-]{16}")),
    (("\\u00",), re.compile(r"\\u00[2-7]")),
)  # fmt: skip
"""Loose forms of what is common, whatever stands before it, and escapes that may hide any."""
_RARE = tuple(
    hint
    for form in FORMS
    for hint in form.hints
    if hint not in {"sk-", "hf_", "api_org_", "eyJ", "://", "bearer", "authorization"}
)


def may_hold_secrets(raw: str) -> bool:
    """False when no level of escapes of a text can hold one; ten times as fast as looking."""
    if any(hint in raw for hint in _RARE):
        return True
    if any(any(hint in raw for hint in hints) and gate.search(raw) for hints, gate in _GATES):
        return True
    lower = raw.lower() if "ccess" in raw or "CCESS" in raw else ""
    return "secret_access_key" in lower or "secretaccesskey" in lower


def find_secrets(text: str) -> list[Secret]:
    """Credentials in a text, in order; none overlaps another."""
    found = sorted(_found(text), key=lambda one: (one.start, -one.end))
    kept: list[Secret] = []
    for one in found:
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _found(text: str) -> Iterator[Secret]:
    lower = ""
    for form in FORMS:
        searched = text
        if form.is_any_case:
            lower = lower or text.lower()
            searched = lower
        if not any(hint in searched for hint in form.hints):
            continue
        for match in form.pattern.finditer(text):
            group = 1 if form.pattern.groups else 0
            if _is_real(form.kind, match[group]):
                yield Secret(match.start(group), match.end(group), form.kind)
