"""Pictures that a person reads: SVG of the main screens.

`CTXLEDGER_UPDATE_PICTURES=1` writes them anew. The words must be equal always; every byte must
be equal where the picture was drawn by the same version of Textual.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import textual

PICTURES = Path(__file__).parent / "pictures"
UPDATE = "CTXLEDGER_UPDATE_PICTURES"
PICTURE_BYTES_MAX = 60_000
SCENES: dict[str, tuple[tuple[int, int], list[str]]] = {
    "sessions": ((110, 24), ["escape"]),
    "session-wide": ((124, 25), ["left_square_bracket"]),
    "session-80x24": ((80, 24), []),
    "item": ((100, 26), ["ctrl+g", "=8", "enter", "enter"]),
    "diff": ((110, 26), ["left_square_bracket", "d"]),
    "search": ((100, 20), ["slash", "=auth"]),
    "roll-back": ((110, 28), ["left_square_bracket", "u"]),
    "help": ((100, 44), ["question_mark"]),
}


def words_of(svg: str) -> str:
    """The text of a picture, line by line."""
    lines: dict[float, str] = {}
    for y, words in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        lines[float(y)] = lines.get(float(y), "") + html.unescape(words).replace("\xa0", " ")
    return "\n".join(lines[y].rstrip() for y in sorted(lines))


def compare(name: str, svg: str) -> None:
    """Fail when a picture is not the one that is kept, saying how its words differ."""
    path = PICTURES / f"{name}.svg"
    drawn = f"<!-- drawn by textual {textual.__version__} -->\n{svg}"
    if os.environ.get(UPDATE):
        PICTURES.mkdir(exist_ok=True)
        path.write_text(drawn, "utf-8")
    kept = path.read_text("utf-8")
    assert len(kept.encode()) < PICTURE_BYTES_MAX
    assert words_of(svg) == words_of(kept)
    if kept.splitlines()[0] == drawn.splitlines()[0]:
        assert drawn == kept, f"{name}: the words are equal, the colours are not"


@pytest.mark.parametrize("name", SCENES)
def test_the_screen_looks_as_it_was_approved(
    name: str,
    story: Path,
    run: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)
    size, keys = SCENES[name]

    async def scenario(see: Any) -> None:
        for key in keys:
            await (see.type(key[1:]) if key.startswith("=") else see.press(key))
        for field in see.app.screen.query("Input"):
            field.cursor_blink = False
        await see.pilot.pause()
        await see.settle()
        compare(name, see.app.export_screenshot())

    run(story.name, scenario, size=size, session="@")


def test_a_wrong_picture_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(UPDATE, raising=False)
    kept = (PICTURES / "help.svg").read_text("utf-8").partition("\n")[2]
    with pytest.raises(AssertionError):
        compare("help", kept.replace("Everywhere", "Elsewhere"))
    with pytest.raises(AssertionError):
        compare("help", re.sub(r"fill: #[0-9a-f]{6}", "fill: #123456", kept))
