"""From drafts to appended events: names, state, decisions, the writer."""
