"""Secrets hidden from what leaves the machine. The ledger keeps them: `redact` removes them.

Pure: texts in, texts out. Knows nothing about pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..masking import replaced, spans_in
from ..secrets import Secret, find_secrets

VALUE_CHARS_MIN = 6
"""Shorter ones are words too; they are hidden only where they stand as a secret."""

Finder = Callable[[str], list[Secret]]


class Hider:
    """Hides the secrets of texts that belong together, and counts the places."""

    def __init__(self, texts: Iterable[str], find: Finder | None = find_secrets) -> None:
        """Learn what is secret.

        Args:
            texts: all that may be shown of. A password that one of them shows in a URL is hidden
                in the others too, where nothing around it tells.
            find: None hides nothing.
        """
        self._secrets = find
        self.count: int | None = 0 if find is not None else None
        self._values = (
            {
                text[one.start : one.end]: one.kind
                for text in texts
                for one in find(text)
                if one.end - one.start >= VALUE_CHARS_MIN
            }
            if find is not None
            else {}
        )

    def __call__(self, text: str) -> str:
        """The text without its secrets. Give it whole: half a secret is not recognised."""
        if self._secrets is None:
            return text
        spans = spans_in(text, self._find)
        self.count = (self.count or 0) + len(spans)
        return replaced(text, spans)

    def _find(self, text: str) -> Iterable[tuple[int, int, str]]:
        for one in self._secrets(text) if self._secrets is not None else ():
            yield one.start, one.end, one.kind
        for value, kind in self._values.items():
            at = text.find(value)
            while at >= 0:
                yield at, at + len(value), kind
                at = text.find(value, at + len(value))
