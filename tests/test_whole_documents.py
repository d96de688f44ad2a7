"""Cassettes that begin alike are sources of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxledger.ledger import Ledger
from ctxledger.ledger.importing import import_file


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_cassettes_with_the_same_first_line_are_not_one_source(
    provider: str, recordings: Path
) -> None:
    files = sorted((recordings / provider).glob("*.yaml"))
    assert len(files) >= 3
    with Ledger.open() as ledger:
        for file in files:
            report = import_file(ledger, file)
            assert (report.warnings, report.duplicates) == ([], 0)
        for file in files:
            again = import_file(ledger, file)
            assert (again.is_known, again.new_records, again.warnings) == (True, 0, [])
