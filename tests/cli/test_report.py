"""`ctxledger report`: one page for the team, in Markdown and HTML, that cannot act."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from ctxledger.cli.demo_data import write_recording
from ctxledger.ledger.exporting.page_markdown import code_span, fenced
from ctxledger.ledger.plaintext import plain

Run = Callable[..., Result]
ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "ul", "li", "table",
    "tr", "th", "td", "pre", "code", "strong",
}  # fmt: skip


class Tags(HTMLParser):
    """The elements, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def outside_of_code(page: str) -> str:
    """What a reader of Markdown would interpret: no fences, no code spans."""
    page = re.sub(r"^(`{3,})[^\n`]*\n.*?^\1$", "", page, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", page)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "demo.jsonl"
    write_recording(path)
    return path


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., Path]:
    """A native recording whose first texts were compacted."""

    def write(*texts: str, brief: str = "They talked.") -> Path:
        path = tmp_path / "told.jsonl"
        lines: list[dict[str, Any]] = [{"type": "session", "name": "told", "title": texts[0]}]
        lines += [{"id": f"u{n}", "role": "user", "content": t} for n, t in enumerate(texts)]
        sources = [f"u{n}/0" for n in range(len(texts))]
        lines.append({"type": "compact", "sources": sources, "brief": brief, "reason": "auto"})
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        return path

    return write


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_golden(run: Run, golden: Callable[[str, str], None], recording: Path, form: str) -> None:
    result = run("report", recording, "c1", "--format", form)
    assert result.exit_code == 0, result.stderr
    golden(f"report-{form}", result.stdout)


def test_it_says_what_the_user_wrote_and_the_brief_does_not(
    run: Run, told: Callable[..., Path]
) -> None:
    path = told("Never touch production.", "Use main.", brief="The rule: use main. Use main.")
    found = json.loads(run("report", path, "--json").stdout)
    (loss,) = found["lost"]
    assert loss["group"] == "rules"
    assert [(e["words"], e["in_brief"]) for e in loss["shown"]] == [
        ("Never touch production.", False),
        ("Use main.", True),
    ]
    text = run("report", path).stdout
    assert "`Never touch production.` - **not word for word in the brief**" in text


def test_its_commands_undo_it(run: Run, recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(recording.parent)
    commands = json.loads(run("report", "demo.jsonl", "--json").stdout)["undo"]["commands"]
    assert [shlex.split(command)[1] for command in commands] == ["ingest", "rollback", "rollback"]
    for command in commands:
        assert run(*shlex.split(command)[1:]).exit_code == 0
    undone = json.loads(run("report", "--json").stdout)["undo"]
    assert undone["commands"] == []
    assert "undone already" in undone["why"]
    assert run("report", "r1").stdout.startswith("# What roll-back r1 dropped\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("c9",), "There is no c9"),
        (("1",), "did not change the window"),
        (("c1", "c2", "x"), "too"),
    ],
)
def test_what_cannot_be_reported_is_exit_2(
    run: Run, recording: Path, arguments: tuple[str, ...], words: str
) -> None:
    result = run("report", recording, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_without_a_compaction_it_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"role": "user", "content": "x"}\n')
    result = run("report", tmp_path / "s.jsonl")
    assert result.exit_code == 2
    assert "no compaction" in result.stderr


def test_secrets_are_hidden_before_texts_are_cut(run: Run, told: Callable[..., Path]) -> None:
    secret = "sk-ant-api03-" + "a1B2" * 20
    password = "correct7horse"
    path = told(
        f"{'x' * 390} {secret}", f"use {secret}", f"psql postgres://me:{password}@db/x",
        f"it is {password}", brief=f"{'y' * 1990} {secret}",
    )  # fmt: skip
    for form in ("markdown", "html"):
        page = run("report", path, "--format", form).stdout
        assert "sk-ant" not in page
        assert password not in page
        assert "it is [redacted:url]" in page
        assert "hidden in 6 places" in page  # the title, four texts, the brief
        assert "sk-ant" in run("report", path, "--format", form, "--with-secrets").stdout
    assert password not in run("report", path, "--json").stdout


def test_a_secret_in_a_command_is_hidden(run: Run, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    call = {"type": "tool_use", "id": "t", "name": "Bash",
            "input": {"command": f"curl -H 'x: {secret}'\n\tu"}}  # fmt: skip
    result = {"type": "tool_result", "tool_use_id": "t", "content": f"no: {secret}",
              "is_error": True}  # fmt: skip
    lines = [
        {"id": "a", "role": "assistant", "content": [call]},
        {"id": "b", "role": "user", "content": [result]},
        {"type": "compact", "sources": ["a/0", "b/0"], "brief": "x"},
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = run("report", path).stdout
    assert "ghp_" not in page
    assert page.count("[redacted:github]") >= 2


HOSTILE = (
    "<script>x</script>",
    "</pre><img src=x onerror=alert(1)>",
    "```\n# not a heading\n```",
    "~~~\n````` `` `\n<b>",
    "[a](javascript:x) ![b](http://x/y.png) <http://x>",
    "| a | b |\n|---|---|",
    "=1+1",
    "`",
    "x`",
    "\\`",
    "&lt;script&gt; &amp;",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_recorded_text_cannot_act(run: Run, told: Callable[..., Path], text: str) -> None:
    path = told(text, brief=f"{text}\n{text}")
    page = run("report", path, "--format", "html").stdout
    found = Tags(page)
    assert found.names <= ALLOWED
    assert found.attributes <= {"lang", "charset", "http-equiv", "content", "name"}
    assert f"{text}\n{text}" in found.texts
    left = outside_of_code(run("report", path).stdout)
    harmless = outside_of_code(run("report", told("hello", brief="hello")).stdout)
    for mark in ("<", "[", "javascript", "~~~", "not a heading"):
        assert left.count(mark) == harmless.count(mark)
    assert left.count("\n#") == harmless.count("\n#")


def test_hostile_text_is_visible_in_both_forms(
    run: Run, told: Callable[..., Path], hostile_text: str
) -> None:
    path = told(f"{hostile_text}.", brief=f"{hostile_text}!")
    for form in ("markdown", "html"):
        result = run("report", path, "--format", form)
        assert result.exit_code == 0, result.stderr
        assert plain(result.stdout) == result.stdout


@pytest.mark.parametrize("text", ["", "`", "``", " a ", "a`b", "`a``b```"])
def test_code_and_fences_are_longer_than_what_they_hold(text: str) -> None:
    span = code_span(text)
    ticks = re.match("`+", span)
    assert ticks is not None
    assert span.endswith(ticks[0])
    inside = span[len(ticks[0]) : -len(ticks[0])]
    assert inside.strip() == text.strip()
    assert ticks[0] not in inside
    fence, *lines, end = fenced(f"{text}\n```\n````").splitlines()
    assert fence == end == "`" * max(5, len(ticks[0]))
    assert lines == [text, "```", "````"]


def test_html_suits_any_encoding(told: Callable[..., Path]) -> None:
    import os
    import subprocess
    import sys

    path = told("héllo 中文", brief="ü")
    ran = subprocess.run(
        [sys.executable, "-m", "ctxledger.cli", "report", str(path), "--format", "html"],
        capture_output=True, check=True, env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert "héllo 中文" in Tags(ran.stdout.decode("ascii")).texts


def test_an_eviction_is_reported_with_what_stands_in_its_place(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = [
        {"type": "session", "name": "told"},
        {"id": "a", "role": "user", "content": "one two three four five"},
        {"type": "evict", "items": ["a/0"], "placeholder": "[gone]", "reason": "old"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = json.loads(run("report", path, "e1", "--json").stdout)
    assert (found["kind"], found["dropped"], found["brief_item"]) == ("eviction", 1, "")
    assert found["lost"][0]["shown"][0]["words"] == "one two three four five"
    assert found["lost"][0]["shown"][0]["in_brief"] is None
    assert "not word for word" not in run("report", path, "e1").stdout


def test_a_covered_compaction_says_how_both_are_undone(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = [
        {"type": "session", "name": "told"},
        {"id": "a", "role": "user", "content": "one"},
        {"type": "compact", "id": "b", "sources": ["a/0"], "brief": "first"},
        {"type": "compact", "sources": ["b/0"], "brief": "second"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "ctxledger rollback told c1 c2" in run("report", path, "c1").stdout
    assert json.loads(run("report", path, "--json").stdout)["handle"] == "c2"


def test_a_fork_reports_what_its_parent_compacted(run: Run, recording: Path) -> None:
    run("ingest", recording, "--session", "demo")
    run("fork", "demo", "--at", "c1", "--name", "child")
    mine, parents = (json.loads(run("report", s, "c1", "--json").stdout) for s in ("child", "demo"))
    assert mine["lost"] == parents["lost"]
    assert mine["session"] == "child"
