"""What all screens have in common: the app's type, one step back, the path line."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

from textual.screen import Screen

from ..actions import Place

if TYPE_CHECKING:
    from ..app import InspectorApp

Result = TypeVar("Result")


class LedgerScreen(Screen[Result], Generic[Result]):
    """A screen of the inspector."""

    PLACE: ClassVar[Place] = "app"
    """Where its actions stand in the table."""

    @property
    def inspector(self) -> InspectorApp:
        """The app, typed."""
        return cast("InspectorApp", self.app)
