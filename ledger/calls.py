"""Calls made through the ledger: the window that is sent, the answer, the usage.

Knows nothing about terminals and SDKs: a reply is anything with the fields of a Messages answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from .blocks import blocks_given
from .content import Block, block_from, digest_of, is_result, to_json
from .drafts import AppendMessage, CompleteCall, StartCall
from .errors import BadInput
from .formats.anthropic_effects import iterations_from, usage_from
from .render.recorded import render_recorded, split_request
from .views.calls import render_next
from .views.contents import load_window

if TYPE_CHECKING:
    from .session import Session


class Reply(Protocol):
    """What SDKs answer with."""

    def model_dump(self, *, mode: str, exclude_none: bool) -> dict[str, Any]:
        """The answer as parsed JSON."""
        ...


class Call:
    """One call to a model: the window it sees is recorded before, the answer after."""

    def __init__(self, session: Session, max_tokens: int) -> None:
        self._session = session
        rendering = render_next(session, session.version, max_tokens, "anthropic")
        self.request: dict[str, Any] = rendering.body
        """The request body: model, max_tokens, system, tools, messages."""
        self.repairs = rendering.repairs
        self._id = ""
        self._is_complete = False

    def __enter__(self) -> Self:
        session = self._session
        self._id = f"call-{session.version + 1}"
        body = self.request
        split = split_request(body)
        window = session.store.window(session.id, session.version)
        placed = load_window(session.store, session.id, window)
        is_plain = not self.repairs and render_recorded(placed, split.params, split.marks) == body
        draft = StartCall(
            session=session.name,
            call=self._id,
            model=str(body.get("model", "")),
            digest=digest_of(body),
            params=split.params,
            marks=split.marks if is_plain else to_json({"request": body}),
            at_ms=session.ledger.now_ms(),
        )
        with session.writing():
            session.ledger.writer.write(draft, is_local=True)
        return self

    def complete(self, reply: Reply | Mapping[str, Any]) -> None:
        """Record the answer: its message, its usage.

        Raises:
            BadInput: it is no Messages answer.
        """
        answer = dict(
            reply
            if isinstance(reply, Mapping)
            else reply.model_dump(mode="json", exclude_none=True)
        )
        content, usage = answer.get("content"), answer.get("usage") or {}
        if not isinstance(content, list):
            raise BadInput("The answer has no `content`.", "Pass what messages.create returned.")
        session = self._session
        blocks = blocks_given(content, _answered)
        at_ms = session.ledger.now_ms()
        with session.writing(at_head=True):  # an answer is never lost to another writer
            write = session.ledger.writer.write
            write(
                AppendMessage(
                    session=session.name,
                    role="assistant",
                    blocks=blocks,
                    message=str(answer.get("id", "")),
                    at_ms=at_ms,
                    actor="assistant",
                ),
                is_local=True,
            )
            write(
                CompleteCall(
                    session=session.name,
                    call=self._id,
                    stop_reason=str(answer.get("stop_reason") or ""),
                    usage=usage_from(usage),
                    iterations=iterations_from(usage),
                    at_ms=at_ms,
                ),
                is_local=True,
            )
        self._is_complete = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_complete:
            return
        session = self._session
        draft = CompleteCall(
            session=session.name,
            call=self._id,
            outcome="error" if error is not None else "unknown",
            error=repr(error) if error is not None else "",
            at_ms=session.ledger.now_ms(),
        )
        with session.writing(at_head=True):
            session.ledger.writer.write(draft, is_local=True)


def _answered(part: Mapping[str, Any]) -> Block:
    """A block of an answer: the model's, or the result of a tool that its provider ran."""
    return block_from(part, "tool" if is_result(str(part.get("type"))) else "assistant")
