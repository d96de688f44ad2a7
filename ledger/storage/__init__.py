"""The ledger file: one connection, the schema, events, contents and source bytes."""
