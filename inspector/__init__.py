"""The terminal inspector: a read-only view of a ledger."""
