"""Recorded OpenAI traffic made by tests, and what a ledger makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from ctxledger.ledger import Ledger
from ctxledger.ledger.drafts import AnyDraft
from ctxledger.ledger.formats.base import Record
from ctxledger.ledger.formats.openai import OpenAIFold
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.session import Session

from .traffic import Taken, take

FIXTURES = Path(__file__).parents[1] / "fixtures"
Json = dict[str, Any]
CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"


def pair(body: Json, answer: Any = None, url: str = "", **response: Any) -> Json:
    url = url or (CHAT if "messages" in body else RESPONSES)
    came = {"status_code": 200, "body": answer, **response}
    return {"request": {"method": "POST", "url": url, "body": body}, "response": came}


def said(number: int, message: Json, **fields: Any) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", "refusal": None, "annotations": [],
                                      **message}, "finish_reason": "stop"}  # fmt: skip
    return {"id": f"chatcmpl-{number}", "object": "chat.completion", "model": "gpt-4o-1",
            "choices": [choice], **fields}  # fmt: skip


def responded(number: int, *output: Json, **fields: Any) -> Json:
    return {"id": f"resp_{number}", "object": "response", "model": "gpt-5-1", "error": None,
            "status": "completed", "output": list(output), **fields}  # fmt: skip


def text_item(number: int, text: str) -> Json:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": f"msg_{number}", "status": "completed",
            "role": "assistant", "content": [part]}  # fmt: skip


def call(name: str | None, arguments: str = "{}") -> Json:
    entry: Json = {"type": "function", "function": {"name": "f", "arguments": arguments}}
    return entry if name is None else {"id": name, **entry}


def drafts_of(rows: Iterable[object], fold: OpenAIFold | None = None) -> list[AnyDraft]:
    fold = fold or OpenAIFold("main")
    feds = [fold.feed(Record(offset=0, data=json.dumps(r).encode(), value=r)) for r in rows]
    return [draft for fed in feds for draft in fed.drafts]


def of_type(drafts: Iterable[AnyDraft], kind: type) -> list[Any]:
    return [draft for draft in drafts if isinstance(draft, kind)]


def session_of(rows: Iterable[object], folder: Path) -> Session:
    """The main session that rows make in a ledger; every request is checked on the way."""
    rows = list(rows)
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    taken = take(data, folder)
    sent = [row["request"]["body"] for row in rows if isinstance(row, dict) and "request" in row]
    assert taken.requests == sent
    return taken.main


def sent_in(path: Path) -> list[Json]:
    """The OpenAI requests of a cassette, read without the code under test."""
    document = yaml.safe_load(path.read_bytes())
    requests = [entry["request"] for entry in document["interactions"]]
    return [r["parsed_body"] for r in requests if "openai.com" in r["uri"]]


def rendered(path: Path, folder: Path) -> list[Json]:
    ledger = Ledger.open(folder / f"{path.stem}.db")
    import_file(ledger, path)
    return Taken(ledger).requests
