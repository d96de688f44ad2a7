r"""Untrusted text made safe to print: everything a terminal would act on becomes visible.

Recorded text is hostile: an escape sequence in a tool result writes the user's clipboard, a
bidi override reorders an approval prompt, tag characters hide instructions. `plain` comes
first wherever recorded text meets a screen. Markup such as `[bold]` is left alone: that is a
matter of the widget. Knows nothing about terminals' colours, widgets or events.

What stays although it is invisible: a joiner or variation selector inside an emoji sequence,
a joiner between two letters of an Arabic or Indic script, a newline and a tab. Flags made of
tag characters are taken apart, because the same characters smuggle text.

What becomes visible:

    ESC, NUL, CR, BEL, DEL ...              control pictures, such as U+241B for ESC
    C1 (as code points, never as bytes)     \x9b
    zero width, bidi, separators, tags ...  <U+202E>
"""

from __future__ import annotations

import re
import unicodedata

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
CHARS_PER_CELL_MAX = 16
"""`one_line` looks at most at this many characters for each cell it may fill."""

_UNSAFE_ASCII = bytes((*range(0x09), *range(0x0B, 0x20), 0x7F))
_NEWLINE_AND_TAB = re.compile(r"[\n\t]")

# Characters with an effect but no glyph, and code points that are no characters at all.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufdd0-\ufdef\ufffe\uffff"
    "\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
) + "".join(
    f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(1, 17)
)
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_SUSPECT = re.compile(f"[{_CONTROLS}{_INVISIBLE}]")

_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u231a-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_JOINING = "\u0620-\u064a\u066e-\u06d3\u0750-\u077f\u08a0-\u08c9\u0900-\u0dff"
_HARMLESS = re.compile(
    f"(?<=[{_EMOJI}])[\ufe0e\ufe0f]"
    "|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    f"|(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
)

# Wide since Unicode 16; the tables of Python 3.11 to 3.13 do not know it.
_WIDE_LATER = re.compile("[\u2630-\u2637\u268a-\u268f\u4dc0-\u4dff\U0001d300-\U0001d376]")
_ZERO_WIDTH = re.compile("[\u1160-\u11ff\u302e\u302f\ud7b0-\ud7ff\U0001f3fb-\U0001f3ff]")


def plain(text: str, *, keep_newlines: bool = True) -> str:
    """Show every character that acts instead of printing; change nothing else.

    Args:
        text: Anything, lone surrogates included.
        keep_newlines: False shows newline and tab as pictures too, for one-line places.

    Returns:
        Text without C0 (but newline and tab when kept), DEL, C1, bidi controls, separators,
        surrogates, noncharacters, tags and stray zero-width characters.
        `plain(plain(text)) == plain(text)`.
    """
    if not keep_newlines:
        text = _NEWLINE_AND_TAB.sub(_visible, text)
    if text.isascii():
        raw = text.encode("ascii")
        if len(raw.translate(None, _UNSAFE_ASCII)) == len(raw):
            return text
    return _SUSPECT.sub(_visible_unless_harmless, text)


def one_line(text: str, cells_max: int) -> str:
    """Put text on one line of at most `cells_max` cells; runs of white space become one space.

    Returns:
        `cell_width(result) <= cells_max`; ends with an ellipsis when something was cut off.
    """
    considered = text.lstrip()[: CHARS_PER_CELL_MAX * (cells_max + 1)]
    is_whole = len(considered) >= len(text.strip())
    line = plain(" ".join(considered.split()), keep_newlines=False)
    if is_whole and cell_width(line) <= cells_max:
        return line
    return cut(line, cells_max - 1).rstrip() + ELLIPSIS if cells_max > 0 else ""


def cut(text: str, cells_max: int) -> str:
    """Give the longest start of `text` that fills at most `cells_max` cells."""
    if text.isascii():
        return text[: max(cells_max, 0)]
    width = 0
    previous = ""
    for index, character in enumerate(text):
        width += _cells(character, previous)
        if width > cells_max:
            return text[:index]
        previous = character
    return text


def cell_width(text: str) -> int:
    """Count the terminal cells that plain text fills.

    Where terminals differ (new characters, joined emoji) it counts the wider reading, so that
    a line cut to a width never overflows it.
    """
    if text.isascii():
        return len(text)
    previous = ""
    width = 0
    for character in text:
        width += _cells(character, previous)
        previous = character
    return width


def _cells(character: str, previous: str) -> int:
    if character.isascii():
        return 1
    if character == "\ufe0f":
        return 1 if previous and _cells(previous, "") == 1 else 0
    if _ZERO_WIDTH.match(character):
        return 0
    category = unicodedata.category(character)
    if category in {"Mn", "Me", "Mc"} or character in "\u200c\u200d\ufe0e":
        return 0
    if category == "Cn" or unicodedata.east_asian_width(character) in "WF":
        return 2
    return 2 if _WIDE_LATER.match(character) else 1


def _visible_unless_harmless(match: re.Match[str]) -> str:
    if match[0] > "\u00ff" and _HARMLESS.match(match.string, match.start()):
        return match[0]
    return _visible(match)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    if code < 0xA0:
        return f"\\x{code:02x}"
    return f"<U+{code:04X}>"
