"""Made-up secrets of the twelve kinds, and where agents leave them."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path
from typing import Any

from ctxledger.ledger import Ledger, Session
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.secrets import KINDS
from ctxledger.ledger.storage.codec import unpack

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
WORD = ALNUM + "_-"


class Planter:
    """Secrets and lines by a seed."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)

    def _any(self, letters: str, size: int) -> str:
        """Always with a digit and letters of both cases, as a real one has."""
        return "".join(self._random.choices(letters, k=size - 3)) + "A7z"[: min(3, size)]

    def secret(self, kind: str) -> tuple[str, str]:
        """(the secret, the text that it stands in)."""
        any_ = self._any
        match kind:
            case "anthropic":
                value = "sk-ant-api03-" + any_(WORD, 95)
            case "openai":
                value = "sk-proj-" + any_(WORD, 80)
            case "github":
                value = "ghp_" + any_(ALNUM, 36)
            case "aws":
                value = "AKIA" + "".join(self._random.choices(UPPER, k=16))
            case "google":
                value = "AIza" + any_(WORD, 35)
            case "slack":
                value = "xoxb-" + any_(string.digits, 12)[:11] + "-" + any_(ALNUM, 24)
            case "stripe":
                value = "sk_live_" + any_(ALNUM, 24)
            case "huggingface":
                value = "hf_" + any_(ALNUM, 34)
            case "pem":
                lines = "\n".join(any_(ALNUM + "+/", 64) for _ in range(6))
                value = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"
            case "jwt":
                value = f"eyJ{any_(WORD, 20)}.eyJ{any_(WORD, 60)}.{any_(WORD, 43)}"
            case "bearer":
                value = any_(ALNUM, 40)
                return value, f"curl -H 'Authorization: Bearer {value}' https://api.example/v1"
            case "url":
                value = any_(ALNUM, 14)
                return value, f"postgres://user:{value}@db.example/app"
            case _:
                raise AssertionError(kind)
        return value, f"export KEY={value} # done"

    def line(self, place: str, text: str, number: int) -> list[dict[str, Any]]:
        """Native lines with a text in a place."""
        long = "\n".join(f"line {number} {n} of some tool's output" for n in range(40))
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash"}
        result = {"type": "tool_result", "tool_use_id": f"t{number}"}
        use = {"role": "assistant", "content": [{**call, "input": {"command": "env"}}]}
        match place:
            case "user":
                return [{"role": "user", "content": text, "id": f"u{number}"}]
            case "tool input":
                nested = {"command": text, "raw": json.dumps({"env": text})}
                return [
                    {"role": "assistant", "content": [{**call, "input": nested}]},
                    {"role": "user", "content": [{**result, "content": "ok"}]},
                ]
            case "tool result":
                body = [{**result, "content": f"{long}\n{text}\n{long}"}]
                return [use, {"role": "user", "content": body, "meta": {"stdout": text}}]
            case "escaped result":
                body = [{**result, "content": json.dumps(json.dumps({"log": [text]}))}]
                return [use, {"role": "user", "content": body}]
            case "summary":
                return [
                    {"id": f"s{number}", "role": "user", "content": "work"},
                    {"type": "compact", "sources": [f"s{number}/0"], "brief": f"Goal: {text}"},
                ]
            case "note":
                return [{"type": "note", "kind": "fact", "text": text}]
            case _:
                raise AssertionError(place)


PLACES = ("user", "tool input", "tool result", "escaped result", "summary", "note")


def escaped(line: dict[str, Any], number: int) -> bytes:
    """A line as JSON; every third one with all its letters and digits in strings as escapes."""
    text = json.dumps(line)
    if number % 3 == 0:
        values = json.dumps(line, ensure_ascii=False)
        for secret_char in "AKsgxh7":
            values = values.replace(f"={secret_char}", f"=\\u{ord(secret_char):04x}")
        if json.loads(values) == line:
            text = values
    return text.encode() + b"\n"


def bytes_of(folder: Path) -> bytes:
    """Everything in the files of a ledger."""
    return b"".join(p.read_bytes() for p in sorted(folder.glob("ledger.db*")))


def packed_of(db: Any) -> list[bytes]:
    """Every packed blob of a ledger."""
    rows = [*db.rows("SELECT data FROM bodies WHERE data IS NOT NULL")]
    rows += db.rows("SELECT data FROM chunks")
    return [bytes(row[0]) for row in rows]


def unpacked_of(db: Any) -> bytes:
    """All contents and source bytes of a ledger, and the words of its other tables."""
    parts = [unpack(data) for data in packed_of(db)]
    for query in ("SELECT name || options FROM sources", "SELECT name || data FROM session_rows"):
        parts += [str(row[0]).encode() for row in db.rows(query)]
    parts += [unpack(row[0]) for row in db.rows("SELECT data FROM events")]
    return b"\n".join(parts)


SECRETS = 504
PIECE_BYTES = 12
"""Of a longer secret no piece of this size may be left."""


def pieces(secret: str) -> list[bytes]:
    """Parts of a secret that betray it; PEM frames apart."""
    lines = [line for line in secret.splitlines() if not line.startswith("-----")]
    return [
        line[at : at + PIECE_BYTES].encode()
        for line in lines
        for at in range(0, max(1, len(line) - PIECE_BYTES + 1), PIECE_BYTES)
        if len(line) >= PIECE_BYTES
    ]


def planted(path: Path, count: int = SECRETS) -> list[str]:
    """Write a native recording full of secrets; gives them."""
    planter = Planter()
    secrets = []
    lines: list[bytes] = [escaped({"type": "session", "name": "work"}, 1)]
    for number in range(count):
        secret, text = planter.secret(KINDS[number % len(KINDS)])
        place = PLACES[number // len(KINDS) % len(PLACES)]
        secrets.append(secret)
        lines += [escaped(line, number) for line in planter.line(place, text, number)]
    path.write_bytes(b"".join(lines))
    return secrets


def assert_gone(ledger: Ledger, folder: Path, secrets: list[str]) -> None:
    files, unpacked = bytes_of(folder), unpacked_of(ledger.db)
    for secret in secrets:
        for piece in pieces(secret):
            assert piece not in files
            assert piece not in unpacked
            assert piece.lower() not in files.lower()


def tell(ledger: Ledger, folder: Path, *lines: dict[str, Any], name: str = "s.jsonl") -> Session:
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    import_file(ledger, path)
    return ledger.find("@")


SECRET = "ghp_" + "aB3d" * 9
LINES = (
    {"type": "session", "name": "work", "title": f"with {SECRET}"},
    {"id": "u1", "role": "user", "content": f"the key is {SECRET}, keep it"},
    {"id": "a1", "role": "assistant", "content": [
        {"type": "tool_use", "id": "t1", "name": "run", "input": {"env": {"KEY": SECRET}}},
    ]},
    {"id": "o1", "role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": f"KEY={SECRET} " + "long " * 400},
    ]},
)  # fmt: skip
