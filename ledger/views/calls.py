"""Calls to a model: which one a window was sent with, and the request it made.

Knows nothing about terminals.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from ..blocks import keys_in
from ..content import digest_of, from_json, to_text
from ..errors import BadInput, CorruptLedger, LedgerError
from ..events import BodyKey, CallCompleted, ModelCalled
from ..render.anthropic import Rendering, render_for_sending
from ..render.openai import render_for_openai
from ..render.openai_parts import Api
from ..render.openai_recorded import render_openai
from ..render.recorded import render_recorded
from ..storage.bodies import REDACTED
from ..storage.store import StoredEvent
from .contents import load_items, load_window

if TYPE_CHECKING:
    from ..session import Session

Provider = Literal["anthropic", "openai"]
"""Whose request a window is written as."""
UNFIT = (KeyError, IndexError, TypeError, ValueError, AttributeError)
"""What putting a request together raises when its parts do not fit its shape."""
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
        BadInput: there is no recorded request at this version, or parts of it were redacted.
        CorruptLedger: what is stored is not what was sent.
    """
    event = session.store.read_one(session.id, version).event
    if not isinstance(event, ModelCalled) or not event.digest:
        raise BadInput(
            f"Version {version} is no call with a recorded request.",
            "Requests are recorded only by formats with exact coverage.",
        )
    placed = load_window(session.store, session.id, session.store.window(session.id, version))
    try:
        params, marks = _text(session, event.params), _text(session, event.marks)
        render = render_openai if openai_api(marks) else render_recorded
        body = render(placed, params, marks)
    except UNFIT as error:
        raise _not_as_sent(session, version, event) from error
    if digest_of(body) != event.digest:
        raise _not_as_sent(session, version, event)
    return body


def _not_as_sent(session: Session, version: int, event: ModelCalled) -> LedgerError:
    """Why a recorded request cannot be put together again."""
    window = session.store.window(session.id, version)
    items = load_items(session.store, session.id, (entry.text_id for entry in window.entries))
    keys = {key for item in items.values() for key in keys_in(item.block)}
    keys |= {key for key in (event.params, event.marks) if key is not None}
    if session.store.bodies.redacted(keys):
        return BadInput(
            f"Parts of the request at version {version} were redacted: it cannot be shown as sent.",
            f"See what is left with `ctxledger window {quote(session.name)} --at {version}`.",
        )
    return CorruptLedger(
        f"The request at version {version} is not the one that was sent.", "Run `ctxledger verify`."
    )


def openai_api(marks: str) -> Api | None:
    """Which of OpenAI's APIs a recorded call went to, None = another provider's.

    The marks of each call say so, not its session, so that a session may change its provider.
    """
    api: Api | None = from_json(marks).get("api") if marks else None
    return api


def provider_of_call(session: Session, called: ModelCalled) -> Provider:
    """Who a recorded call went to."""
    return "openai" if openai_api(_text(session, called.marks)) else "anthropic"


def render_next(
    session: Session, version: int, max_tokens: int = 0, provider: Provider | None = None
) -> Rendering:
    """A request body that is valid for sending, from the window at a version.

    Args:
        provider: None = the one that the newest call up to there went to.
    """
    found = call_at(session, version)
    called = found[0].event if found is not None else None
    params, model = "", session.opened.model
    api: Api | None = "chat" if session.opened.format == "openai" else None
    if isinstance(called, ModelCalled):
        params = _text(session, called.params)
        model = called.model or model
        api = openai_api(_text(session, called.marks)) if called.digest else api
    model = model or _first_model(session, version)
    recorded_by: Provider = "openai" if api else "anthropic"
    provider = provider or recorded_by
    if provider != recorded_by:
        params = ""  # the parameters of one provider mean nothing to another
    placed = load_window(session.store, session.id, session.store.window(session.id, version))
    if provider == "openai":
        return render_for_openai(
            placed, api=api or "chat", model=model, max_tokens=max_tokens, params=params
        )
    recorded = from_json(params).get("max_tokens") if params else None
    return render_for_sending(
        placed,
        model=model,
        max_tokens=max_tokens or (recorded if isinstance(recorded, int) else MAX_TOKENS),
        params=params,
    )


def _first_model(session: Session, after: int) -> str:
    """The model of the next call: a transcript names none before its first answer."""
    first = next(session.events(after=after, types=("model_called",)), None)
    return first.event.model if first and isinstance(first.event, ModelCalled) else ""


def _text(session: Session, key: BodyKey | None) -> str:
    """A stored text; "" where there is none or it was redacted."""
    data = b"" if key is None else session.store.bodies.get(key)
    return to_text(data) if data != REDACTED else ""
