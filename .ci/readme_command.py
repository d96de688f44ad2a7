"""Print the set-up command of README that holds a word: `readme_command.py README.md pytest`."""

import re
import sys
from pathlib import Path

path, word = sys.argv[1:]
section = Path(path).read_text("utf-8").split("## Set up", 1)[1].split("\n## ", 1)[0]
commands = re.findall(r"```sh\n(.*?)\n```", section, flags=re.DOTALL)
(command,) = (command for command in commands if word in command)
print(command)
