"""The bundled recording: a real session, see demo/NOTICE.

Knows nothing about what is done with it.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

SESSION = "demo"
RECORDING_BYTES_MAX = 8 * 1024 * 1024


def recording() -> bytes:
    """The bytes of the recording, as its agent wrote them."""
    from zstandard import ZstdDecompressor

    packed = files(__package__).joinpath("demo", "session.jsonl.zst").read_bytes()
    return ZstdDecompressor().decompress(packed, max_output_size=RECORDING_BYTES_MAX)


def write_recording(path: Path) -> None:
    """Write it to a new file that only its owner reads.

    Raises:
        FileExistsError: there is one.
    """
    with path.open("xb") as file:
        path.chmod(0o600)
        file.write(recording())
