"""After a redaction the bytes are nowhere; before it everything; in between nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.events import ContentRedacted
from ctxledger.ledger.exporting.native import native_lines
from ctxledger.ledger.finding.catalogue import session_rows
from ctxledger.ledger.finding.searching import search
from ctxledger.ledger.importing import import_file
from ctxledger.ledger.integrity.verify import verify
from ctxledger.ledger.redacting import plan_redaction, redact
from ctxledger.ledger.redaction_orders import (
    order_item,
    order_pattern,
    order_secrets,
    order_text,
)
from ctxledger.ledger.secrets import KINDS

from .planted import (
    LINES,
    SECRET,
    Planter,
    assert_gone,
    bytes_of,
    packed_of,
    pieces,
    planted,
    tell,
    unpacked_of,
)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.db") as opened:
        yield opened


def test_500_planted_secrets_are_in_no_file_afterwards(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / f"notes {Planter(9).secret('github')[0]}.jsonl"
    secrets = [*planted(path), Planter(9).secret("github")[0]]
    report = import_file(ledger, path)
    assert report.quarantined == 0
    assert search(ledger, "some tool")
    session = ledger.find("work")
    before = [entry.item for entry in session.window().entries]
    ledger.tokens.count({})
    assert session.window().tokens
    old = [blob for blob in packed_of(ledger.db) if len(blob) > 200]
    assert any(piece in unpacked_of(ledger.db) for piece in pieces(secrets[0]))
    with Ledger.open(tmp_path / "ledger.db", "read") as reader:
        assert reader.find("work").window().entries
        plan = redact(ledger, order_secrets())
        assert set(KINDS) <= set(plan.counts)
        assert_gone(ledger, tmp_path, secrets)
        shown = reader.find("work").window()
        assert [entry.item for entry in shown.entries] == before
        assert "[redacted:anthropic]" in shown.text()
    kept = set(packed_of(ledger.db))
    files = bytes_of(tmp_path)
    for blob in old:
        if blob not in kept:
            assert blob[100:140] not in files, "packed contents in a free page"
    found = verify(ledger.store)
    assert (found.problems, found.redacted > 100, found.masked_bytes > 1000) == ((), True, True)
    assert [row.title for row in session_rows(ledger.store)]
    assert search(ledger, "some tool")
    list(native_lines(ledger.find("work")))
    assert_gone(ledger, tmp_path, secrets)


def test_the_recording_stays_json_and_importing_it_again_adds_nothing(
    ledger: Ledger, tmp_path: Path
) -> None:
    path = tmp_path / "work.jsonl"
    planted(path, 72)
    import_file(ledger, path)
    redact(ledger, order_secrets())
    out = b"".join(ledger.sources.read(1))
    assert len(out) == path.stat().st_size
    for line, original in zip(out.splitlines(), path.read_bytes().splitlines(), strict=True):
        assert json.loads(line).keys() == json.loads(original).keys()
    again = import_file(ledger, path)
    assert (again.new_records, again.is_known) == (0, True)
    assert "redacted" in again.warnings[0]
    with path.open("ab") as file:
        file.write(b'{"role":"user","content":"more"}\n')
    assert import_file(ledger, path).new_records == 1
    copy = tmp_path / "exported.jsonl"
    copy.write_bytes(out)
    assert import_file(ledger, copy).conflicts == 0
    assert verify(ledger.store).ok


def test_a_known_record_with_an_id_is_not_taken_back_from_another_file(
    ledger: Ledger, tmp_path: Path
) -> None:
    tell(ledger, tmp_path, *LINES)
    redact(ledger, order_secrets())
    session = tell(ledger, tmp_path, {"type": "session", "name": "work", "model": "m"}, *LINES[1:])
    assert SECRET not in session.window().text()
    assert session.window().entries[0].text == "the key is [redacted:github], keep it"
    assert not list(session.events(types=("record_quarantined",)))


def test_each_session_gets_an_event_without_free_text(ledger: Ledger, tmp_path: Path) -> None:
    session = tell(ledger, tmp_path, *LINES)
    version = session.version
    plan = redact(ledger, order_secrets(), note=f"leaked: {SECRET}")
    (stored,) = session.events(after=version, to=2**60, types=("content_redacted",))
    event = stored.event
    assert isinstance(event, ContentRedacted)
    assert event.items == ("2.0", "3.0", "4.0")
    assert dict(event.kinds) == {"github": 4}
    assert len(event.bodies) == len(event.instead) == 4
    assert (event.sources, event.masked_bytes) == ((1,), plan.masked_bytes)
    assert event.note is not None
    assert ledger.store.bodies.get(event.note) == b"leaked: [redacted:github]"
    assert [row.title for row in session_rows(ledger.store)] == ["with [redacted:github]"]
    assert {entry.form for entry in session.window().entries} == {"redacted"}


def test_an_item_goes_as_a_whole_and_its_words_wherever_they_stand(
    ledger: Ledger, tmp_path: Path
) -> None:
    words = "the customer lives at 7 Elm Street"
    session = tell(
        ledger, tmp_path, {"type": "session", "name": "work"},
        {"id": "u1", "role": "user", "content": words, "meta": {"file": "/home/somebody/x.txt"}},
        {"id": "u2", "role": "user", "content": f"I repeat: {words}."},
        {"id": "u3", "role": "user", "content": "yes"},
    )  # fmt: skip
    redact(ledger, order_item(session, "2.0"))
    assert [e.text for e in session.window().entries] == [
        "[redacted]", "I repeat: [redacted:item].", "yes",
    ]  # fmt: skip
    left = unpacked_of(ledger.db)
    assert b"Elm Street" not in left
    assert b"somebody" not in left
    redact(ledger, order_item(session, "4.0"))
    assert b'"yes"' not in unpacked_of(ledger.db)
    assert b'"role": "user"' in unpacked_of(ledger.db)
    assert import_file(ledger, tmp_path / "s.jsonl").new_records == 0
    assert verify(ledger.store).ok


def test_an_item_of_a_fork_goes_from_the_parents_recording(ledger: Ledger, tmp_path: Path) -> None:
    lines = ({"type": "session", "name": "p"}, {"role": "user", "content": "short", "id": "u"})
    fork = ledger.fork(tell(ledger, tmp_path, *lines))
    redact(ledger, order_item(fork, "2.0"))
    assert b"short" not in unpacked_of(ledger.db)
    assert ledger.find("p").window().text().endswith("[redacted]")
    assert verify(ledger.store).ok


@pytest.mark.parametrize("item", ["3.0", "4.0"])
def test_whole_calls_and_results_still_render(ledger: Ledger, tmp_path: Path, item: str) -> None:
    session = tell(ledger, tmp_path, *LINES)
    redact(ledger, order_item(session, item))
    json.dumps(session.render().body)
    list(native_lines(session))
    assert session.window().tokens


def test_a_pattern_is_matched_in_words_not_in_their_escapes(ledger: Ledger, tmp_path: Path) -> None:
    session = tell(
        ledger, tmp_path, {"type": "session", "name": "work"},
        {"role": "user", "content": "naïve \"CUST-0001\"\nCUST-0002", "id": "x"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t", "name": "n", "input": {"CUST-0003": 4111111111111111}},
        ]},
    )  # fmt: skip
    plan = redact(ledger, order_pattern(r"CUST-\d{4}|4111\d+|naïve"))
    assert plan.counts == {"pattern": 5}
    left = unpacked_of(ledger.db)
    assert not any(word in left for word in (b"CUST-", b"41111", "naïve".encode(), b"\\u00efve"))
    assert '"[redacted:pattern]":"[redacted:pattern]"' in session.window().text()
    for line in b"".join(ledger.sources.read(1)).splitlines():
        json.loads(line)


def test_a_second_redaction_goes_on_from_the_first(ledger: Ledger, tmp_path: Path) -> None:
    session = tell(ledger, tmp_path, *LINES)
    redact(ledger, order_secrets())
    redact(ledger, order_text("keep it"))
    assert session.window().entries[0].text == "the key is [redacted:github], [redacted:text]"
    assert verify(ledger.store).ok
    assert plan_redaction(ledger, order_secrets()).is_empty


def test_only_a_session_and_its_sources(ledger: Ledger, tmp_path: Path) -> None:
    tell(ledger, tmp_path, *LINES)
    other = tell(ledger, tmp_path, {"type": "session", "name": "o"}, LINES[1], name="o.jsonl")
    redact(ledger, order_secrets(ledger.find("work")))
    assert SECRET in other.window().text()
    assert SECRET not in ledger.find("work").window().text()
    assert verify(ledger.store).ok


def test_names_in_events_cannot_go_and_are_counted(ledger: Ledger) -> None:
    session = ledger.session("customer-77")
    session.append({"role": "user", "content": "about customer-77"})
    plan = redact(ledger, order_text("customer-77"))
    assert plan.names_left >= 1
    assert session.window().text().endswith("about [redacted:text]")


def test_an_actor_that_holds_it_is_counted_too(ledger: Ledger, tmp_path: Path) -> None:
    line = {"id": "u1", "role": "user", "content": "nothing here", "actor": SECRET}
    tell(ledger, tmp_path, line)
    assert redact(ledger, order_secrets()).names_left == 1
    assert plan_redaction(ledger, order_secrets()).names_left == 1
    common = plan_redaction(ledger, order_text("user"))
    assert common.names_left == 0  # roles and actors of every session are no names


def test_a_session_named_after_a_file_never_has_its_secret(ledger: Ledger, tmp_path: Path) -> None:
    tell(ledger, tmp_path, *LINES[1:], name=f"{SECRET}.jsonl")
    assert [name for _, name in ledger.store.session_names()] == ["redacted-github"]
    redact(ledger, order_secrets())
    assert SECRET.encode() not in unpacked_of(ledger.db) + bytes_of(tmp_path)
    (source,) = ledger.sources.all()
    assert source.name.endswith("[redacted:github].jsonl")
    assert verify(ledger.store).ok


@pytest.mark.parametrize("change", [
    "UPDATE bodies SET instead = (SELECT max(key) FROM bodies) WHERE data IS NULL",
    "UPDATE bodies SET instead = NULL WHERE data IS NULL",
    "UPDATE bodies SET instead = key WHERE data IS NOT NULL",
])  # fmt: skip
def test_what_is_read_instead_can_only_be_set_once(
    ledger: Ledger, tmp_path: Path, change: str
) -> None:
    from ctxledger.ledger import CorruptLedger

    tell(ledger, tmp_path, *LINES)
    redact(ledger, order_secrets())
    with pytest.raises(CorruptLedger, match="only ever redacted"), ledger.db.transaction():
        ledger.db.execute(change)
    with ledger.db.transaction():
        ledger.db.execute("DROP TRIGGER bodies_only_redacted")
        ledger.db.execute(change)
    problems = [p.problem for p in verify(ledger.store).problems]
    assert any("contents" in problem for problem in problems)
