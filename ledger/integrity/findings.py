"""What an integrity check has found so far, and reading on where rows are damaged.

Knows nothing about what is in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import UnionType

from msgspec import Struct

from ..errors import CorruptLedger
from ..storage.connection import Connection, Row

PROBLEMS_MAX = 1000
"""More are counted, not listed."""


class Problem(Struct, frozen=True):
    """One thing that is not as it was written."""

    session: str
    """Name of the session, "" when it concerns the ledger as a whole."""
    version: int
    """The event of the session, 0 when it is no single one."""
    problem: str


class Findings:
    """Collects problems; sessions get their names at the end, when these are known."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        """Session id -> name."""
        self._found: list[tuple[str, int, int]] = []
        self._left_out = 0

    def add(self, problem: str, session: int = 0, version: int = 0) -> None:
        """Note a problem, of the whole ledger unless a session is given."""
        if len(self._found) < PROBLEMS_MAX:
            self._found.append((problem, session, version))
        else:
            self._left_out += 1

    def problems(self) -> tuple[Problem, ...]:
        """All of them, in the order found."""
        out = [
            Problem(self.names.get(session, f"#{session}") if session else "", version, problem)
            for problem, session, version in self._found
        ]
        if self._left_out:
            out.append(Problem("", 0, f"and {self._left_out} more problems"))
        return tuple(out)


def rows_left(
    db: Connection,
    findings: Findings,
    table: str,
    columns: str,
    types: Sequence[type | UnionType],
    where: tuple[str, int] | None = None,
) -> Iterator[Row]:
    """Rows of a table in order; around an unreadable place it goes on from the other end.

    A row with values of other types is noted and left out: types in a damaged file are damage.

    Args:
        columns: the first one orders the rows, and is unique within those asked for.
        types: one for each column.
        where: (column, value) that rows must have.
    """
    order = columns.partition(",")[0]
    condition, values = (f"WHERE {where[0]} = ?", (where[1],)) if where is not None else ("", ())
    last = None
    try:
        query = f"SELECT {columns} FROM {table} {condition} ORDER BY {order}"
        for row in db.rows(query, values):
            last = row[0]
            if all(map(isinstance, row, types)):
                yield row
            else:
                findings.add(f"{table}: the row at {order} {row[0]!r} has values of other types")
        return
    except CorruptLedger as error:
        behind = "" if last is None else f" behind {order} {last}"
        findings.add(f"{table} cannot be read{behind}: {error.message}")
    tail: list[Row] = []
    try:
        for row in db.rows(f"{query} DESC", values):
            if last is not None and row[0] <= last:
                break
            if all(map(isinstance, row, types)):
                tail.append(row)
    except (CorruptLedger, TypeError):
        pass  # this is where the damage begins, seen from the end
    yield from reversed(tail)
