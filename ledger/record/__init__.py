"""Live recording: a pipe, a growing file."""
