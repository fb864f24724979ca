"""Pictures of the dashboards over an invented hour, and of the pages of reports about examples/, in light and dark.

    python -m scripts.pictures [DASHBOARD or report …]

Of dashboards, Prometheus, the recording rules, the dashboards' own queries, and Grafana's components (@grafana/ui),
which draw the answers, are real; the series are invented. There is no Grafana server with panel plugins;
grafana/panels.jsx hands the components what these would hand them. It needs npm and node, Prometheus of the bundle
(make bundle) or of PATH, chromium-headless-shell and pngquant of Debian. npm's packages (460 MB) stay in the user's
cache.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.pictures.browser import SCHEMES, draw
from scripts.pictures.dashboard import CHOICES, build_dashboard
from scripts.pictures.grafana_page import bundle, install, write_page
from scripts.pictures.prometheus import open_prometheus

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
WIDTH = 1400
USAGE = ("--since", "30d", "--by", "namespace,model", "--from")
BEFORE_PROFILE, AFTER_PROFILE = "examples/profiles/before.json", "examples/profiles/after.json"
REPORTS = {
    "profile": (("profile", "analyze", BEFORE_PROFILE), (1000, 1000)),
    "compare": (("profile", "compare", BEFORE_PROFILE, AFTER_PROFILE), (1000, 1000)),
    "capacity": (("capacity", "report", *USAGE, "examples/usage/capacity.jsonl"), (1000, 1190)),
    "cost": (("cost", "report", *USAGE, "examples/usage/cost.jsonl"), (1000, 860)),
}
"""The words of a report, and width and height of its picture."""


def main(names: list[str]) -> None:
    picture_names = names or [*CHOICES, *REPORTS]
    if unknown_names := set(picture_names) - {*CHOICES, *REPORTS}:
        sys.exit(
            f"no picture is called {', '.join(sorted(unknown_names))}; there are {', '.join((*CHOICES, *REPORTS))}"
        )
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if board_names := [name for name in picture_names if name in CHOICES]:
            draw_dashboards(board_names, Path(folder))
        for name in filter(REPORTS.__contains__, picture_names):
            words, (width, height) = REPORTS[name]
            page = Path(folder) / f"{name}.html"
            page.write_text(render_report(words))
            draw_both(name, page, width, height)


def draw_dashboards(names: list[str], folder: Path) -> None:
    with open_prometheus(folder) as server:
        install()
        bundle(folder)
        for name in names:
            page, height = write_page(build_dashboard(name, server), folder)
            draw_both(name, page, WIDTH, height)


def draw_both(name: str, page: Path, width: int, height: int) -> None:
    for scheme in SCHEMES:
        picture = PICTURES / f"{name}-{scheme}.png"
        draw(page, picture, width=width, height=height, scheme=scheme)
        sys.stderr.write(f"{picture.relative_to(ROOT)}: {picture.stat().st_size} bytes\n")


def render_report(words: tuple[str, ...]) -> str:
    """Render the page of a report about examples/."""
    command = [str(Path(sys.executable).parent / "gpustack"), *words, "-o", "html"]
    process = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300, cwd=ROOT)
    if not process.stdout:
        sys.exit(process.stderr[-3000:])
    return process.stdout


if __name__ == "__main__":
    main(sys.argv[1:])
