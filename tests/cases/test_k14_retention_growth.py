"""Size and reading cost: references instead of copies; what may be pruned, and what never."""

from __future__ import annotations

import base64
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger import ConflictError, Ledger
from ctxledger.ledger.finding.catalogue import session_rows
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.pruning import plan_pruning, write_pruned
from ctxledger.ledger.storage.connection import Connection

from .conftest import MODEL, Told, texts

Case = Callable[[str], dict[str, Any]]
Line = dict[str, Any]
MESSAGE_BYTES = 20_000


def hex_text(chance: random.Random, size: int) -> str:
    """Text that packs to a half at best, as no words do."""
    return chance.randbytes(size // 2).hex()


def grown(raw_bytes: int, kept_bytes: int, compactions: int) -> Iterator[Line]:
    """Messages, and compactions that each keep the newest `kept_bytes`."""
    chance = random.Random(14)
    count, kept = raw_bytes // MESSAGE_BYTES, kept_bytes // MESSAGE_BYTES
    first = count - kept
    gone = 0
    for number in range(count):
        content = hex_text(chance, MESSAGE_BYTES)
        yield {"id": f"m{number}", "role": "user", "content": content}
        due = number + 1 - kept
        if due > 0 and due * compactions // first > gone * compactions // first:
            sources = [f"m{n}/0" for n in range(gone, due)]
            if gone:
                sources.append(f"b{gone}/0")
            yield {"id": f"b{due}", "type": "compact", "sources": sources, "brief": f"brief {due}"}
            gone = due


def test_k14_01_growth_is_linear(case: Case, told: Told, tmp_path: Path) -> None:
    recipe, limit = case("k14-01")["input"]["recipe"], case("k14-01")["expect"]["max_bytes_on_disk"]
    assert recipe.startswith("10 MB of events, 90 compactions")
    lines = [{"type": "session", "name": "S"}, *grown(10_000_000, 4_000_000, 90)]
    told.take("S.jsonl", *lines)
    session = told.ledger.find("S")
    assert len(session.store.marks(session.id, "window_compacted")) == 90
    after_one = session.version
    for number in range(9):
        copy = tmp_path / f"resumed{number}.jsonl"
        os.link(tmp_path / "S.jsonl", copy)
        assert import_file(told.ledger, copy).new_records == 0
    for number in range(5):
        told.tell({"type": "session", "name": f"fork{number}", "parent": "S"}, name="S")
        fork = told.tell({"role": "user", "content": "on"}, name=f"fork{number}")
        assert len(fork.structure().entries) == len(session.structure().entries) + 1
    assert told.ledger.find("S").version == after_one
    told.ledger.close()
    size = sum(path.stat().st_size for path in tmp_path.glob("ledger.db*"))
    told.reopen()
    assert size <= limit


def test_k14_02_the_same_image_is_stored_once(case: Case, told: Told) -> None:
    data = base64.b64encode(random.Random(2).randbytes(3_000_000)).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    image = {"role": "user", "content": [{"type": "image", "source": source}]}
    result = {"type": "tool_result", "tool_use_id": "t", "content": image["content"]}
    told.tell({**image, "id": "i"}, {**image, "id": "again"})
    for number in range(20):
        told.tell({"type": "call", "call": f"k{number}", "model": MODEL})
        if number % 2:
            told.tell({"type": "compact", "sources": ["again/0"], "brief": "S"})
            told.tell({"type": "reinject", "items": ["again/0"]})
    for number in range(3):
        told.tell({"type": "session", "name": f"fork{number}", "parent": "S"})
        told.tell(image, name=f"fork{number}")
    sizes = told.ledger.db.rows("SELECT size FROM bodies WHERE size > 3000000")
    assert len(list(sizes)) == case("k14-02")["expect"]["blobs"]
    assert told.db.stat().st_size + Path(f"{told.db}-wal").stat().st_size < 60_000_000
    told.tell({"role": "user", "content": [result]})
    sizes = told.ledger.db.rows("SELECT size FROM bodies WHERE size > 3000000")
    assert len(list(sizes)) == 2, "inside a result it is part of another text"


def test_k14_04_nothing_is_deleted_by_default(told: Told, tmp_path: Path) -> None:
    old = time.time() - 400 * 86_400
    old_line = {"role": "user", "content": "old", "at": "2020-01-01T00:00:00Z"}
    told.take("old.jsonl", old_line)
    told.ledger.close()
    os.utime(told.db, (old, old))
    os.utime(tmp_path / "old.jsonl", (old, old))
    before = [row.name for row in session_rows(told.reopen().store)]
    told.tell({"type": "compact", "brief": "S", "session": "old"})
    (tmp_path / "old.jsonl").unlink()
    for _ in range(2):
        told.reopen()
    rows = session_rows(told.ledger.store)
    assert before == ["old"]
    assert sorted(row.name for row in rows) == ["S", "old"]
    for row in rows:
        assert told.ledger.find(row.name).version == row.version, "the list and the data agree"
    session = told.ledger.find("old")
    assert (texts(session, "c1^"), texts(session)) == (["old"], ["S"])
    source = told.ledger.sources.of_session(session.id)[0]
    assert b"".join(told.ledger.sources.read(source.id)).endswith(b'"2020-01-01T00:00:00Z"}\n')


def rows_read(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> int:
    """How many rows the database gives while something is done."""
    count = 0
    original = Connection.rows

    def rows(self: Connection, sql: str, values: Any = ()) -> Iterator[Any]:
        nonlocal count
        for row in original(self, sql, values):
            count += 1
            yield row

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "rows", rows)
        work()
    return count


def test_k14_07_a_window_costs_what_is_in_it(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of 1 GB is a matter for the benches; here the rows that are read are counted."""
    costs = []
    for count in (200, 6_000):
        lines: list[Line] = []
        for number in range(count):
            lines.append({"id": f"m{number}", "role": "user", "content": f"message {number}"})
            if number % 50 == 49:
                lines.append({"type": "compact", "brief": f"brief {number}"})
        told.take(f"log{count}.jsonl", *lines, {"role": "user", "content": "last"})
        told.ledger.find(f"log{count}").window()  # caches are filled

        def read(name: str = f"log{count}") -> None:
            with Ledger.open(told.db) as ledger:
                assert texts(ledger.find(name))[-1] == "last"

        costs.append(rows_read(monkeypatch, read))
    assert costs[1] <= costs[0] + 70, "at most one interval of snapshots more"


def test_k14_04_nothing_goes_by_its_age(told: Told) -> None:
    old = {"role": "user", "content": "from long ago", "at": "2020-01-01T00:00:00Z"}
    told.take("old.jsonl", {"type": "session", "name": "old"}, old)
    told.ledger.close()
    for path in told.folder.iterdir():
        os.utime(path, (0, 0))
    told.reopen()
    told.tell({"id": "u", "role": "user", "content": "new"}, {"type": "compact", "brief": "B"})
    told.reopen()
    listed = session_rows(told.ledger.store)
    assert {row.name for row in listed} == {"old", "S"}, "listed"
    assert texts(told.ledger.find("old")) == ["from long ago"], "and there"


def test_k14_05_prune_keeps_what_heads_need(case: Case, told: Told) -> None:
    heads = case("k14-05")["input"]["heads"]
    common, rest = heads["main"][:2], heads["main"][2:]
    told.tell(*({"role": "user", "content": f"message {n}"} for n in common), name="main")
    told.tell({"type": "session", "name": "B", "parent": "main"}, name="main")
    for name, numbers in (("main", rest), ("B", heads["B"][2:])):
        told.tell(*({"role": "user", "content": f"message {n}"} for n in numbers), name=name)
    main, other = told.ledger.find("main"), told.ledger.find("B")
    store, before = told.ledger.store, main.window()
    with pytest.raises(ConflictError):
        plan_pruning(store, [main.id])
    target = told.folder / "pruned.db"
    write_pruned(store, plan_pruning(store, [other.id]), target, entropy=os.urandom)
    with Ledger.open(target, "read") as pruned:
        assert pruned.find("main").window() == before
        kept = [f"message {n}" for n in case("k14-05")["expect"]["kept"]]
        assert texts(pruned.find("main")) == kept
        assert [name for _, name in pruned.store.session_names()] == ["main"]
        contents = b"".join(pruned.store.bodies.get(k) for (k,) in pruned.db.rows(
            "SELECT key FROM bodies"))  # fmt: skip
        for number in case("k14-05")["expect"]["removed"]:
            assert f"message {number}".encode() not in contents
    assert {row.name for row in session_rows(store)} == {"main", "B"}, "the archive"
