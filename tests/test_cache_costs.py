"""What a cache break costs is never more than what its call sent at full price."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.cache_breaks import CacheBreak
from ctxledger.ledger.drafts import Usage
from ctxledger.ledger.finding.caching import cache_report
from ctxledger.ledger.importing import import_file


def test_no_more_is_read_anew_than_was_sent_at_full_price() -> None:
    found = CacheBreak(
        version=9,
        number=2,
        reason="edit",
        is_seen=True,
        expected_tokens=173_214,
        read_tokens=16_606,
        full_price_tokens=44_989,
    )
    assert found.lost_tokens == 44_989


@pytest.mark.parametrize("name", ["auto-compaction", "microcompaction", "rewind"])
def test_breaks_of_recordings_fit_the_usage_of_their_calls(name: str, recordings: Path) -> None:
    with Ledger.open() as ledger:
        import_file(ledger, recordings / "claude-code" / f"{name}.jsonl")
        session = ledger.find("@")
        called = {
            getattr(stored.event, "number", 0): stored.version
            for stored in session.events(types=("model_called",))
        }
        usage: dict[int, Usage] = {}
        for stored in session.events(types=("call_completed",)):
            reported = getattr(stored.event, "usage", None)
            if reported is not None:
                usage[getattr(stored.event, "called", 0)] = reported
        breaks = [priced.found for priced in cache_report(session, session.version).breaks]
        assert any(found.lost_tokens for found in breaks)
        for found in breaks:
            of_call = usage.get(called[found.number])
            if of_call is not None:
                sent = (of_call.input_tokens or 0) + (of_call.cache_write_tokens or 0)
                assert found.lost_tokens <= sent
