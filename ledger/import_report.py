"""What an import did, for people and programs.

Knows nothing about how it is done.
"""

from __future__ import annotations

from msgspec import Struct


class SessionCount(Struct):
    """What one import did to one session."""

    session: str
    format: str = ""
    records: int = 0
    new_events: int = 0
    quarantined: int = 0


class Report(Struct):
    """What one import did."""

    source: str
    format: str
    is_known: bool = False
    """The source (or an earlier, shorter state of it) was in the ledger already."""
    records: int = 0
    new_records: int = 0
    duplicates: int = 0
    conflicts: int = 0
    """Records whose id is known with other bytes; kept and quarantined."""
    repaired: int = 0
    unknown: dict[str, int] = {}
    """Unknown record types and how often."""
    pending_bytes: int = 0
    """A half last record, left for later."""
    secrets: dict[str, int] = {}
    """Credentials in new records by kind, where they were looked for."""
    are_secrets_redacted: bool = False
    """These were not stored."""
    warnings: list[str] = []
    sessions: dict[str, SessionCount] = {}

    @property
    def quarantined(self) -> int:
        """Records that could not be read."""
        return sum(count.quarantined for count in self.sessions.values())
