"""Statuses for the reports: a recorded cluster with a lost GPU, without the answer that has the states of alerts."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gpustack.ask.recording import read_recording
from gpustack.probes.monitoring.alerting import RULE_GROUPS
from gpustack.report.status import json, text
from gpustack.rollout.status import LastRun, build_status
from tests.unit.report.screen import print_screen

RECORDING = Path(__file__).parents[3] / "examples" / "recordings" / "gpu-fell-off-bus.jsonl"
LAST_RUN = LastRun("install", datetime(2026, 11, 29, 22, 10, tzinfo=UTC), Path("runs/20261129T221000-install-7"))
SNAPSHOT = read_recording(RECORDING)
ANSWERS = {key: answer for key, answer in SNAPSHOT.answers.items() if answer.probe != RULE_GROUPS.id}
STATUS = build_status(replace(SNAPSHOT, answers=ANSWERS), LAST_RUN)
RENDERINGS: dict[str, Callable[[], str]] = {
    "status-unknown.txt": lambda: print_screen(lambda screen: text.render_human(screen, STATUS)),
    "status-unknown.json": lambda: json.render_json(STATUS),
}
