"""Pictures of the dashboards and of a profile's page for the documents, in light and dark, over an invented hour.

    python -m scripts.pictures [DASHBOARD or profile …]

Prometheus, the recording rules, the dashboards' own queries, and Grafana's components (@grafana/ui), which draw the
answers, are real; the series are invented. There is no Grafana server with panel plugins; grafana/panels.jsx hands the
components what these would hand them. It needs npm and node, Prometheus of the bundle (make bundle) or of PATH,
chromium-headless-shell and pngquant of Debian. npm's packages (460 MB) stay in the user's cache.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.pictures.browser import SCHEMES, draw
from scripts.pictures.cluster import NAMESPACE
from scripts.pictures.dashboard import CHOSEN, build_dashboard
from scripts.pictures.grafana_page import bundle, install, write_page
from scripts.pictures.prometheus import Prometheus, open_prometheus

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
WIDTH = 1400
PROFILE, PROFILE_SIZE = "profile", (1000, 1192)


def main(names: list[str]) -> None:
    wanted = names or [*CHOSEN, PROFILE]
    if unknown := set(wanted) - {*CHOSEN, PROFILE}:
        sys.exit(f"no picture is called {', '.join(sorted(unknown))}; there are {', '.join((*CHOSEN, PROFILE))}")
    boards = [name for name in wanted if name in CHOSEN]
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, open_prometheus(Path(folder), recorded=bool(boards)) as server:
        if boards:
            install()
            bundle(Path(folder))
        for name in boards:
            page, height = write_page(build_dashboard(name, server), Path(folder))
            draw_both(name, page, WIDTH, height)
        if PROFILE in wanted:
            page = Path(folder) / "profile.html"
            page.write_text(render_profile(server))
            draw_both(PROFILE, page, *PROFILE_SIZE)


def draw_both(name: str, page: Path, width: int, height: int) -> None:
    for scheme in SCHEMES:
        picture = PICTURES / f"{name}-{scheme}.png"
        draw(page, picture, width=width, height=height, scheme=scheme)
        sys.stderr.write(f"{picture.relative_to(ROOT)}: {picture.stat().st_size} bytes\n")


def render_profile(server: Prometheus) -> str:
    """Render the page of `profile analyze` about the training of the invented hour."""
    words = ["--prometheus", server.url, "--pod", f"{NAMESPACE}/train-0", "--since", "1h", "-o", "html"]
    command = [str(Path(sys.executable).parent / "gpustack"), "profile", "analyze", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    if not done.stdout:
        sys.exit(done.stderr[-3000:])
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1:])
