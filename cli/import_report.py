"""What an import did: the JSON of the contract, a table, and warnings.

Knows nothing about how it was read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ctxledger.ledger import Ledger
from ctxledger.ledger.content import label
from ctxledger.ledger.events import RecordQuarantined
from ctxledger.ledger.import_report import Report, SessionCount
from ctxledger.ledger.session import Session

from .arguments import command_line
from .context import Context
from .output import Styled, Text
from .tables import Column, counted, number

QUARANTINED_NAMED_MAX = 5
UNKNOWN_NAMED_MAX = 8
COLUMNS = (
    Column("session", is_flexible=True),
    Column("format"),
    Column("records", is_number=True),
    Column("new events", is_number=True),
    Column("calls", is_number=True),
    Column("compactions", is_number=True),
    Column("evictions", is_number=True),
    Column("version", is_number=True),
)
_COUNTED = ("message_appended", "model_called", "window_compacted", "items_evicted")


class Totals:
    """What a session holds now."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        self.session: Session = ledger.find(label(name))
        counts = Counter[str]()
        for part in ledger.store.lineage(self.session.id):
            counts.update(
                dict(
                    ledger.db.rows(
                        "SELECT type, count(*) FROM events WHERE session = ? AND version <= ?"
                        f" AND type IN ({','.join('?' * len(_COUNTED))}) GROUP BY type",
                        (part.session, part.to, *_COUNTED),
                    )
                )
            )
        self.messages, self.calls, self.compactions, self.evictions = (counts[n] for n in _COUNTED)


def reports_json(ledger: Ledger, reports: Sequence[Report]) -> dict[str, object]:
    """The object of `ingest --json`."""
    return {
        "sessions": [
            _session_json(count, Totals(ledger, count.session))
            for report in reports
            for count in report.sessions.values()
        ],
        "source": [report.source for report in reports],
        "pending_bytes": sum(report.pending_bytes for report in reports),
        "duplicates": sum(report.duplicates for report in reports),
        "repaired": sum(report.repaired for report in reports),
        "secrets": {
            kind: sum(report.secrets.get(kind, 0) for report in reports)
            for kind in sorted({kind for report in reports for kind in report.secrets})
        },
        "warnings": [warning for report in reports for warning in report.warnings],
    }


def _session_json(count: SessionCount, totals: Totals) -> dict[str, object]:
    return {
        "session": totals.session.name,
        "format": totals.session.opened.format,
        "coverage": totals.session.opened.coverage,
        "records": count.records,
        "new_events": count.new_events,
        "messages": totals.messages,
        "calls": totals.calls,
        "compactions": totals.compactions,
        "evictions": totals.evictions,
        "quarantined": count.quarantined,
        "version": totals.session.version,
    }


def print_report(context: Context, ledger: Ledger, reports: Sequence[Report]) -> None:
    """The table on stdout (unless --json), warnings and what comes next on stderr."""
    out = context.out
    rows: list[tuple[Text, ...]] = []
    for report in reports:
        for count in report.sessions.values():
            totals = Totals(ledger, count.session)
            rows.append(
                (
                    Styled(totals.session.name, "bold"),
                    Styled(totals.session.opened.format, "dim"),
                    number(count.records),
                    number(count.new_events),
                    number(totals.calls),
                    number(totals.compactions),
                    number(totals.evictions),
                    number(totals.session.version),
                )
            )
    if rows and not out.is_json:
        out.table(COLUMNS, rows)
    for report in reports:
        _say(context, ledger, report)
    if rows and not out.is_json:
        name = ledger.find("@").name
        log, window = (command_line(context, word, name) for word in ("log", "window"))
        out.note(f"Look at the newest: `{log}`, `{window}`.")


def _say(context: Context, ledger: Ledger, report: Report) -> None:
    out = context.out
    for warning in report.warnings:
        out.warn(warning)
    if report.secrets:
        _say_secrets(context, report)
    if report.is_known and not report.new_records:
        out.note(f"{report.source}: known already, nothing new.")
    if report.duplicates:
        out.note(f"{report.source}: in the ledger already: {counted(report.duplicates, 'record')}.")
    if report.repaired:
        out.note(f"{report.source}: read with a repair: {counted(report.repaired, 'record')}.")
    if report.unknown:
        named = list(report.unknown.items())[:UNKNOWN_NAMED_MAX]
        words = ", ".join(f"{what} ({number(count)})" for what, count in named)
        out.note(f"{report.source}: record types we do not know, kept: {words}.")
    if report.pending_bytes:
        size = number(report.pending_bytes)
        out.warn(f"{report.source}: {size} bytes at the end are a half record, left for later.")
    if report.quarantined:
        _say_quarantined(context, ledger, report)


def _say_secrets(context: Context, report: Report) -> None:
    kinds = ", ".join(f"{number(n)} {kind}" for kind, n in sorted(report.secrets.items()))
    if report.are_secrets_redacted:
        context.out.note(f"{report.source}: credentials were not stored: {kinds}.")
        return
    remove = command_line(context, "redact", "--secrets")
    context.out.warn(
        f"{report.source}: credentials were found and stored: {kinds}. Remove them: `{remove}`."
    )


def _say_quarantined(context: Context, ledger: Ledger, report: Report) -> None:
    out = context.out
    out.warn(f"{report.source}: {counted(report.quarantined, 'record')} could not be read:")
    left = QUARANTINED_NAMED_MAX
    for count in report.sessions.values():
        if not count.quarantined:
            continue
        session = ledger.find(label(count.session))
        newest = session.events(types=("record_quarantined",), is_reverse=True)
        shown = [
            stored.event
            for stored, _ in zip(newest, range(min(left, count.quarantined)), strict=False)
        ]
        left -= len(shown)
        for event in reversed(shown):
            assert isinstance(event, RecordQuarantined), "BUG: type and data differ"
            out.warn(f"  byte {number(event.offset)}, {number(event.length)} bytes: {event.reason}")
        listed = command_line(context, "log", session.name, "--type", "quarantine")
        out.warn(f"  all of them: `{listed}`")
