"""The one table of what a person can do; keys, palette, footer and help come from it.

Knows nothing about what the actions do: `method` names an `action_...` of the widget, screen
or app that the place belongs to.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from textual.binding import Binding, BindingType

Place = Literal["list", "sessions", "session", "item", "diff", "search", "rollback", "goto", "app"]
PLACE_NAMES: dict[Place, str] = {
    "app": "Everywhere",
    "list": "In every list",
    "sessions": "Sessions",
    "session": "Timeline and window",
    "item": "One item",
    "diff": "Difference",
    "search": "Search",
    "rollback": "Roll back",
    "goto": "Go to",
}


class Action(Struct, frozen=True, kw_only=True):
    """Something a person can do at a place."""

    id: str
    """Stable name, for keymaps: `session.diff`."""
    place: Place
    keys: str
    """Keys apart by commas, as Textual names them."""
    shown: str = ""
    """How help and footer write the keys; "" = as Textual does."""
    method: str
    description: str
    tooltip: str
    is_in_footer: bool = False
    is_in_palette: bool = True


def _do(
    id: str,  # noqa: A002 - the field's name
    keys: str,
    method: str,
    description: str,
    tooltip: str,
    *,
    shown: str = "",
    footer: bool = False,
    palette: bool = True,
) -> Action:
    place: Place = id.partition(".")[0]  # type: ignore[assignment]
    return Action(
        id=id,
        place=place,
        keys=keys,
        shown=shown,
        method=method,
        description=description,
        tooltip=tooltip,
        is_in_footer=footer,
        is_in_palette=palette,
    )


ACTIONS: tuple[Action, ...] = (
    _do("app.help", "question_mark,f1", "help", "Help", "All keys, place by place", shown="?",
        footer=True),
    _do("app.quit", "q,ctrl+q", "quit", "Quit", "Leave the inspector", shown="q"),
    _do("app.back", "escape,h", "step_back", "Back", "One step back", shown="esc", palette=False),
    _do("app.refresh", "f5,ctrl+r", "refresh", "Read again",
        "Read the ledger again: another process may have written to it", shown="f5"),
    _do("app.palette", "ctrl+p,colon", "command_palette", "Palette", "Find an action by its name",
        shown="ctrl+p", palette=False),
    _do("list.down", "j,down", "down", "Down", "One line down", shown="j ↓", palette=False),
    _do("list.up", "k,up", "up", "Up", "One line up", shown="k ↑", palette=False),
    _do("list.page_down", "pagedown,ctrl+d,space", "page_down", "Page down", "One page down",
        shown="space pgdn", palette=False),
    _do("list.page_up", "pageup,ctrl+u,b", "page_up", "Page up", "One page up", shown="b pgup",
        palette=False),
    _do("list.top", "g,home", "top", "First", "To the first line", shown="g", palette=False),
    _do("list.bottom", "G,end", "bottom", "Last", "To the last line", shown="G", palette=False),
    _do("list.choose", "enter,l,right", "choose", "Open", "Open what is selected", shown="enter",
        footer=True, palette=False),
    _do("sessions.search", "slash", "search", "Search", "Search all sessions, also what left"
        " the window", shown="/", footer=True),
    _do("session.search", "slash", "search", "Search", "Search this session, also what left the"
        " window", shown="/", footer=True),
    _do("session.diff", "d", "diff", "Diff", "What changed in the window against the version"
        " before (for a compaction: what it dropped)", footer=True),
    _do("session.previous_compaction", "left_square_bracket", "compaction(-1)",
        "Previous compaction", "Select the compaction before", shown="["),
    _do("session.next_compaction", "right_square_bracket", "compaction(1)", "Next compaction",
        "Select the next compaction", shown="]", footer=True),
    _do("session.next_hit", "n", "hit(1)", "Next hit", "Select the next hit of the last search"),
    _do("session.previous_hit", "N", "hit(-1)", "Previous hit", "Select the hit before"),
    _do("session.goto", "ctrl+g", "goto", "Go to", "Go to a version, c1, e2, r1, call7, c1^,"
        " head~3 or @2026-11-30T14:00", shown="ctrl+g"),
    _do("session.view", "v", "toggle_view", "Sent / effective", "What the client sent, or what"
        " the model saw after provider-side edits"),
    _do("session.undo", "u", "undo", "Undo", "Roll back the selected compaction, eviction or"
        " roll-back (else the last compaction in force); shows what would happen first",
        footer=True),
    _do("session.restore", "r", "restore", "Restore", "Bring back the window of the selected"
        " version; shows what would happen first"),
    _do("session.copy", "y", "copy", "Copy", "Copy the raw text of what is selected through the"
        " terminal (OSC 52)"),
    _do("session.save", "w", "save", "Write to file", "Write the raw text of what is selected to"
        " a file in the current folder"),
    _do("session.pane", "tab", "other_pane", "Other pane", "Between timeline and window",
        palette=False),
    _do("item.copy", "y", "copy", "Copy", "Copy the raw text through the terminal (OSC 52)",
        footer=True),
    _do("item.save", "w", "save", "Write to file", "Write the raw text to a file in the current"
        " folder", footer=True),
    _do("item.introduced", "o", "origin", "Where it began", "Select the event that introduced"
        " it"),
    _do("diff.copy", "y", "copy", "Copy", "Copy the raw text of the selected item (OSC 52)",
        footer=True),
    _do("search.list", "down,tab", "to_list", "To the hits", "From the query to the hits",
        shown="↓", footer=True, palette=False),
    _do("search.query", "slash", "to_query", "To the query", "Change the query", shown="/",
        footer=True, palette=False),
    _do("rollback.yes", "y", "yes", "Yes, append it", "Append the roll-back; nothing is deleted",
        footer=True, palette=False),
    _do("rollback.no", "n", "no", "No", "Leave everything as it is", footer=True, palette=False),
    _do("goto.cancel", "escape", "cancel", "Cancel", "Stay where you are", shown="esc",
        palette=False),
)  # fmt: skip


def actions_of(place: Place) -> list[Action]:
    """What can be done at a place, in the order of the table."""
    return [action for action in ACTIONS if action.place == place]


def bindings(place: Place) -> list[BindingType]:
    """Textual's bindings for a place: only the first key of an action is in the footer."""
    out: list[BindingType] = []
    for action in actions_of(place):
        for index, key in enumerate(action.keys.split(",")):
            out.append(
                Binding(
                    key,
                    action.method,
                    action.description,
                    show=action.is_in_footer and index == 0,
                    key_display=action.shown or None,
                    tooltip=action.tooltip,
                    id=action.id if index == 0 else f"{action.id}.{index}",
                )
            )
    return out


def keys_in_words(action: Action) -> str:
    """`?`, `ctrl+g`, `d`."""
    return action.shown or action.keys.partition(",")[0]
