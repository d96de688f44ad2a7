"""The limit of a session's model at a version, and what its newest call asked for.

Knows nothing about terminals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..content import from_json, to_text
from ..cost import Limit, limit_of
from ..events import CallCompleted, ModelCalled
from ..storage.bodies import REDACTED
from ..storage.store import StoredEvent

if TYPE_CHECKING:
    from ..session import Session

CallAt = tuple[StoredEvent, CallCompleted | None] | None


def model_at(session: Session, call: CallAt) -> str:
    """The model of the newest call, else the one that the session was opened with."""
    event = call[0].event if call is not None else None
    return (event.model if isinstance(event, ModelCalled) else "") or session.opened.model


def limit_at(session: Session, call: CallAt, largest_tokens: int = 0) -> Limit:
    """The limit that was in force at a call: what the user said, else by model and day.

    Args:
        largest_tokens: the largest context known to have been taken, apart from this call's.
    """
    at_ms = call[0].event.at_ms if call is not None else session.opened.at_ms
    if call is not None and call[1] is not None and call[1].usage is not None:
        largest_tokens = max(largest_tokens, call[1].usage.context_tokens)
    return limit_of(
        model_at(session, call),
        at_ms,
        user_tokens=session.opened.limit_tokens,
        largest_tokens=largest_tokens,
    )


def max_tokens_of(session: Session, call: CallAt) -> int | None:
    """How long an answer the newest call asked for; None when that is not on record."""
    event = call[0].event if call is not None else None
    if not isinstance(event, ModelCalled) or event.params is None:
        return None
    data = session.store.bodies.get(event.params)
    if data == REDACTED:
        return None
    params = from_json(to_text(data))
    found = params.get("max_tokens") if isinstance(params, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
