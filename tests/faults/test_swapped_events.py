"""Events replaced by others that can be read: what does not fit is damage, never a crash."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ctxledger.ledger import CorruptLedger, Ledger, LedgerError, Session
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.storage.codec import pack_event

from ..story import Story, open_ledger

SWAPPED = {
    "no id": b'{"type":"message_appended","messages":[],"delta":{"append":["x"]}}',
    "no index": b'{"type":"message_appended","messages":[],"delta":{"append":["7.a-b"]}}',
    "no such item": b'{"type":"message_appended","messages":[],"delta":{"append":["9.9"]}}',
    "no such text": b'{"type":"items_evicted","number":1,"items":[],"rule":"","delta":'
    b'{"replace":["2.0 placeholder = 9.9"]}}',
    "no such place": b'{"type":"message_appended","messages":[],"delta":{"remove":["a..b"]}}',
    "no delta": b'{"type":"phase_changed","name":"eHh4eA=="}',
    "no event": b'{"type":"unheard_of"}',
}
USES: tuple[Callable[[Session], object], ...] = (
    lambda s: s.window(4),
    lambda s: s.window(),
    lambda s: s.render(),
    lambda s: s.diff(1, "head"),
    lambda s: s.rollback(to="4"),
    lambda s: s.append({"role": "user", "content": "more"}),
)


def change(path: Path, sql: str, *values: object) -> None:
    raw = sqlite3.connect(path)
    raw.execute("DROP TRIGGER events_no_update")
    raw.execute(sql, values)
    raw.commit()
    raw.close()


@pytest.mark.parametrize("name", SWAPPED)
def test_an_event_that_does_not_fit_is_damage(tmp_path: Path, name: str) -> None:
    path = tmp_path / "ledger.db"
    story = Story(open_ledger(path))
    for text in ("one", "two", "three", "four"):
        story.say(text)
    story.ledger.close()
    change(path, "UPDATE events SET data = ? WHERE version = 4", pack_event(SWAPPED[name]))
    with Ledger.open(path) as ledger:
        session = ledger.find("story")
        with pytest.raises(CorruptLedger):
            session.window(4)
        for use in USES:
            with suppress(LedgerError):  # anything else is a defect
                use(session)
        assert [e.text for e in session.window(3).entries] == ["one", "two"]
        assert not verify(ledger.store).ok


def test_names_are_not_made_from_events_of_another_type(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    story = Story(open_ledger(path))
    story.say("one")
    story.ledger.close()
    change(path, "UPDATE events SET type = 'session_opened' WHERE version = 2")
    raw = sqlite3.connect(path)
    raw.execute("DELETE FROM session_rows")
    raw.commit()
    raw.close()
    with pytest.raises(CorruptLedger):
        Ledger.open(path)
    with Ledger.open(path, "read") as ledger:
        assert not verify(ledger.store).ok
