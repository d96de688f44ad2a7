"""Token bars: a share drawn with block characters, or with `#` where there are none.

Knows nothing about what is measured.
"""

from __future__ import annotations

BAR_CELLS = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"
_FULL = "█"


def bar(value: float, whole: float, cells: int = BAR_CELLS, *, is_unicode: bool = True) -> str:
    """Draw `value / whole` in at most `cells` cells; anything above zero shows something.

    Returns:
        A text of 0 to `cells` cells, not padded.
    """
    if whole <= 0 or value <= 0:
        return ""
    share = min(1.0, value / whole) * cells
    if not is_unicode:
        return "#" * max(1, round(share))
    eighths = max(1, round(share * 8))
    full, rest = divmod(eighths, 8)
    return _FULL * full + (_EIGHTHS[rest] if rest else "")
