"""Two windows side by side: numbers that add up, results that know their calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ctxledger.ledger import Ledger, Session
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.views.comparing import Comparison, compare

LINES: list[dict[str, Any]] = [
    {"role": "user", "content": "Refactor auth. Never touch the production database."},
    {"id": "call", "role": "assistant", "content": [
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "src/auth.py"}}]},
    {"id": "result", "role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "one two three four five six"}]},
    {"type": "evict", "items": ["result/0"], "placeholder": "[gone]"},
    {"id": "said", "role": "assistant", "content": "I have read it."},
    {"type": "compact", "sources": ["call/0", "result/0", "said/0"], "brief": "auth.py was read"},
    {"role": "user", "content": "go on"},
]  # fmt: skip


def session_of(ledger: Ledger, folder: Path) -> Session:
    path = folder / "s.jsonl"
    lines = [json.dumps({**line, "session": "s"}) for line in LINES]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    import_file(ledger, path)
    return ledger.find("s")


def version_of(session: Session, kind: str) -> int:
    return session.store.marks(session.id, kind)[-1].version


def assert_adds_up(found: Comparison) -> None:
    both = sum(e.tokens for e in (*found.kept, *found.moved))
    before = sum(e.tokens for e in found.dropped) + sum(c.before.tokens for c in found.changed)
    after = sum(e.tokens for e in found.added) + sum(c.after.tokens for c in found.changed)
    assert found.tokens_before == both + before
    assert found.tokens_after == both + after


def test_every_pair_of_versions_adds_up(tmp_path: Path) -> None:
    with Ledger.open() as ledger:
        session = session_of(ledger, tmp_path)
        for before in range(session.version + 1):
            for after in range(session.version + 1):
                found = compare(session, before, after)
                assert_adds_up(found)
                assert found.is_same == (
                    session.structure(before).entries == session.structure(after).entries
                )


def test_an_eviction_changes_a_form(tmp_path: Path) -> None:
    with Ledger.open() as ledger:
        session = session_of(ledger, tmp_path)
        at = version_of(session, "items_evicted")
        (change,) = compare(session, at - 1, at).changed
        assert (change.before.form, change.after.form) == ("verbatim", "placeholder")
        assert change.before.path == change.after.path == "src/auth.py"
        assert change.after.text == "[gone]"


def test_a_compaction_drops_its_sources_and_adds_its_brief(tmp_path: Path) -> None:
    with Ledger.open() as ledger:
        session = session_of(ledger, tmp_path)
        at = version_of(session, "window_compacted")
        found = compare(session, at - 1, at)
        assert [e.group for e in found.dropped] == ["files", "files", "other"]
        assert [(e.form, e.text) for e in found.added] == [("brief", "auth.py was read")]
        assert [e.text for e in found.kept] == [LINES[0]["content"]]
