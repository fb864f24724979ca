"""How a check is asked on recorded answers, and what it said."""

from collections.abc import Mapping
from typing import Any

from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.doctor.diagnose import judge
from gpustack.doctor.finding import Judged
from gpustack.doctor.tells import registry
from tests.unit.steps import recorded_hosts as hosts


def asked(id: str, snapshot: Snapshot, where: str = "h1") -> Judged:
    return judge(registry().tellers[id], View(snapshot, where))


def on_host(id: str, answers: Mapping[str, Answer], **world: Any) -> Judged:
    changed = {(probe, "h1"): answer for probe, answer in answers.items()}
    return asked(id, hosts.snapshot(changed, {}, hosts.World(**world)))


def told(found: Judged) -> tuple[str, str]:
    return found.outcome, found.told.found if found.told else found.why
