"""Versions of the program, and how they are rendered."""

from gpustack.config.program_versions import ProgramVersions
from gpustack.report import version
from tests.unit.report.screen import print_screen

VERSIONS = ProgramVersions(
    "0.1.0", "2026-11", {"kubernetes": "1.36.4", "containerd": "2.3.7", "flannel": "0.28.9"}, "3.11.7", "2.19.14"
)
RENDERINGS = {
    "version.txt": lambda: print_screen(lambda screen: version.render_human(screen, VERSIONS)),
    "version.json": lambda: version.render_json(VERSIONS),
}
