"""Windows rendered as requests: as recorded, or valid for sending."""
