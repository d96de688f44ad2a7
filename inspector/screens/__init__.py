"""One screen in each file."""
