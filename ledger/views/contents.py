"""A window with its contents: structure from the store, joined with blocks and their texts.

Knows nothing about terminals and providers' requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ..blocks import in_place_of, keys_in, load_block, without_contents
from ..content import CALL_TYPES, Block, Origin, is_result, readable
from ..errors import CorruptLedger
from ..events import StoredBlock, messages_of
from ..render.base import Placed
from ..storage.store import Store
from ..window import Entry, Window, is_item_id
from .context_size import ContextSize

CATEGORIES = (
    "system",
    "tools",
    "brief",
    "human",
    "assistant",
    "thinking",
    "calls",
    "results",
    "harness",
    "images",
    "other",
)
"""What a window's tokens are for, in the order they are shown."""


class StoredItem(Struct, frozen=True, gc=False):
    """An item as its event holds it."""

    item: str
    message: str
    role: str
    block: StoredBlock


class ViewEntry(Struct, frozen=True):
    """One entry of a window as people see it."""

    key: str
    item: str
    form: str
    message: str
    role: str
    type: str
    origin: Origin
    category: str
    tokens: int
    block: Block
    """What the model saw of it, in this form."""

    @property
    def text(self) -> str:
        """Its readable words. Untrusted: `plaintext.plain` before it reaches a terminal."""
        return readable(self.block)


class WindowView(Struct, frozen=True):
    """A window at a version, with contents and numbers."""

    session: str
    version: int
    view: str
    """`sent` or `effective`."""
    coverage: str
    entries: tuple[ViewEntry, ...]
    tokens_method: str
    """Who counted `tokens` and each entry: `tokenizer/...` or `estimate/...`."""
    reported: int | None = None
    """Context size of the last call up to here, as its provider reported it."""
    unrecorded: int | None = None
    """`reported` minus what we count of the window that call saw; None = nothing reported."""
    limit: int | None = None
    limit_source: str = "unknown"
    """`user`, a dated table of models, or `unknown`."""
    context: ContextSize | None = None
    """How large it is to its model; None = nothing true can be said."""

    @property
    def tokens(self) -> int:
        """Counted tokens of all entries."""
        return sum(entry.tokens for entry in self.entries)

    @property
    def categories(self) -> dict[str, int]:
        """Tokens by category; the sum is `tokens`."""
        totals = dict.fromkeys(CATEGORIES, 0)
        for entry in self.entries:
            totals[entry.category] += entry.tokens
        return {name: n for name, n in totals.items() if n}

    def text(self) -> str:
        """The readable words of the window, messages apart by a blank line."""
        return "\n\n".join(f"[{e.role} {e.item}]\n{e.text}" for e in self.entries)


def category_of(role: str, block_type: str, origin: str, form: str) -> str:
    """The category an entry's tokens belong to."""
    if form == "brief" or origin == "summary" or block_type == "compaction":
        return "brief"
    if role in ("system", "tools"):
        return role
    if role == "developer":
        return "system"
    if block_type in ("image", "document"):
        return "images"
    if is_result(block_type):
        return "results"
    if block_type in CALL_TYPES:
        return "calls"
    if block_type in ("thinking", "redacted_thinking"):
        return "thinking"
    if origin in ("human", "assistant"):
        return origin
    return "harness" if origin in ("harness", "hook", "system") else "other"


def load_items(store: Store, session: int, items: Iterable[str]) -> dict[str, StoredItem]:
    """Items as stored, by id; unknown ones are left out."""
    wanted = set(filter(is_item_id, items))
    events = store.read_many(session, {int(item.partition(".")[0]) for item in wanted})
    found: dict[str, StoredItem] = {}
    for version, event in events.items():
        index = 0
        for message in messages_of(event):
            for block in message.blocks:
                item = f"{version}.{index}"
                index += 1
                if item in wanted:
                    found[item] = StoredItem(item, message.message, message.role, block)
    return found


def load_contents(store: Store, items: Iterable[StoredItem]) -> dict[str, Block]:
    """Blocks with contents, by item id."""
    wanted = list(items)
    bodies = store.bodies.get_many(key for item in wanted for key in keys_in(item.block))
    return {item.item: load_block(item.block, bodies) for item in wanted}


def load_sound_contents(
    store: Store, items: Iterable[StoredItem]
) -> tuple[dict[str, Block], frozenset[str]]:
    """Blocks with contents, by item id; a damaged one says so in the place of its contents.

    Returns:
        (all blocks, ids of the damaged items).
    """
    wanted = list(items)
    bodies, faults = store.bodies.get_sound(k for item in wanted for k in keys_in(item.block))
    blocks: dict[str, Block] = {}
    damaged: set[str] = set()
    for item in wanted:
        fault = next((faults[key] for key in keys_in(item.block) if key in faults), None)
        if fault is None:
            blocks[item.item] = load_block(item.block, bodies)
        else:
            blocks[item.item] = without_contents(item.block, f"[{fault.message}]")
            damaged.add(item.item)
    return blocks, frozenset(damaged)


def place(
    entries: Sequence[Entry], items: dict[str, StoredItem], blocks: dict[str, Block]
) -> tuple[Placed, ...]:
    """Join entries with their items and contents, in window order.

    Raises:
        CorruptLedger: an entry stands for an item that is nowhere.
    """
    placed = []
    for entry in entries:
        item_id = entry.item or entry.key
        try:
            item = items[item_id]
            block = blocks[item_id]
            if entry.text and entry.text != item_id:
                block = in_place_of(block, blocks[entry.text])
        except KeyError as error:
            raise CorruptLedger(
                f"The item {error.args[0]} of the window is not in the ledger.",
                "Run `ctxledger verify`.",
            ) from error
        placed.append(Placed(item_id, entry.form, item.message, item.role, block))
    return tuple(placed)


def load_window(store: Store, session: int, window: Window) -> tuple[Placed, ...]:
    """The entries of a window with their contents."""
    wanted = {e.item_id for e in window.entries} | {e.text_id for e in window.entries}
    items = load_items(store, session, wanted)
    return place(window.entries, items, load_contents(store, items.values()))


def behind_compaction(entries: Sequence[ViewEntry]) -> tuple[ViewEntry, ...]:
    """What the provider leaves of a request: nothing before the last `compaction` block.

    One without a summary is a failed compaction, which the provider ignores.
    Source: Anthropic's server-side compaction (`compact_20260112`); system and tools stay.
    """
    made = (n for n, e in enumerate(entries) if e.type == "compaction" and _has_summary(e.block))
    last = max(made, default=0)
    fixed = [e for e in entries[:last] if e.role in ("system", "tools")]
    return (*fixed, *entries[last:])


def _has_summary(block: Block) -> bool:
    return bool(block.text) and not block.is_json
