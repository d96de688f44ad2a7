"""What left the window, found again: search it, and blame what took it away.

The public face of searching.py and blaming.py. Knows nothing about terminals.
"""

from __future__ import annotations

from .blaming import Life, blame_item, blame_text
from .searching import Hit, search

__all__ = ["Hit", "Life", "blame_item", "blame_text", "search"]
