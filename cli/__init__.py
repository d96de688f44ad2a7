"""The command line: a thin face over `ctxledger.ledger`."""
