"""Transcripts of a played client: what the ledger says each call saw is what it saw."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.events import ModelCalled, WindowCompacted
from ctxledger.ledger.finding.statistics import session_numbers
from ctxledger.ledger.import_report import Report
from ctxledger.ledger.importing import import_file, open_pipe
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.render.anthropic_rules import check_request
from ctxledger.ledger.session import Session

from .test_cuts import counting_entropy, open_ledger, state_of
from .transcripts import Client, Row, as_bytes

SEEDS = range(60)
CLEARED = "[Old tool result content cleared]"


def take(ledger: Ledger, data: bytes) -> Report:
    reader = open_pipe(ledger, data, name="t", format_name="claude-code")
    reader.push(data)
    return reader.finish()


def messages_at(session: Session, at: str | int) -> list[str]:
    """Ids of the messages in a window, in order."""
    return list(dict.fromkeys(entry.message for entry in session.window(at).entries))


def damaged(rows: list[Row], chance: random.Random) -> bytes:
    """The same records as broken writers leave them: glued, torn, padded, twice, CRLF."""
    end = chance.choice((b"\n", b"\r\n"))
    out = b""
    for row in rows:
        line = as_bytes([row], b"")
        torn = line[: chance.randrange(1, len(line))]
        out += chance.choices(
            (line + end, line, torn + end + line + end, b"\0\0" + line + end, end + line + end,
             line + end + line + end),
            (80, 4, 4, 4, 4, 4),
        )[0]  # fmt: skip
    return out


@pytest.mark.parametrize("seed", SEEDS)
def test_each_call_saw_what_the_client_sent(seed: int) -> None:
    client = Client(seed)
    data = as_bytes(client.play(turns=8))
    with Ledger.open() as ledger:
        assert take(ledger, data).quarantined == 0
        session = ledger.find("s")
        calls = session.events(types=("model_called",))
        found = {e.event.call: e.version for e in calls if isinstance(e.event, ModelCalled)}
        seen = {call: messages_at(session, version) for call, version in found.items()}
        assert seen == client.seen
        compactions = [e for e in session.events() if isinstance(e.event, WindowCompacted)]
        assert len(compactions) == len(client.compactions)
        for number, (before, after) in enumerate(client.compactions, 1):
            assert messages_at(session, f"c{number}^") == before
            assert messages_at(session, f"c{number}") == after


@pytest.mark.parametrize("seed", SEEDS[:20])
def test_usage_counts_once_and_never_that_of_subagents(seed: int) -> None:
    client = Client(seed)
    data = as_bytes(client.play(turns=8))
    with Ledger.open() as ledger:
        take(ledger, data)
        session = ledger.find("s")
        used = session_numbers(session, session.version).used
        assert used.input + used.cache_read == sum(read for read, _ in client.usage.values())
        assert used.output == sum(written for _, written in client.usage.values())
        for agent, messages in client.agents.items():
            child = ledger.find(agent)
            assert messages_at(child, "head") == messages
            assert (child.opened.relation, child.opened.parent) == ("subagent", session.id)


@pytest.mark.parametrize("seed", SEEDS[:20])
def test_cleared_results_stay_cleared_wherever_the_client_goes(seed: int) -> None:
    client = Client(seed)
    data = as_bytes(client.play(turns=10))
    answers = {client.answers[tool] for tool in client.cleared}
    with Ledger.open() as ledger:
        take(ledger, data)
        shown = [e for e in ledger.find("s").window().entries if e.message in answers]
        assert {entry.text for entry in shown} <= {CLEARED}


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_cut_anywhere_damaged_undone_and_gone_on(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    rows = Client(seed).play(turns=6)
    data = damaged(rows, chance) if seed % 2 else as_bytes(rows)
    data += b"" if data.endswith(b"\n") else b"\n"
    more = as_bytes([{**rows[0], "uuid": "more", "parentUuid": rows[-1].get("uuid")}])
    path = tmp_path / "t.jsonl"
    states: list[list[str]] = []
    first = data.index(b"\n") + 1
    cuts = sorted({chance.randrange(first, len(data)) for _ in range(8)})
    for name, ends in (("whole", [len(data)]), ("cut", [*cuts, len(data), len(data)])):
        entropy = counting_entropy()
        for end in ends:
            path.write_bytes(data[:end])
            with open_ledger(tmp_path / f"{name}.db", entropy) as ledger:
                report = import_file(ledger, path)
        with open_ledger(tmp_path / f"{name}.db", entropy) as ledger:
            states.append(state_of(ledger))
            assert b"".join(ledger.sources.read(1)) == data
    assert report.new_records == 0
    assert states[0] == states[1]
    with Ledger.open(tmp_path / "cut.db") as ledger, Ledger.open(tmp_path / "whole.db") as whole:
        session = ledger.find("s")
        numbers = [e.event.number for e in session.events() if isinstance(e.event, WindowCompacted)]
        for number in reversed(numbers):
            session.rollback(f"c{number}")
            assert check_request(session.render().body) == ()
        path.write_bytes(data + more)
        import_file(ledger, path)
        import_file(whole, path)
        assert messages_at(ledger.find("s"), "head") == messages_at(whole.find("s"), "head")
        called = [e.version for e in session.events(types=("model_called",))]
        for version in called[:1] + chance.sample(called, min(3, len(called))):
            assert check_request(session.render(version).body) == ()
        assert verify(ledger.store).ok
