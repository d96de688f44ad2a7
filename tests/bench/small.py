"""The small size, as CI runs it: figures are printed, machines are not judged by them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

root = Path(__file__).parents[2]
sys.exit(subprocess.run([sys.executable, "-m", "tests.bench", "--small"], cwd=root).returncode)
