"""Statuses for the reports: a recorded cluster with a lost GPU, in which no alert has a state."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from gpustack.ask.recording import read_recording
from gpustack.report.status import json, text
from gpustack.rollout.status import LastRun, build_status
from tests.unit.report.screen import print_screen

RECORDING = Path(__file__).parents[3] / "examples" / "recordings" / "gpu-fell-off-bus.jsonl"
LAST_RUN = LastRun("install", datetime(2026, 11, 29, 22, 10, tzinfo=UTC), Path("runs/20261129T221000-install-7"))
STATUS = build_status(read_recording(RECORDING), LAST_RUN)
RENDERINGS: dict[str, Callable[[], str]] = {
    "status-unknown.txt": lambda: print_screen(lambda screen: text.render_human(screen, STATUS)),
    "status-unknown.json": lambda: json.render_json(STATUS),
}
