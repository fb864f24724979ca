"""Pages on which Grafana's own components draw a dashboard; npm's packages stay in the user's cache."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import platformdirs

SOURCE = Path(__file__).parent / "grafana"
CACHE = platformdirs.user_cache_path("gpustack") / "pictures"
LOADERS = [f"--loader:.{kind}=dataurl" for kind in ("woff", "woff2", "ttf", "svg")]
SHELL = """<!doctype html><meta charset="utf-8"><title>{title}</title><link rel="stylesheet" href="page.css">
<div id="root"></div><script>window.board = {board}</script><script src="page.js"></script>
"""
# Pixels: fields.js and page.jsx lay out by the same grid, which is Grafana's.
HEAD, CELL, EDGE = 56, 38, 8


def install() -> None:
    """Install the packages of the lock, unless they are there already. No package runs a script of its own."""
    lock_file = SOURCE / "package-lock.json"
    installed_lock = CACHE / "node_modules" / "package-lock.json"
    if installed_lock.is_file() and installed_lock.read_bytes() == lock_file.read_bytes():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    for file in ("package.json", "package-lock.json"):
        shutil.copy(SOURCE / file, CACHE)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=CACHE, check=True, timeout=1800)
    shutil.copy(lock_file, installed_lock)


def bundle(folder: Path) -> None:
    """Bundle page.js and page.css, which every page of the folder loads."""
    packages = CACHE / "node_modules"
    program = packages / "esbuild" / "bin" / "esbuild"
    options = ["--bundle", "--minify", '--define:process.env.NODE_ENV="production"', *LOADERS]
    command: list[str | Path] = [
        "node",
        program,
        SOURCE / "page.jsx",
        *options,
        f"--outfile={folder / 'page.js'}",
        "--log-level=error",
    ]
    subprocess.run(command, env=os.environ | {"NODE_PATH": str(packages)}, check=True, timeout=600)


def write_page(board: dict[str, Any], folder: Path) -> tuple[Path, int]:
    """Write the page, and return its file and its height in pixels."""
    page = folder / f"{board['uid']}.html"
    text = json.dumps(board).replace("</", "<\\/")
    page.write_text(SHELL.format(title=board["title"], board=text))
    bottom = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in board["panels"])
    return page, HEAD + bottom * CELL + EDGE
