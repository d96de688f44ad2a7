"""One widget in each file."""
