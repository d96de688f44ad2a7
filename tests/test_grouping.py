"""What entries are about."""

from __future__ import annotations

from typing import Any

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.views.grouping import GROUPS, About, describe

FOLDER = "/home/me/project"


def about(*messages: dict[str, Any]) -> list[About]:
    with Ledger.open() as ledger:
        session = ledger.session("s")
        for message in messages:
            session.append(message)
        view = session.window()
        return list(describe(view.entries, FOLDER).values())


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    block = {"type": "tool_use", "id": "t1", "name": name, "input": arguments}
    return {"role": "assistant", "content": [block]}


def result(text: str, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": text, **fields}
    return {"role": "user", "content": [block]}


def test_what_a_person_wrote_is_a_rule() -> None:
    assert about({"role": "user", "content": "Never touch\nproduction."}) == [
        About("rules", "Never touch production.")
    ]


def test_a_slash_command_reads_as_it_was_typed() -> None:
    text = "<command-message>x</command-message> <command-name>/review</command-name>"
    arguments = "<command-args>169 now</command-args>"
    assert about({"role": "user", "content": text + arguments})[0].subject == "/review 169 now"


@pytest.mark.parametrize(
    ("name", "arguments", "group", "subject"),
    [
        ("Read", {"file_path": f"{FOLDER}/src/a.py"}, "files", "Read src/a.py"),
        ("Read", {"file_path": "/etc/hosts"}, "files", "Read /etc/hosts"),
        ("Grep", {"pattern": "TODO", "path": f"{FOLDER}/src"}, "files", "Grep TODO src"),
        ("str_replace_based_edit_tool", {"command": "view", "path": "/a"}, "files",
         "str_replace_based_edit_tool /a"),
        ("Bash", {"command": "ls\n  -la"}, "commands", "$ ls -la"),
        ("shell", {"command": ["ls", "-la"]}, "commands", "$ ls -la"),
        ("mystery", {"cmd": "make"}, "commands", "mystery make"),
        ("TodoWrite", {"todos": [{"content": "a"}, {"content": "b"}]}, "todos",
         "TodoWrite 2 entries"),
        ("TaskUpdate", {"subject": "ship it"}, "todos", "TaskUpdate ship it"),
        ("WebSearch", {"query": "prices"}, "other", "WebSearch prices"),
        ("Nothing", {}, "other", "Nothing"),
    ],
)  # fmt: skip
def test_a_call_is_about_what_it_touches(
    name: str, arguments: dict[str, Any], group: str, subject: str
) -> None:
    (found,) = about(call(name, arguments))
    assert (found.group, found.subject) == (group, subject)


def test_a_result_belongs_to_the_file_of_its_call() -> None:
    read = about(call("Read", {"file_path": f"{FOLDER}/a.py"}), result("x\ny"))[1]
    assert read == About("files", "Read result a.py (2 lines)", "a.py")


def test_a_result_whose_call_is_not_shown_is_other() -> None:
    assert about(result("words"))[0] == About("other", "result result: words")


def test_an_error_is_an_error_whatever_its_tool_did() -> None:
    failed = about(call("Bash", {"command": "false"}), result("Exit code 1\nno", is_error=True))
    assert [entry.group for entry in failed] == ["commands", "errors"]
    assert failed[1].subject == "Exit code 1 no"


def test_a_refusal_shows_what_the_user_said() -> None:
    text = "The user doesn't want to proceed. To tell you how to proceed, the user said:\nuse main"
    assert about(result(text, is_error=True))[0].subject == "refused by the user: use main"


def test_hostile_text_makes_a_subject(hostile_text: str) -> None:
    found = about({"role": "user", "content": hostile_text + "x"}, result(hostile_text))
    assert all(entry.group in GROUPS and "\n" not in entry.subject for entry in found)


def test_tool_input_that_is_no_object_is_no_obstacle() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "Read", "input": ["a", 1]}
    assert about({"role": "assistant", "content": [block]})[0].subject == "Read"
