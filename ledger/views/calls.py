"""Calls to a model: which one a window was sent with, and the request it made.

Knows nothing about terminals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..content import digest_of, from_json, to_text
from ..errors import BadInput
from ..events import BodyKey, CallCompleted, ModelCalled
from ..render.anthropic import Rendering, render_for_sending
from ..render.recorded import render_recorded
from ..storage.store import StoredEvent
from .contents import load_window

if TYPE_CHECKING:
    from ..session import Session

MAX_TOKENS = 4096
"""Output limit where neither the caller nor a recorded call names one."""


def call_at(session: Session, version: int) -> tuple[StoredEvent, CallCompleted | None] | None:
    """The newest call up to a version, and its newest completion."""
    types = ("model_called",)
    call = next(session.events(to=version, types=types, is_reverse=True), None)
    if call is None:
        return None
    completed: CallCompleted | None = None
    for stored in session.events(after=call.version, types=("call_completed",)):
        event = stored.event
        if isinstance(event, CallCompleted):
            if event.called == call.version:
                completed = event
            elif event.called > call.version:
                break
    return call, completed


def render_call(session: Session, version: int) -> dict[str, Any]:
    """The request body that the call at `version` sent, equal as parsed JSON.

    Raises:
        BadInput: there is no recorded request at this version.
    """
    event = session.store.read_one(session.id, version).event
    if not isinstance(event, ModelCalled) or not event.digest:
        raise BadInput(
            f"Version {version} is no call with a recorded request.",
            "Requests are recorded only by formats with exact coverage.",
        )
    placed = load_window(session.store, session.id, session.store.window(session.id, version))
    body = render_recorded(placed, _text(session, event.params), _text(session, event.marks))
    assert digest_of(body) == event.digest, "BUG: a recorded call renders differently"
    return body


def render_next(session: Session, version: int, max_tokens: int = 0) -> Rendering:
    """A request body that is valid for sending, from the window at a version."""
    found = call_at(session, version)
    called = found[0].event if found is not None else None
    params, model = "", session.opened.model
    if isinstance(called, ModelCalled):
        params = _text(session, called.params)
        model = called.model or model
    recorded = from_json(params).get("max_tokens") if params else None
    return render_for_sending(
        load_window(session.store, session.id, session.store.window(session.id, version)),
        model=model,
        max_tokens=max_tokens or (recorded if isinstance(recorded, int) else MAX_TOKENS),
        params=params,
    )


def _text(session: Session, key: BodyKey | None) -> str:
    return "" if key is None else to_text(session.store.bodies.get(key))
