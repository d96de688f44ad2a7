"""Proof that nothing was changed, removed or damaged."""
