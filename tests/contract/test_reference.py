"""docs/commands.md and docs/settings.md are as the code has them."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_pages_are_as_the_code_has_them() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "reference"), "--check"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, f"{process.stdout}{process.stderr}run `scripts/reference` and read what changed"


def test_every_command_and_every_key_has_a_row() -> None:
    """docs/surface.txt and `gpustack init` list them by another way."""
    from gpustack.config.example import SPEC, render_example

    surface, commands = ((ROOT / "docs" / name).read_text() for name in ("surface.txt", "commands.md"))
    names = {line.removeprefix("command ") for line in surface.splitlines() if line.startswith("command ")}
    assert names == {line.removeprefix("## ") for line in commands.splitlines() if line.startswith("## ")}
    settings = (ROOT / "docs" / "settings.md").read_text()
    keys = set(re.findall(r"(?m)^ +(?:# +)?(?:- )?([a-z_]+): ", render_example()[SPEC]))
    assert keys
    assert sorted(key for key in keys if f".{key}`" not in settings and f"`{key}`" not in settings) == []


def test_the_help_has_no_types_of_python() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    assert re.findall(r"<[^>\n]*(?:list\[|str|int)\b[^>\n]*>", text) == []
