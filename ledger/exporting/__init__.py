"""Sessions as native JSONL."""
