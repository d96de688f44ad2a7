"""Our own input: one JSON object a line, for agents that say themselves what happened.

Every line may have `session`, `id`, `at`, `actor`; fields that a type does not know stay in
the source's bytes. A line without `session` belongs to the session of the last `session` line,
else to the default one. Knows nothing about files, storage or versions.
"""

from __future__ import annotations

from typing import Any, cast, get_args

from msgspec.structs import replace

from ..drafts import AnyDraft, Coverage, OpenSession, QuarantineRecord, Relation, StartCall
from .base import Fed, Record
from .looks import NATIVE_TYPES, looks_like
from .native_fields import Fields, WrongShape, at_field, choice_field, count_field, text_field
from .native_lines import READERS


class NativeFold:
    """Lines of the native grammar to drafts."""

    name = "native"

    def __init__(self, default_session: str) -> None:
        """`default_session` takes the lines that name no session."""
        self._current = default_session
        self._opened: set[str] = set()

    def key(self, record: Record) -> str:
        """The line's `id`, "" when it has none."""
        given = record.value.get("id") if isinstance(record.value, dict) else None
        is_id = isinstance(given, str | int) and not isinstance(given, bool)
        return str(given) if is_id else ""

    def feed(self, record: Record) -> Fed:
        """Take the next line; what is wrong with it becomes the reason of its quarantine."""
        if record.repaired == "blank":
            return Fed("outside", what="blank")
        if record.fault:
            return _quarantined(record.fault, self._current)
        if not isinstance(record.value, dict):
            return _quarantined("not_an_object", self._current)
        line: dict[str, Any] = record.value
        session, kind = self._current, ""
        try:
            session = text_field(line, "session") or session
            kind = _kind_of(line)
            if kind not in NATIVE_TYPES:
                return Fed("unknown", what=kind)
            drafts = self._drafts(kind, line, session)
        except WrongShape as error:
            return _quarantined(error.reason, session, kind)
        return Fed("window", drafts, what=kind)

    def _drafts(self, kind: str, line: Fields, session: str) -> tuple[AnyDraft, ...]:
        actor = text_field(line, "actor") or "agent"
        if kind == "session":
            opening = replace(_opening(line, session), at_ms=at_field(line), actor=actor)
            self._current = opening.session
            return self._opened_by(opening)
        draft = replace(READERS[kind](line, session), at_ms=at_field(line), actor=actor)
        model = draft.model if isinstance(draft, StartCall) else ""
        opening = OpenSession(session=session, at_ms=draft.at_ms, format=self.name, model=model)
        return (*self._opened_by(opening), draft)

    def _opened_by(self, opening: OpenSession) -> tuple[AnyDraft, ...]:
        if opening.session in self._opened:
            return ()
        self._opened.add(opening.session)
        return (opening,)


def _quarantined(reason: str, session: str, kind: str = "") -> Fed:
    return Fed("quarantined", (QuarantineRecord(session=session, reason=reason),), what=kind)


def _kind_of(line: Fields) -> str:
    """The type of a line. Raises `wrong_format` for lines of other formats, `no_type`."""
    kind = text_field(line, "type") or ("message" if "role" in line else "")
    if kind in ("", "message", "system") or kind not in NATIVE_TYPES:
        look = looks_like(line)
        # A response of the Messages API is a good native message too.
        is_answer = kind == "message" and look == "anthropic"
        if look not in ("", "native") and not is_answer:
            raise WrongShape("wrong_format")
    if not kind:
        raise WrongShape("no_type")
    return kind


def _opening(line: Fields, session: str) -> OpenSession:
    parent = text_field(line, "parent")
    coverage = choice_field(line, "coverage", get_args(Coverage), "conversation")
    relation = choice_field(line, "relation", get_args(Relation), "fork" if parent else "")
    return OpenSession(
        session=text_field(line, "name") or session,
        format=NativeFold.name,
        title=text_field(line, "title"),
        model=text_field(line, "model"),
        coverage=cast("Coverage", coverage),
        folder=text_field(line, "folder"),
        branch=text_field(line, "branch"),
        limit_tokens=count_field(line, "limit") or 0,
        relation=cast("Relation", relation),
        parent=parent,
        parent_message=text_field(line, "parent_message"),
    )
