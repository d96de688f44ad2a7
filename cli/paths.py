"""What a path on the command line names, asked so that no path can stop the program.

A name may be too long for the system, or stand in a folder that one may not enter; `Path.exists`
and its like raise then. Knows nothing about what the files hold.
"""

from __future__ import annotations

import stat
from pathlib import Path


def is_there(path: str | Path) -> bool:
    """True when something has this name, as far as one may look."""
    return _mode(path) != 0


def is_folder(path: str | Path) -> bool:
    """True for an existing folder."""
    return stat.S_ISDIR(_mode(path))


def is_regular(path: str | Path) -> bool:
    """True for an existing plain file."""
    return stat.S_ISREG(_mode(path))


def is_pipe_or_device(path: str | Path) -> bool:
    """True for what can be read only once: a named pipe, a pipe of the shell, a terminal."""
    mode = _mode(path)
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def is_hidden(path: str | Path) -> bool:
    """True when one may not look whether it is there."""
    try:
        Path(path).stat()
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _mode(path: str | Path) -> int:
    """Kind and permissions; 0 when there is nothing, or nothing that one may look at."""
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):
        return 0
