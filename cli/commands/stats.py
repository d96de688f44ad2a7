"""`ctxledger stats`: sizes and counts of the ledger, or of one session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ..context import Context
from ..options import at_option, command, session_argument
from ..output import Output, Styled
from ..spending_text import (
    all_tokens,
    cost_json,
    cost_note,
    dollars,
    largest_note,
    models_json,
    output_note,
    show_models,
    show_spending,
    spending_json,
    tokens_json,
)
from ..tables import Column, number

if TYPE_CHECKING:
    from ctxledger.ledger.finding.statistics import LedgerNumbers, SessionNumbers

EXAMPLES = """
ctxledger stats                    # the whole ledger
ctxledger stats refactor-auth      # one session: calls, tokens, compactions
ctxledger stats session.jsonl      # a file
ctxledger stats @ --json
"""
PAIRS = (
    Column("", width_min=24),
    Column("", is_number=True, width_min=12),
    Column("", is_flexible=True),
)


@command(EXAMPLES)
@session_argument
@at_option
@click.pass_obj
def stats(context: Context, session: str, at: str) -> None:
    """Show sizes and counts: of the whole ledger, or of SESSION up to a version.

    Tokens are what providers reported, each call once; dollars are the standard prices of the
    day of each call. Cache breaks are calls that had to read anew what was cached.
    """
    from ctxledger.ledger.finding.statistics import ledger_numbers, session_numbers

    out = context.out
    if session or context.file_of(""):
        chosen = context.reading(session)
        numbers = session_numbers(chosen, chosen.resolve(at))
        if out.is_json:
            out.json(_session_json(numbers))
        else:
            _show_session(out, numbers)
            show_spending(out, numbers)
        return
    found = ledger_numbers(context.ledger("read"))
    if out.is_json:
        out.json(_ledger_json(found))
    else:
        _show_ledger(out, str(context.db_path), found)


def _session_json(numbers: SessionNumbers) -> dict[str, object]:
    return {
        "session": numbers.session,
        "version": numbers.version,
        "calls": numbers.calls,
        "calls_reported": numbers.calls_reported,
        "calls_failed": numbers.calls_failed,
        "tokens": tokens_json(numbers.spent.tokens),
        "calls_inherited": numbers.calls_inherited,
        "context_tokens_max": numbers.context_tokens_max,
        "limit": numbers.limit,
        "limit_source": numbers.limit_source,
        "compactions": numbers.compactions,
        "compactions_undone": numbers.compactions_undone,
        "evictions": numbers.evictions,
        "records": numbers.records,
        **spending_json(numbers),
    }


def _show_session(out: Output, numbers: SessionNumbers) -> None:
    out.line(Styled(numbers.session, "bold"), f"  up to version {number(numbers.version)}")
    unreported = numbers.calls - numbers.calls_reported
    notes = [f"{unreported:,} without usage"] if unreported else []
    if numbers.calls_inherited:
        notes.append(f"{numbers.calls_inherited:,} before the fork are not counted here")
    used = numbers.used
    rows = [
        ("calls", number(numbers.calls), "; ".join(notes)),
        ("  failed", number(numbers.calls_failed), ""),
        ("tokens reported", number(used.total), "each call once"),
        ("  input, not cached", number(used.input), ""),
        ("  read from cache", number(used.cache_read), ""),
        ("  written to cache", number(used.cache_write), ""),
        ("  output", number(used.output), output_note(numbers.spent)),
        ("cost", dollars(numbers.spent), cost_note(numbers.spent)),
        ("largest context", number(numbers.context_tokens_max), largest_note(numbers)),
        ("  limit", number(numbers.limit) or "unknown", numbers.limit_source * bool(numbers.limit)),
        ("compactions in force", number(numbers.compactions), ""),
        ("  undone", number(numbers.compactions_undone), ""),
        ("evictions", number(numbers.evictions), ""),
    ]
    out.table(PAIRS, rows)
    _show_kinds(out, numbers.records)


def _ledger_json(found: LedgerNumbers) -> dict[str, object]:
    return {
        "events": found.events,
        "sessions": found.sessions,
        "bodies": found.bodies,
        "body_bytes": found.body_bytes,
        "body_stored_bytes": found.body_stored_bytes,
        "source_bytes": found.source_bytes,
        "source_stored_bytes": found.source_stored_bytes,
        "disk_bytes": found.disk_bytes,
        "event_types": found.event_types,
        "sources": [
            {"name": s.name, "format": s.format, "bytes": s.bytes, "records": s.records}
            for s in found.sources
        ],
        "calls": found.spent.calls,
        "tokens": tokens_json(found.spent.tokens),
        "cost": cost_json(found.spent),
        "models": models_json(found.models),
    }


def _show_ledger(out: Output, path: str, found: LedgerNumbers) -> None:
    out.line(Styled(path, "bold"))
    ratio = f"{found.disk_ratio:.2f} of what came in" if found.disk_ratio is not None else ""
    out.table(
        PAIRS,
        [
            ("sessions", number(found.sessions), ""),
            ("events", number(found.events), ""),
            ("contents", number(found.bodies), ""),
            ("  bytes", number(found.body_bytes), f"stored in {number(found.body_stored_bytes)}"),
            ("sources", number(len(found.sources)), ""),
            (
                "  bytes as they came",
                number(found.source_bytes),
                f"stored in {number(found.source_stored_bytes)}",
            ),
            ("bytes on disk", number(found.disk_bytes), ratio),
            ("calls reported", number(found.spent.calls), "each once, copies left out"),
            ("  tokens", number(all_tokens(found.spent.tokens)), ""),
            ("  cost", dollars(found.spent), cost_note(found.spent)),
        ],
    )
    show_models(out, found.models)
    if found.event_types:
        out.line()
        out.table(
            (Column("events"), Column("", is_number=True)),
            [(name, number(count)) for name, count in found.event_types.items()],
        )
    if found.sources:
        out.line()
        out.table(
            (
                Column("source", is_flexible=True),
                Column("format"),
                Column("bytes", is_number=True),
                Column("records", is_number=True),
                Column("unread", is_number=True),
            ),
            [
                (
                    source.name,
                    source.format,
                    number(source.bytes),
                    number(sum(source.records.values())),
                    number(source.records["quarantined"]),
                )
                for source in found.sources
            ],
        )


def _show_kinds(out: Output, records: Mapping[str, int]) -> None:
    if not any(records.values()):
        return
    words = {
        "window": "in the window",
        "outside": "never seen by the model",
        "unknown": "of an unknown type",
        "held": "part of a later event",
        "quarantined": "could not be read",
        "duplicate": "known already",
    }
    out.line()
    out.table(
        (Column("records of its sources"), Column("", is_number=True)),
        [(words[kind], number(count)) for kind, count in records.items() if count],
    )
