"""`ctxledger show`: one event, item, call or compaction in full."""

from __future__ import annotations

import json
from shlex import quote

import click

from ctxledger.ledger import BadInput, Session
from ctxledger.ledger.content import to_json
from ctxledger.ledger.event_codec import type_of
from ctxledger.ledger.events import AnyEvent, RecordQuarantined
from ctxledger.ledger.storage.store import StoredEvent
from ctxledger.ledger.views.contents import StoredItem, load_contents, load_items
from ctxledger.ledger.window import is_item_id, split_id

from ..arguments import looks_like_reference
from ..context import Context
from ..event_facts import event_facts, item_ids
from ..event_text import handle_of, iso_time
from ..options import command
from ..output import Output, Styled
from ..source_text import Provenance, provenance_of, record_bytes
from ..tables import number

EXAMPLES = """
ctxledger show c1                       # the first compaction of the newest session
ctxledger show refactor-auth 42.1       # one item in full
ctxledger show session.jsonl call7      # a call: model, usage, parameters
ctxledger show @ 42 --raw               # the record it came from, as it came
"""
BYTES_SHOWN = 20_000
"""Of a record that could not be read, at most this much is shown to a person."""


@command(EXAMPLES)
@click.argument("what", nargs=-1, required=True, metavar="[SESSION] REF|ITEM")
@click.option("--raw", "is_raw", is_flag=True, help="The record it came from, as it came.")
@click.pass_obj
def show(context: Context, what: tuple[str, ...], is_raw: bool) -> None:
    """Show one event, item (42.1), call or compaction in full, and where it came from."""
    if len(what) > 2:
        raise BadInput("Too many arguments.", "ctxledger show [SESSION] REF|ITEM")
    out = context.out
    reference = what[-1]
    if len(what) == 1 and not (looks_like_reference(reference) or is_item_id(reference)):
        raise BadInput(
            f"{reference!r} is no REF or item; `show` needs one.",
            "For example `ctxledger show SESSION c1`, or 42, call7, 42.1.",
        )
    session = context.reading(what[0] if len(what) == 2 else "")
    item = reference if is_item_id(reference) else ""
    version = split_id(item)[0] if item else session.resolve(reference)
    stored = session.store.read_one(session.id, version)
    came_from = provenance_of(session.ledger, stored)
    if is_raw:
        print_raw(session, stored, came_from, out)
    elif item:
        print_item(session, item, came_from, out, what[0] if len(what) == 2 else session.name)
    else:
        print_event(session, stored, came_from, out)


# -- items --------------------------------------------------------------------------------------


def print_item(
    session: Session, item: str, came_from: Provenance | None, out: Output, name: str
) -> None:
    """One item: what it is, whether the model sees it now, its whole contents.

    Args:
        name: what the user calls the session, for the command that is proposed.
    """
    found = load_items(session.store, session.id, (item,)).get(item)
    if found is None:
        there = item_ids(session.store.read_one(session.id, split_id(item)[0]).event, item)
        hint = f"That version has {', '.join(there)}." if there else "That version has no items."
        raise BadInput(f"There is no item {item}.", hint)
    if out.is_json:
        out.json(item_json(session, found, came_from))
        return
    block = found.block
    print_fact("item", f"{item}, {block.type} of {found.role}, from {block.origin}", out)
    print_fact("message", found.message, out)
    print_fact("tool", " ".join(filter(None, (block.tool_name, block.tool_id))), out)
    print_fact("in the window now", presence(session, item, name), out)
    print_provenance(came_from, out)
    print_contents(session, found, out)


def presence(session: Session, item: str, name: str) -> str:
    """Whether the newest window holds an item, and in which form."""
    for entry in session.structure().entries:
        if entry.item_id == item:
            return "yes" if entry.form == "verbatim" else f"as {entry.form}"
    return f"no; see `ctxledger blame {quote(name)} {item}`"


def item_json(
    session: Session, found: StoredItem, came_from: Provenance | None
) -> dict[str, object]:
    """The object of `--json` for an item."""
    block = load_contents(session.store, (found,))[found.item]
    return {
        "session": session.name,
        "item": found.item,
        "message": found.message,
        "role": found.role,
        "type": block.type,
        "origin": block.origin,
        "tool_id": block.tool_id or None,
        "tool_name": block.tool_name or None,
        "is_error": block.is_error,
        "text": block.text,
        "is_json": block.is_json,
        "rest": json.loads(block.rest) if block.rest else None,
        "meta": json.loads(block.meta) if block.meta else None,
        "in_window": any(e.item_id == found.item for e in session.structure().entries),
        "from": provenance_json(came_from),
    }


def print_contents(session: Session, found: StoredItem, out: Output) -> None:
    """The whole text of an item, JSON laid out."""
    from ctxledger.ledger.content import readable

    block = load_contents(session.store, (found,))[found.item]
    if block.is_error:
        print_fact("error", "yes", out)
    for name, text in (("other fields", block.rest), ("not seen by the model", block.meta)):
        print_fact(name, text, out)
    text = readable(block)
    if block.is_json and text == block.text:
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    out.line()
    out.line(text)


# -- events -------------------------------------------------------------------------------------


def print_event(
    session: Session, stored: StoredEvent, came_from: Provenance | None, out: Output
) -> None:
    """One event: its facts in words, then the items it brought."""
    facts = event_facts(session, stored)
    if out.is_json:
        out.json(event_json(session, stored, facts, came_from))
        return
    handle = handle_of(stored.event)
    title = type_of(stored.event).replace("_", " ")
    out.line(Styled(f"version {number(stored.version)}  {title}", "bold"), f"  {handle}".rstrip())
    for name, value in facts.items():
        is_json = name in ("params", "edits")
        print_fact(name, to_json(value) if is_json else words_of(value), out)
    print_fact("at", iso_time(stored.event.at_ms) or "", out)
    print_fact("recorded", f"{iso_time(stored.recorded_at // 1000)} by {stored.actor}", out)
    print_provenance(came_from, out)
    if isinstance(stored.event, RecordQuarantined) and came_from is not None:
        out.line()
        out.line(shown_bytes(record_bytes(session.ledger, came_from)))
        return
    print_items(session, stored.event, stored.version, out)


def print_items(session: Session, event: AnyEvent, version: int, out: Output) -> None:
    """The items that an event brought, in full."""
    items = load_items(session.store, session.id, item_ids(event, str(version)))
    for found in items.values():
        block = found.block
        out.line()
        name = f" {block.tool_name}" if block.tool_name else ""
        out.line(Styled(f"{found.item}  {block.origin} {block.type}{name}", "bold"))
        print_contents(session, found, out)


def event_json(
    session: Session,
    stored: StoredEvent,
    facts: dict[str, object],
    came_from: Provenance | None,
) -> dict[str, object]:
    """The object of `--json` for an event."""
    items = load_items(session.store, session.id, item_ids(stored.event, str(stored.version)))
    blocks = load_contents(session.store, items.values())
    return {
        "session": session.name,
        "version": stored.version,
        "handle": handle_of(stored.event) or None,
        "type": type_of(stored.event),
        "at": iso_time(stored.event.at_ms),
        "recorded_at": iso_time(stored.recorded_at // 1000),
        "actor": stored.actor,
        **{name.replace(" ", "_"): value for name, value in facts.items()},
        "from": provenance_json(came_from),
        "items": [
            {
                "item": item,
                "message": found.message,
                "role": found.role,
                "type": found.block.type,
                "origin": found.block.origin,
                "text": blocks[item].text,
            }
            for item, found in items.items()
        ],
    }


# -- shared -------------------------------------------------------------------------------------


def print_raw(
    session: Session, stored: StoredEvent, came_from: Provenance | None, out: Output
) -> None:
    """The record as it came; safe to print, byte-exact only with `export`."""
    if came_from is None:
        raise BadInput(
            f"Version {stored.version} came from no recording.", "It was made by ctxledger itself."
        )
    text = shown_bytes(record_bytes(session.ledger, came_from), limit=None)
    if out.is_json:
        source = provenance_json(came_from)
        out.json({"session": session.name, "version": stored.version, "raw": text, "from": source})
        return
    out.line(text.rstrip("\n"))


def shown_bytes(data: bytes, limit: int | None = BYTES_SHOWN) -> str:
    """Bytes as text; what is no UTF-8 is written as a hexadecimal escape."""
    text = data[:limit].decode("utf-8", "backslashreplace")
    cut_bytes = 0 if limit is None else max(0, len(data) - limit)
    return f"{text}\n... {cut_bytes:,} bytes more; --raw shows all" if cut_bytes else text


def print_fact(name: str, value: str, out: Output) -> None:
    """One `name: value` line; nothing for an empty value."""
    if value:
        out.line(Styled(f"{name}:", "dim"), f" {value}")


def print_provenance(came_from: Provenance | None, out: Output) -> None:
    """Source, line, bytes."""
    if came_from is not None:
        where = f"line {number(came_from.line)}, byte {number(came_from.offset)}"
        size = f"{number(came_from.length)} bytes"
        print_fact("from", f"{came_from.name}, {where}, {size}", out)


def provenance_json(came_from: Provenance | None) -> dict[str, object] | None:
    """Source, line, bytes as JSON."""
    if came_from is None:
        return None
    return {
        "source": came_from.name,
        "format": came_from.format,
        "line": came_from.line,
        "offset": came_from.offset,
        "length": came_from.length,
    }


def words_of(value: object) -> str:
    """A fact for a person."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return number(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(words_of, value))
    if isinstance(value, dict) and set(value) == {"n", "counter"}:
        return f"{number(value['n'])} ({value['counter']})"
    if isinstance(value, dict):
        return ", ".join(f"{k.replace('_', ' ')} {words_of(v)}" for k, v in value.items() if v)
    return "" if value is None else str(value)
