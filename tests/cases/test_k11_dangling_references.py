"""What stands for contents that left, and contents that are lost.

Finding a stub whose original has left, and stubs of our own making, come with our own evictions;
here the original stays readable whatever another agent put in its place.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from ctxledger.ledger import CorruptLedger
from ctxledger.ledger.finding.blaming import blame_item
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.session import Session

from .conftest import Told, texts

Case = Callable[[str], dict[str, Any]]
UNGUARD = "DROP TRIGGER IF EXISTS bodies_no_delete; DROP TRIGGER IF EXISTS bodies_only_redacted"


def item_of(session: Session, tool_id: str) -> str:
    entries = session.window().entries
    return next(e.item for e in entries if e.type == "tool_result" and e.block.tool_id == tool_id)


def test_k11_01_unchanged_is_not_visible(case: Case, told: Told) -> None:
    found = case("k11-01")["input"]
    lines = [{**message, "id": f"s{n}"} for n, message in enumerate(found["messages"])]
    session = told.tell(*lines)
    item = item_of(session, found["steps"][0]["tool_use_id"])
    full = "FULL TEXT OF a.py"
    told.tell({"type": "evict", "items": [item], "placeholder": "[old result]"})
    session = told.ledger.find("S")
    assert full not in session.window().text()
    assert "unchanged since last read (toolu_1)" in session.window().text()
    (life,) = blame_item(session, item)
    assert (life.in_window, life.left is not None) == (False, True)
    told.tell({"type": "reinject", "items": [item], "reason": "toolu_2 points to it"})
    session = told.ledger.find("S")
    assert texts(session)[2] == full, "back in its place"


def test_k11_02_what_was_evicted_can_be_read_from_the_ledger(case: Case, told: Told) -> None:
    """No tool has to run again for it. Our own stubs (under 300 characters) come later."""
    event = case("k11-02")["input"]["events"][0]
    content = "".join(f"line {n}\n" for n in range(event["bytes"]))[: event["bytes"]]
    call = {"type": "tool_use", "id": "t1", "name": event["tool"], "input": {"p": event["path"]}}
    session = told.tell(
        {"role": "assistant", "content": [call]},
        {"id": "r", "role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": content},
        ]},
        {"type": "evict", "items": ["r/0"], "placeholder": "[read of src/a.py, 40,000 bytes]"},
    )  # fmt: skip
    stub = session.window().entries[1]
    assert (stub.form, stub.text) == ("placeholder", "[read of src/a.py, 40,000 bytes]")
    block = session.item_block(stub.item)
    assert (block.text, block.tool_id) == (content, "t1")
    version = int(stub.item.split(".")[0])
    record = told.ledger.sources.record_of(session.id, version)
    assert record is not None
    line = json.loads(told.ledger.sources.read_range(*record))
    assert line["content"][0]["content"] == content


def damage(told: Told, session: Session, item: str, sql: str) -> str:
    """Do something to an item's contents behind our back; gives their key in hex."""
    version, _, index = item.partition(".")
    event = session.store.read_one(session.id, int(version)).event
    key: bytes = event.messages[0].blocks[int(index)].body  # type: ignore[union-attr]
    told.ledger.close()
    connection = sqlite3.connect(told.db)
    connection.executescript(UNGUARD)
    connection.execute(sql, (key,))
    connection.commit()
    connection.close()
    told.reopen()
    return key.hex()


DELETE = "DELETE FROM bodies WHERE key = ?"
CHANGE = (
    "UPDATE bodies SET data = CAST(substr(data, 1, length(data) - 1) || x'21' AS BLOB)"
    " WHERE key = ?"
)
GARBLE = "UPDATE bodies SET data = x'09' WHERE key = ?"


@pytest.mark.parametrize(
    ("sql", "words"),
    [(DELETE, "are missing"), (CHANGE, "were changed on disk"), (GARBLE, "cannot be read")],
)
@pytest.mark.parametrize("place", range(4))
def test_k11_04_lost_contents_leave_the_rest_readable(
    told: Told, sql: str, words: str, place: int
) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}
    parts = [{"type": "text", "text": "r"}]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": parts}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    session = told.tell(
        {"role": "user", "content": "before"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "user", "content": [image]},
        {"role": "user", "content": "after"},
    )
    before = session.window().entries
    assert session.window().tokens > 0
    item = before[place].item
    key = damage(told, session, item, sql)
    session = told.ledger.find("S")
    shown = session.window().entries
    for n, (old, new) in enumerate(zip(before, shown, strict=True)):
        assert new.item == old.item
        assert (f"The contents {key} {words}." in new.text) == (n == place)
        assert n == place or (new.text, new.tokens) == (old.text, old.tokens)
    for read in (lambda: session.item_block(item), session.render):
        with pytest.raises(CorruptLedger, match=key):
            read()
    problems = verify(told.ledger.store).problems
    assert any(key in p.problem and p.version == int(item.split(".")[0]) for p in problems)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ({"type": "reinject", "items": ["1.0"]}, True),
        ({"type": "reinject", "items": ["5.0"]}, True),
        ({"type": "reinject", "items": ["2.7"]}, True),
        ({"type": "reinject", "text": "x", "after": "9.9"}, True),
        ({"type": "evict", "items": ["4.1"]}, True),
        ({"type": "compact", "sources": ["a/0"], "brief": "S"}, True),
        ({"type": "rewrite", "parts": [{"message": "b"}, {"message": "b"}]}, False),
        ({"type": "compact", "sources": ["2.0", "b/0"], "brief": "S"}, False),
        ({"type": "note", "kind": "fact", "text": "t", "source": "9.9", "pin": True}, False),
    ],
)
def test_what_names_no_item_changes_no_window(told: Told, line: dict[str, Any], kept: bool) -> None:
    """5.0 is the text of a placeholder: it stands in the window only for something."""
    start: list[dict[str, Any]] = [
        {"type": "system", "content": "rules"},
        {"id": "a", "role": "user", "content": "a"},
        {"id": "b", "role": "user", "content": "b"},
        {"type": "evict", "items": ["b/0"], "placeholder": "[gone]"},
        {"type": "evict", "items": ["a/0"]},
    ]
    told.take("S.jsonl", *start)
    before = told.ledger.find("S").structure().entries
    report = told.take("S.jsonl", *start, line)
    session = told.ledger.find("S")
    assert report.quarantined == int(kept)
    assert not kept or session.structure().entries == before
    assert len(texts(session)) == len(session.structure().entries)
    told.take("S.jsonl", *start, line, {"type": "system", "content": "other rules"})
    assert texts(told.ledger.find("S"))[0] == "other rules", "system stays in front, and one"
    assert "rules" not in texts(told.ledger.find("S"))
    assert verify(told.ledger.store).ok
