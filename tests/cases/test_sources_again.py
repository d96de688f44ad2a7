"""The same recording again: rewritten, cut, copied, with other line ends; and two at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxledger.ledger.importing import import_file, open_pipe
from ctxledger.ledger.integrity.verify import verify

from .conftest import Told, texts

Line = dict[str, Any]
BARE = [{"role": "user", "content": text} for text in ("one", "go on", "two", "go on")]
NAMED = [{**line, "id": f"u{n}"} for n, line in enumerate(BARE)]


def write(path: Path, lines: list[Line], end: str = "\n") -> Path:
    path.write_bytes("".join(json.dumps(line) + end for line in lines).encode())
    return path


@pytest.fixture(params=[BARE, NAMED], ids=["without ids", "with ids"])
def lines(request: pytest.FixtureRequest) -> list[Line]:
    return list(request.param)


def test_a_copy_under_another_name_adds_nothing(told: Told, tmp_path: Path, lines: Any) -> None:
    import_file(told.ledger, write(tmp_path / "a.jsonl", lines))
    report = import_file(told.ledger, write(tmp_path / "b.jsonl", lines))
    assert (report.is_known, report.new_records) == (True, 0)
    assert [name for _, name in told.ledger.store.session_names()] == ["a"]


def test_a_known_file_with_another_session_name_says_so(
    told: Told, tmp_path: Path, lines: Any
) -> None:
    path = write(tmp_path / "a.jsonl", lines)
    import_file(told.ledger, path)
    report = import_file(told.ledger, path, session="other")
    assert report.new_records == 0
    assert "--session was not used" in report.warnings[0]
    assert import_file(told.ledger, path, session="other", is_again=True).new_records == 4
    assert texts(told.ledger.find("other")) == ["one", "go on", "two", "go on"]


def test_other_line_ends_make_no_other_records(told: Told, tmp_path: Path, lines: Any) -> None:
    path = write(tmp_path / "a.jsonl", lines)
    import_file(told.ledger, path)
    longer = [*lines, {"role": "user", "content": "new"}]
    report = import_file(told.ledger, write(path, longer, "\r\n"))
    assert report.duplicates == 4
    assert texts(told.ledger.find("a")) == ["one", "go on", "two", "go on", "new"]


@pytest.mark.parametrize("end", ["", "\r", " "])
def test_a_last_line_that_gets_its_end_later(
    told: Told, tmp_path: Path, lines: Any, end: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(lines[0]) + end)
    import_file(told.ledger, path)
    path.write_text(json.dumps(lines[0]) + end + "\n" + json.dumps(lines[1]) + "\n")
    report = import_file(told.ledger, path)
    assert report.is_known
    assert texts(told.ledger.find("a")) == ["one", "go on"]
    assert b"".join(told.ledger.sources.read(1)) == path.read_bytes()


def test_several_records_in_the_first_line(told: Told, tmp_path: Path, lines: Any) -> None:
    path = tmp_path / "a.jsonl"
    one, two, three = map(json.dumps, lines[:3])
    path.write_text(f"{one}{two}\n{three}\n")
    import_file(told.ledger, path)
    assert import_file(told.ledger, path).new_records == 0
    assert texts(told.ledger.find("a")) == ["one", "go on", "two"]


def test_a_rewritten_past_adds_only_what_is_new(told: Told, tmp_path: Path, lines: Any) -> None:
    path = write(tmp_path / "a.jsonl", lines)
    import_file(told.ledger, path)
    changed = [lines[0], {"role": "user", "content": "other", "id": "u9"}, *lines[2:]]
    report = import_file(told.ledger, write(path, changed))
    assert "its past was changed" in report.warnings[0]
    assert report.duplicates == 3
    assert texts(told.ledger.find("a")) == ["one", "go on", "two", "go on", "other"]
    assert import_file(told.ledger, path).new_records == 0


def test_a_changed_record_with_its_old_id_is_kept_and_reported(told: Told, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", NAMED)
    import_file(told.ledger, path)
    changed = [NAMED[0], {**NAMED[1], "content": "forged"}, *NAMED[2:]]
    report = import_file(told.ledger, write(path, changed))
    assert (report.conflicts, report.quarantined, report.duplicates) == (1, 1, 3)
    assert "forged" not in texts(told.ledger.find("a"))
    assert verify(told.ledger.store).ok


def test_a_line_that_was_mended_is_taken(told: Told, tmp_path: Path) -> None:
    broken = [NAMED[0], {"role": "user", "id": "u1"}]
    path = write(tmp_path / "a.jsonl", broken)
    assert import_file(told.ledger, path).quarantined == 1
    report = import_file(told.ledger, write(path, NAMED))
    assert (report.conflicts, report.quarantined) == (0, 0)
    assert texts(told.ledger.find("a")) == ["one", "go on", "two", "go on"]


def test_a_shrunk_file_that_grows_again(told: Told, tmp_path: Path, lines: Any) -> None:
    path = write(tmp_path / "a.jsonl", lines)
    import_file(told.ledger, path)
    report = import_file(told.ledger, write(path, lines[:2]))
    assert report.new_records == 0
    assert "shorter" in report.warnings[0]
    other = {"role": "user", "content": "other", "id": "u9"}
    import_file(told.ledger, write(path, [*lines[:2], other]))
    assert texts(told.ledger.find("a")) == ["one", "go on", "two", "go on", "other"]
    assert import_file(told.ledger, write(path, lines)).new_records == 0


def test_two_sources_of_one_session_keep_equal_lines(told: Told, tmp_path: Path) -> None:
    first = [{"role": "user", "content": "a"}, {"role": "user", "content": "go on"}]
    second = [{"role": "user", "content": "b"}, {"role": "user", "content": "go on"}]
    for name, lines in (("1.jsonl", first), ("2.jsonl", second)):
        import_file(told.ledger, write(tmp_path / name, lines), session="S")
    assert texts(told.ledger.find("S")) == ["a", "go on", "b", "go on"]


def test_two_sources_of_one_session_share_ids(told: Told, tmp_path: Path) -> None:
    import_file(told.ledger, write(tmp_path / "1.jsonl", NAMED[:3]), session="S")
    report = import_file(told.ledger, write(tmp_path / "2.jsonl", NAMED[1:]), session="S")
    assert report.duplicates == 2
    assert texts(told.ledger.find("S")) == ["one", "go on", "two", "go on"]


def test_a_retry_inside_one_pipe_is_one_record(told: Told) -> None:
    data = "".join(json.dumps(line) + "\n" for line in (*NAMED, *NAMED[1:3])).encode()
    conflict = json.dumps({**NAMED[1], "content": "forged"}).encode() + b"\n"
    other = json.dumps({**NAMED[0], "session": "T"}).encode() + b"\n"
    for _ in range(2):
        reader = open_pipe(told.ledger, data, name="p", session="S")
        for part in (data[:90], data[90:], conflict, other):
            reader.push(part)
            reader.commit()
        report = reader.finish()
        assert (report.conflicts, report.quarantined) == (1, 1)
    assert texts(told.ledger.find("S")) == ["one", "go on", "two", "go on"]
    assert texts(told.ledger.find("T")) == ["one"], "ids belong to their session"


def test_a_retry_is_known_when_a_file_goes_on(told: Told, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", NAMED[:2])
    import_file(told.ledger, path)
    assert import_file(told.ledger, write(path, [*NAMED[:2], NAMED[1]])).duplicates == 1
    assert texts(told.ledger.find("a")) == ["one", "go on"]
