"""Hostile names, paths and contents in what was recorded. Redaction is in tests/redaction."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger import BadInput
from ctxledger.ledger.content import is_label
from ctxledger.ledger.exporting.native import native_lines
from ctxledger.ledger.exporting.page_html import html
from ctxledger.ledger.exporting.page_markdown import markdown
from ctxledger.ledger.exporting.report import report
from ctxledger.ledger.exporting.report_page import report_page
from ctxledger.ledger.integrity.verify import verify

from .conftest import Told, texts

Case = Callable[[str], dict[str, Any]]
NAME_BYTES_MAX = 200
LEDGER_FILES = {"ledger.db", "ledger.db-wal", "ledger.db-shm"}


def files_under(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_k10_04_any_session_name_is_kept_apart(case: Case, told: Told, tmp_path: Path) -> None:
    """Names never become files here: everything is in the one ledger file."""
    names = case("k10-04")["input"]["ids"]
    for name in filter(None, names):
        told.ledger.session(name).append({"role": "user", "content": f"of {name}"})
    for name in filter(None, names):
        session = told.ledger.find(name)
        assert texts(session) == [f"of {name}"], "found again by the very name"
        assert is_label(session.name)
        assert len(session.name.encode()) < NAME_BYTES_MAX
        assert texts(told.ledger.session(name)) == [f"of {name}"]
    with pytest.raises(BadInput):
        told.ledger.session("")
    assert len(told.ledger.store.session_names()) == len(set(names)) - 1
    assert files_under(tmp_path) <= LEDGER_FILES
    assert verify(told.ledger.store).ok


def test_k10_04_any_name_in_a_recording_is_kept_apart(
    case: Case, told: Told, tmp_path: Path
) -> None:
    names = list(filter(None, case("k10-04")["input"]["ids"]))
    lines = [{"role": "user", "content": f"of {n}", "session": n, "id": n} for n in names]
    told.take("names.jsonl", *lines)
    for name in names:
        session = told.reopen().find(name)
        assert texts(session) == [f"of {name}"]
        if session.name != name:
            assert session.opened.title is not None
            title = told.ledger.store.bodies.get(session.opened.title)
            assert title.decode() == name, "people see the name it came with"
    assert files_under(tmp_path) <= {*LEDGER_FILES, "names.jsonl"}


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\u0000b", "C:\\x", "\u00e9", "x" * 600])
def test_k10_04_ids_of_messages_and_calls_are_kept_apart(told: Told, name: str) -> None:
    call = {"type": "tool_use", "id": name, "name": name, "input": {}}
    result = {"type": "tool_result", "tool_use_id": name, "content": "r"}
    session = told.tell(
        {"id": name, "role": "assistant", "content": [call]},
        {"id": name + "2", "role": "user", "content": [result]},
        {"type": "evict", "items": [f"{name}2/0"], "placeholder": "[gone]"},
    )
    assert texts(session) == ["{}", "[gone]"]
    assert texts(session, "e1^") == ["{}", "r"]


def test_k10_05_a_pointer_in_a_recording_is_only_text(told: Told, tmp_path: Path) -> None:
    """There is no folder of blobs that a link could replace: contents are in the ledger file."""
    secret = tmp_path / "secret.txt"
    secret.write_text("root:x:0:0")
    path = str(secret)
    blocks = [
        {"type": "text", "text": f"<persisted-output>\nFull output saved to: {path}\n"},
        {"type": "document", "source": {"type": "file", "path": path}},
        {"type": "image", "source": {"type": "url", "url": f"file://{path}"}},
        {"type": "tool_result", "tool_use_id": "t", "content": [
            {"type": "resource_link", "uri": f"file://{path}"},
        ]},
    ]  # fmt: skip
    session = told.tell({"role": "user", "content": blocks, "meta": {"file": path}})
    shown = [session.window().text(), json.dumps(session.render().body)]
    shown.append(json.dumps([lines for _, lines in native_lines(session)]))
    for text in shown:
        assert path in text
        assert "root:x" not in text
    assert b"root:x" not in told.db.read_bytes() + Path(f"{told.db}-wal").read_bytes()


def test_k10_05_an_export_never_writes_where_a_recording_says(told: Told, tmp_path: Path) -> None:
    session = told.tell({"role": "user", "content": "x", "session": "../../outside"})
    told.ledger.find("../../outside")
    list(native_lines(session))
    assert files_under(tmp_path) <= LEDGER_FILES


def test_k10_07_text_in_exports_is_data(case: Case, told: Told) -> None:
    """JSON strings only; Markdown and HTML are below."""
    values = case("k10-07")["input"]["values"]
    session = told.tell(*({"role": "user", "content": value} for value in values))
    assert texts(session) == values
    body = json.loads(json.dumps(session.render().body))
    assert [block["text"] for m in body["messages"] for block in m["content"]] == values
    again = Told.__new__(Told)
    again.__dict__.update(told.__dict__)
    again.ledger = type(told.ledger).open(":memory:")
    lines = [line for _, lines in native_lines(session) for line in lines]
    assert texts(again.tell(*lines)) == values
    again.ledger.close()


def test_k10_07_a_report_is_safe_to_open(case: Case, told: Told) -> None:
    """HTML escapes everything and has no scripts; fences are longer than any fence inside."""
    values = case("k10-07")["input"]["values"]
    lines = [{"id": f"u{n}", "role": "user", "content": v} for n, v in enumerate(values)]
    sources = [f"u{n}/0" for n in range(len(values))]
    brief = "\n".join(values)
    session = told.tell(*lines, {"type": "compact", "sources": sources, "brief": brief})
    blocks = report_page(report(session))
    page = html(blocks)
    for value in values:
        assert escape(" ".join(value.split())) in page
    assert set(re.findall(r"<(script|img|a|iframe|svg|form|link|object)\b", page)) == set()
    assert not re.search(r"\bon\w+=\"|href=|src=\"", page)
    text = markdown(blocks)
    assert f"\n````\n{brief}\n````\n" in text
    assert "```` ``` # not a heading ``` ````" in text
    for value in ("<script>x</script>", "</pre><img src=x>", "[a](javascript:x)", "=1+1"):
        assert f"`{value}`" in text
