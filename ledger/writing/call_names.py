"""Numbers and ids of a session's calls, read from the end and only as far as is asked for.

So a program that appends calls to a long session never reads its history. Knows nothing about
storage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..content import label
from ..events import AnyEvent, ModelCalled

Call = tuple[int, ModelCalled]
"""(version, event)."""


class CallNames:
    """The calls of one session, after the events fed so far."""

    def __init__(self, newest_before: Callable[[int], Sequence[Call]]) -> None:
        """Nothing is read yet.

        Args:
            newest_before: gives some calls before a version, newest first; none = there are none.
        """
        self._newest_before = newest_before
        self._versions: dict[str, int] = {}
        """Id -> version of the newest call with it, of those met so far."""
        self._read_down_to = 2**62
        """All calls from this version on are in `_versions`."""
        self._count: int | None = None

    def feed(self, version: int, event: AnyEvent) -> None:
        """Take the next event."""
        if isinstance(event, ModelCalled):
            self._count = event.number
            self._versions[event.call] = version

    def count(self) -> int:
        """The number of the newest call, 0 = there was none."""
        if self._count is None:
            self._read_more()
        return self._count or 0

    def version_of(self, call: str) -> int:
        """The newest call with the source's id, 0 = there is none."""
        call = label(call)
        while call not in self._versions and self._read_down_to:
            self._read_more()
        return self._versions.get(call, 0)

    def _read_more(self) -> None:
        found = self._newest_before(self._read_down_to)
        for version, event in found:
            self._versions.setdefault(event.call, version)
        if self._count is None:
            self._count = found[0][1].number if found else 0
        self._read_down_to = found[-1][0] if found else 0
