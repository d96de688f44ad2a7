"""What the read models hold, and a session in which everything happens that can."""

from __future__ import annotations

from pathlib import Path

from ctxledger.ledger import Ledger
from ctxledger.ledger.caches.catchup import catch_up
from ctxledger.ledger.caches.read_models import Models
from ctxledger.ledger.content import Block
from ctxledger.ledger.importing import import_file

from .story import Story, open_ledger

FIXTURE = Path(__file__).parent / "fixtures" / "claude-code-interrupts.jsonl"
Content = dict[str, list[tuple[object, ...]]]


def content_of(ledger: Ledger, models: Models) -> Content:
    """All rows of the read models; of the full text each word with its places."""
    db = ledger.db
    content: Content = {
        "rows": sorted(db.rows(f"SELECT id, name, opened, data FROM {models.rows}")),
        "uses": sorted(db.rows(f"SELECT * FROM {models.uses}")),
        "touches": sorted(db.rows(f"SELECT * FROM {models.touches}")),
        "words": [],
    }
    for table, name in models.search:
        schema = table.split(".")[0]
        db.execute("DROP TABLE IF EXISTS temp.words")
        db.execute(f"CREATE VIRTUAL TABLE temp.words USING fts5vocab({schema}, {name}, instance)")
        content["words"] += db.rows("SELECT term, doc, offset FROM temp.words")
        db.execute("DROP TABLE temp.words")
    content["words"].sort()
    assert len(set(content["words"])) == len(content["words"]), "a body was indexed twice"
    return content


def tell(ledger: Ledger) -> Story:
    """A session in which everything happens to items that can."""
    story = Story(ledger)
    first = story.say("Refactor auth. Never touch production.", message="m-1")
    second = story.say("Working on it. 数据库回滚", role="assistant", message="m-2")
    result = story.put(
        Block(type="tool_result", text="x" * 3000, origin="tool"),
        Block(type="text", text="and a late note", origin="human"),
        message="m-3",
    )
    story.evict(result, "[old result]")
    story.evict(second)
    story.reinject(second)
    story.reinject(result)
    story.call("call-1", 900)
    story.compact("They want auth refactored.", keep=("m-3",))
    story.say("Go on.", message="m-9")
    story.session.rollback("c1")
    story.rewind("m-1", "m-9")
    story.rewind("m-9", "m-1", "m-2")
    story.compact("Everything again.")
    fork = Story(ledger, "fork", relation="fork", parent="story", parent_message="m-2")
    fork.evict(first, "[gone]")
    fork.say("x" * 3000)
    return story


def write_told(folder: Path) -> Path:
    """A ledger file with that session, a fork of it, and a real transcript."""
    path = folder / "ledger.db"
    with open_ledger(path) as ledger:
        tell(ledger)
        import_file(ledger, FIXTURE)
    return path


def first_reading(told: Path, folder: Path) -> Content:
    """What the first reading of a copy gives."""
    copy = folder / "copy.db"
    with open_ledger(told) as ledger:
        ledger.db.execute("VACUUM INTO ?", (str(copy),))
    with open_ledger(copy) as ledger:
        return content_of(ledger, catch_up(ledger.store))
