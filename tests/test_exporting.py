"""export --format events: taken in again, the same windows at every version that changes one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger import Ledger, Session
from ctxledger.ledger.content import block_value
from ctxledger.ledger.exporting.native import native_lines
from ctxledger.ledger.importing import import_file

FIXTURES = Path(__file__).parent / "fixtures"
LOCAL = sorted(FIXTURES.glob("*.*l"))


def shown(session: Session, version: int) -> list[tuple[Any, ...]]:
    """A window by its contents: nothing of versions and ids; forms show in the blocks."""
    return [
        (
            p.role,
            p.block.origin,
            p.block.meta,
            p.block.text if p.role == "tools" else block_value(p.block),
        )
        for p in session.placed(session.structure(version))
    ]


def assert_same_windows(first: Session, folder: Path) -> int:
    """Export, take in again, compare at each version that has lines; gives how many."""
    lines = list(native_lines(first))
    path = folder / "exported.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for _, some in lines for line in some))
    compared = 0
    with Ledger.open() as other:
        report = import_file(other, path)
        assert report.quarantined == 0, report.warnings
        second = other.find(first.name)
        rows = iter(list(other.sources.rows(other.sources.of_session(second.id)[0].id)))
        at = 0
        for version, some in lines:
            for _ in some:
                row = next(rows)
                at = row.version + row.events - 1 if row.version else at
            if some:
                assert shown(second, at) == shown(first, version), f"version {version}"
                compared += 1
    return compared


@pytest.mark.parametrize("path", LOCAL, ids=lambda path: path.stem)
def test_small_recordings(path: Path, tmp_path: Path) -> None:
    with Ledger.open() as ledger:
        import_file(ledger, path)
        for _, name in ledger.store.session_names():
            assert assert_same_windows(ledger.find(name), tmp_path) > 4


def test_real_recordings(recordings: Path, tmp_path: Path) -> None:
    for path in sorted((recordings / "claude-code").glob("*.jsonl")):
        with Ledger.open() as ledger:
            import_file(ledger, path)
            for _, name in ledger.store.session_names():
                assert_same_windows(ledger.find(name), tmp_path)


STORY: list[dict[str, Any]] = [
    {
        "type": "session",
        "name": "story",
        "title": "t",
        "limit": 1000,
        "folder": "/f",
        "branch": "b",
    },
    {"type": "tools", "tools": [{"name": "Bash", "input_schema": {}}]},
    {"type": "system", "content": "Be brief."},
    {"role": "user", "id": "u1", "content": "Never touch production.", "at": 1_790_000_000_000},
    {"type": "call", "call": "k1", "model": "m", "params": {"max_tokens": 5}},
    {
        "role": "assistant",
        "id": "a1",
        "content": [
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
            {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "cat x"}},
        ],
    },
    {"type": "result", "call": "k1", "usage": {"input_tokens": 9, "output_tokens": 2}},
    {
        "role": "user",
        "id": "r1",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a b c"}],
        "meta": {"exit_code": 0},
    },
    {
        "type": "message",
        "message": "r1",
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t2",
                "content": [{"type": "text", "text": "x"}],
                "is_error": True,
            }
        ],
    },
    {"type": "evict", "items": ["r1/0", "r1/1"], "placeholder": "[gone]", "reason": "old"},
    {"type": "reinject", "items": ["r1/1"], "reason": "needed"},
    {"type": "evict", "items": ["a1/0"]},
    {"type": "reinject", "items": ["a1/0"], "after": "u1/0"},
    {"type": "reinject", "text": "Remember the rule.", "after": "u1/0"},
    {
        "type": "system",
        "content": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Now."}],
    },
    {"type": "note", "kind": "constraint", "text": "no production", "source": "u1", "pin": True},
    {"type": "phase", "name": "build"},
    {"role": "user", "id": "u2", "content": "Go on."},
    {
        "type": "compact",
        "id": "s1",
        "sources": ["a1/1", "a1/2", "r1/0", "r1/1"],
        "brief": {"Facts": ["a", "b"]},
    },
    {"role": "assistant", "id": "a2", "content": "Done."},
    {"type": "compact", "brief": "All of it.", "tokens_before": 90, "tokens_after": 4},
    {
        "type": "rewrite",
        "parts": [
            {"message": "u1"},
            {"message": "a2", "first": 0, "count": 1},
            {"message": "n1", "role": "user", "content": "New."},
        ],
        "cause": "branch",
    },
    {"role": "user", "id": "u3", "content": "After."},
]


def taken_in(lines: list[dict[str, Any]], folder: Path) -> Session:
    """A session from native lines, in a ledger in memory."""
    path = folder / "story.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ledger = Ledger.open()
    report = import_file(ledger, path)
    assert report.quarantined == 0, report.warnings
    return ledger.find("story")


@pytest.fixture
def story(tmp_path: Path) -> Session:
    """Every kind of line that changes a window."""
    return taken_in(STORY, tmp_path)


def test_every_kind_of_line(story: Session, tmp_path: Path) -> None:
    assert assert_same_windows(story, tmp_path) == len(STORY)


@pytest.mark.parametrize(
    ("count", "handles"),
    [(10, ("e1",)), (12, ("e2", "e1")), (19, ("c1",)), (21, ("c2",)), (21, ("c2", "c1"))],
)
def test_roll_backs(tmp_path: Path, count: int, handles: tuple[str, ...]) -> None:
    story = taken_in(STORY[:count], tmp_path)
    story.rollback(*handles)
    story.rollback("r1")
    story.append({"role": "user", "content": "And then."})
    assert assert_same_windows(story, tmp_path) >= count + 3


@pytest.mark.parametrize("to", ["3", "7", "e1", "e1^", "c1^", "c1", "head~4", "head~9"])
def test_restored_versions_with_other_system_blocks(
    story: Session, tmp_path: Path, to: str
) -> None:
    story.rollback(to=to)
    story.append({"role": "user", "content": "And then."})
    assert assert_same_windows(story, tmp_path) > len(STORY)


def test_exporting_what_was_exported_gives_the_same_lines(story: Session, tmp_path: Path) -> None:
    def text_of(session: Session) -> str:
        return "".join(
            json.dumps(line) + "\n" for _, some in native_lines(session) for line in some
        )

    (tmp_path / "one.jsonl").write_text(text_of(story))
    with Ledger.open() as other:
        import_file(other, tmp_path / "one.jsonl")
        assert text_of(other.find("story")) == (tmp_path / "one.jsonl").read_text()
