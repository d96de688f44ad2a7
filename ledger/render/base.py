"""What a renderer is given: the entries of a window with their contents, in window order.

Knows nothing about versions, storage or a provider.
"""

from __future__ import annotations

from msgspec import Struct

from ..content import Block


class Placed(Struct, frozen=True, gc=False):
    """One entry of a window with what it shows."""

    item: str
    """Item id, `42.1`."""
    form: str
    """`verbatim`, `placeholder`, `brief`, `reinjected` ... (DESIGN 2)."""
    message: str
    """Id of the message it belongs to; neighbours with the same id and role are one message."""
    role: str
    """`system`, `tools` (a definition), `user`, `assistant` ..."""
    block: Block
    """The content shown in this form; of a placeholder, the placeholder's."""


class Repair(Struct, frozen=True):
    """One thing a renderer changed to satisfy a provider; the log is never touched."""

    code: str
    """`orphan_tool_result`, `missing_tool_result`, `cache_control_over_limit` ..."""
    item: str
    """The item concerned, "" for the whole request."""
    detail: str
    """One sentence for a person; no contents."""
