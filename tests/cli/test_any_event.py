"""Every type of event and every kind of removed contents can be shown by every reading command."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.content import to_json
from ctxledger.ledger.events import ContentRedacted, Delta, SessionOpened
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.events import body_keys

from ..store.examples import EXAMPLES
from ..story import open_ledger
from .conftest import FIXTURES, Run

FORMATS = ("text", "json", "anthropic")


def redact_all(ledger: Ledger) -> None:
    """Remove all contents, as a redaction does, with an event in each session."""
    keys = tuple(bytes(row[0]) for row in ledger.db.rows("SELECT key FROM bodies"))
    with ledger.store.transaction():
        ledger.db.execute("UPDATE bodies SET data = NULL, salt = NULL, lookup = NULL")
        for session, _ in ledger.store.session_names():
            redacted = ContentRedacted(bodies=keys, reason="secret")
            ledger.store.append(session, None, [(redacted, "operator")])


def test_every_type_of_event_has_a_line(run: Run, db: Path) -> None:
    with open_ledger(db) as ledger:
        session = ledger.session("all")
        session.append({"role": "user", "content": "x"})
        with ledger.store.transaction():
            for example in EXAMPLES:
                for key in set(body_keys(example)):
                    ledger.db.execute(
                        "INSERT INTO bodies(key, size) SELECT ?1, 1"
                        " WHERE NOT EXISTS (SELECT 1 FROM bodies WHERE key = ?1)",
                        (key,),
                    )
                if not isinstance(example, SessionOpened):
                    event = example
                    for field in ("delta", "effective"):
                        if getattr(example, field, None) is not None:
                            event = msgspec.structs.replace(event, **{field: Delta()})
                    ledger.store.append(session.id, None, [(event, "agent")])
        head = session.refresh()
    assert head == len(EXAMPLES) + 1
    for command in (["log", "all"], ["log", "all", "--json"], ["stats", "all"]):
        assert run(*command).exit_code == 0, command
    for version in range(1, head + 1):
        shown = run("show", "all", version)
        if shown.exit_code:
            assert shown.stderr.startswith("ctxledger: There is no source"), shown.output


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.glob("*.[jy]*")))
def test_redacted_contents_break_no_command(run: Run, db: Path, name: str) -> None:
    with open_ledger(db) as ledger:
        import_file(ledger, FIXTURES / name)
        redact_all(ledger)
        session = ledger.find("@")
        entries = session.window().entries
        calls = list(session.events(types=("model_called",)))
    commands = [
        ["sessions"], ["log", "@"], ["log", "@", "--json"], ["stats", "@"], ["stats"], ["verify"],
        *(["window", "@", "--format", form] for form in FORMATS), ["window", "@", "--full"],
        ["window", "@", "--view", "effective"], ["diff", "@", "1", "head", "--all"],
        ["export", "@", "--format", "events"], ["export", "@", "--format", "anthropic"],
        ["export", "@", "--format", "original"], ["rollback", "@", "--to", "2", "--dry-run"],
        ["rebuild"], *(["show", "@", str(call.version)] for call in calls),
        *(["show", "@", entry.item] for entry in entries),
        *(["show", "@", entry.item, "--json"] for entry in entries),
        *(["blame", "@", entry.item] for entry in entries[:3]),
    ]  # fmt: skip
    for command in commands:
        done = run(*command)
        assert (done.exit_code, done.exception) == (0, None), (command, done.output)
    for call in calls:
        sent = run("window", "@", "--at", call.version, "--format", "anthropic")
        if sent.exit_code:
            assert sent.exit_code == 2
            assert "redacted" in sent.stderr


def test_a_redacted_tool_stays_defined_and_its_calls_stay_answered(db: Path) -> None:
    with open_ledger(db) as ledger:
        session = ledger.session("work", model="m")
        session.set_tools([{"name": "read", "input_schema": {"type": "object"}}])
        call = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "secret"}}
        result = {"type": "tool_result", "tool_use_id": "t1", "content": [], "is_error": False}
        session.append({"role": "user", "content": "read it"})
        session.append({"role": "assistant", "content": [call | {"caller": {"type": "direct"}}]})
        session.append({"role": "user", "content": [result]})
        redact_all(ledger)
        body = session.render().body
    assert "secret" not in to_json(body)
    assert body["tools"][0]["name"] == "read"
    assert body["messages"][1]["content"][0]["name"] == "read"
    (result,) = body["messages"][2]["content"]
    assert (result["tool_use_id"], result["content"]) == ("t1", "[redacted]")
