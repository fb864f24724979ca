"""Pictures of pages by headless Chromium (Debian: chromium-headless-shell), with fewer colours by pngquant."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
SIZE_LIMIT = 250_000
SCHEMES = {"dark": 0, "light": 1}
"""Chromium's numbers of `prefers-color-scheme` (third_party/blink/public/mojom/css/preferred_color_scheme.mojom)."""


def draw(page: Path, picture: Path, *, width: int, height: int, scheme: str) -> None:
    """Draw the picture. Exit where it becomes too large for a repository."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not browser:
        sys.exit(f"none of {', '.join(BROWSERS)} is on PATH")
    with tempfile.TemporaryDirectory() as profile:
        output_options = [f"--screenshot={picture}", f"--window-size={width},{height}", f"--user-data-dir={profile}"]
        mode_options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
        ]
        page_options = ["--virtual-time-budget=20000", f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}"]
        words = [browser, *mode_options, *page_options, *output_options, page.as_uri()]
        process = subprocess.run(words, check=False, timeout=300, capture_output=True, text=True)
    if process.returncode or not picture.is_file():
        sys.exit(f"{browser} drew nothing\n{process.stderr[-3000:]}")
    if quantiser := shutil.which("pngquant"):
        subprocess.run([quantiser, "--force", "--strip", "--ext=.png", "96", picture], check=True, timeout=300)
    if (size := picture.stat().st_size) > SIZE_LIMIT:
        sys.exit(f"{picture}: {size} bytes, more than {SIZE_LIMIT}")
