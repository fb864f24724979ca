"""The commands that the documents show, in their order."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / "examples").glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "values").rglob("*.md"),
    }
)
SHELLS = ("bash", "sh", "console")


def list_blocks(text: str) -> Iterator[tuple[str, str]]:
    """List language and text of each fenced block."""
    for indent, language, body in re.findall(r"(?ms)^( *)```(\w*)[^\n`]*\n(.*?)^ *```[ ]*$", text):
        yield language, re.sub(rf"(?m)^{indent}", "", body)


def list_commands(path: Path) -> list[str]:
    """List whole commands of the blocks of a shell, without prompt and comment; lines that end with a backslash are
    joined. Output in a `console` block is none."""
    errors = []
    for language, body in list_blocks(path.read_text()):
        if language not in SHELLS:
            continue
        lines = re.sub(r"\\\n\s*", "", body).splitlines()
        if language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        errors += [text for line in lines if (text := re.sub(r"(^|\s+)# .*", "", line).rstrip())]
    return errors
