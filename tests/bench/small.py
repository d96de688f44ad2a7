"""The small size, as CI runs it: figures are printed, machines are not judged by them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

root = Path(__file__).parents[2]
command = [sys.executable, "-m", "tests.bench", "--small"]
sys.exit(subprocess.run(command, cwd=root, check=False).returncode)
