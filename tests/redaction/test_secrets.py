"""The finder: the twelve kinds are found, on every level of escapes; nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger.masking import masked, replaced, spans_in
from ctxledger.ledger.secrets import KINDS, find_secrets, may_hold_secrets
from ctxledger.ledger.write_guard import find

from .planted import Planter

Case = Callable[[str], dict[str, Any]]
FIXTURES = Path(__file__).parents[1] / "fixtures"
FALSE_HITS_PER_MB_MAX = 1


def test_there_are_twelve_kinds() -> None:
    assert len(KINDS) == 12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", range(4))
def test_each_kind_is_found_on_every_level(kind: str, depth: int) -> None:
    planter = Planter(depth)
    for _ in range(20):
        secret, text = planter.secret(kind)
        for _ in range(depth):
            text = json.dumps({"text": text, "n": [1, "é\n"]})
        assert may_hold_secrets(text)
        gone = replaced(text, spans_in(text, find))
        assert f"[redacted:{kind}]" in gone
        hidden = masked(text.encode(), find)
        assert len(hidden.data) == len(text.encode())
        for outer in (gone, hidden.data.decode()):
            left = outer
            for _ in range(depth):
                left = json.loads(left)["text"]
            assert secret not in left
            assert not any(line in left for line in secret.splitlines()[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_found_when_every_character_is_escaped(kind: str) -> None:
    secret, text = Planter(3).secret(kind)
    raw = '{"a":"' + "".join(f"\\u{ord(char):04x}" for char in text) + '"}'
    assert may_hold_secrets(raw)
    hidden = masked(raw.encode(), find)
    assert len(hidden.data) == len(raw)
    assert secret not in json.loads(hidden.data)["a"]


def test_a_password_behind_escaped_slashes_is_found() -> None:
    raw = r'{"a":"postgres:\/\/user:hunter2hunter2@db.example\/app"}'
    assert may_hold_secrets(raw)
    assert b"hunter2" not in masked(raw.encode(), find).data


@pytest.mark.parametrize("text", [
    "9fceb02d0ae598e95dc970b74767f19372d61af8", "123e4567-e89b-12d3-a456-426614174000", "sk-learn",
    "task-runner", "EqKSAgplCA4YAipAexampleexampleexample", "sha256:" + "ab" * 32,
    "Authorization: Bearer YOUR_ACCESS_TOKEN", "Authorization: Bearer $TOKEN",
    "https://user:password@host/", "postgres://postgres:postgres@localhost/db", "ghp_short",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "https://example.com:8080/@scope/package",
    "risk-management-in-a-very-long-kebab-case-name-for-it",
    "disk-0123456789012345678901234567890123456789", "[redacted:github]", "eyJhbGciOi.short.x",
])  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    assert find_secrets(text) == []


def test_k10_01_every_value_of_the_case_is_found(case: Case) -> None:
    for name, value in case("k10-01")["input"]["values"].items():
        assert f"[redacted:{name}]" in replaced(value, spans_in(value, find))


def test_k10_02_no_value_of_the_case_is_touched(case: Case) -> None:
    for value in case("k10-02")["input"]["values"].values():
        assert find_secrets(value) == []


def test_a_key_that_was_read_with_line_numbers_or_cut_is_found() -> None:
    secret, _ = Planter(1).secret("pem")
    numbered = "\n".join(f"{n:>5}→{line}" for n, line in enumerate(secret.splitlines()))
    assert [one.kind for one in find_secrets(numbered)] == ["pem"]
    (cut,) = find_secrets(secret[:300] + " ... more")
    assert cut.end >= 300


def test_signatures_and_encrypted_contents_are_not_looked_into() -> None:
    secret, _ = Planter(1).secret("github")
    line = json.dumps({"signature": secret, "encrypted_content": secret, "text": secret})
    spans = spans_in(line, find, are_opaque_kept=True)
    assert replaced(line, spans) == json.dumps(
        {"signature": secret, "encrypted_content": secret, "text": "[redacted:github]"}
    )


@pytest.mark.parametrize(
    "value", [1234567890, -12.5e3, [4111111111111111], {"a": 4111111111111111}]
)
def test_numbers_of_json_go_too_and_it_stays_json(value: Any) -> None:
    text = json.dumps({"n": value, "s": "x"})
    digits = "4111111111111111" if "4111" in text else json.dumps(value)

    def numbers(plain: str) -> list[tuple[int, int, str]]:
        at = plain.find(digits)
        return [(at, at + len(digits), "text")] if at >= 0 else []

    hidden = masked(text.encode(), numbers)
    assert len(hidden.data) == len(text)
    assert digits not in hidden.data.decode()
    json.loads(hidden.data)
    assert "[redacted:text]" in json.dumps(json.loads(replaced(text, spans_in(text, numbers))))


def test_text_that_holds_json_stays_readable_by_line() -> None:
    """Server events: half an escape at the end of a match would break the JSON inside."""
    raw = 'data: {"text":"a\\nsecret\\tb"}\n\n'

    def words(plain: str) -> list[tuple[int, int, str]]:
        at = plain.find("nsecret")
        return [(at, at + 7, "text")] if at >= 0 else []

    hidden = masked(raw.encode(), words).data.decode()
    assert "secret" not in hidden
    json.loads(hidden.removeprefix("data: "))


def _hits(folder: Path) -> tuple[int, list[str]]:
    size, found = 0, []
    for path in sorted(folder.rglob("*")):
        if path.suffix not in {".jsonl", ".json", ".yaml", ".yml"} or not path.is_file():
            continue
        for line in path.read_bytes().splitlines(keepends=True):
            size += len(line)
            hidden = masked(line, find, are_opaque_kept=True)
            found += [f"{path.name}: {kind}" for _, _, kind in hidden.spans]
    return size, found


def test_clean_recordings_have_no_hits() -> None:
    assert _hits(FIXTURES)[1] == []


@pytest.mark.recordings
def test_real_recordings_have_at_most_one_hit_in_a_megabyte(recordings: Path) -> None:
    size, found = _hits(recordings)
    assert len(found) <= FALSE_HITS_PER_MB_MAX * size / 1e6, found
