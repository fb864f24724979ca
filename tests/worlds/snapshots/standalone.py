"""A host without Kubernetes: w1, as the three steps for such hosts leave it. A test changes what it needs."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.host import STANDALONE, Host
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.standalone.units import ENGINE
from gpustack.steps.standalone import care, exporters, monitoring
from gpustack.steps.standalone.files import Service, map_job_ports
from gpustack.steps.standalone.rules import derive_rules
from gpustack.steps.step import Step
from tests.worlds.snapshots.answers import make_answer, read_case
from tests.worlds.snapshots.build import Answers, build
from tests.worlds.snapshots.hosts import SPEC
from tests.worlds.snapshots.hosts import load_answers as of_nodes
from tests.worlds.snapshots.judge import judge_checks

W1 = Host("w1", "10.77.1.13", groups=frozenset({STANDALONE}))


def read_answers(state: str = "prepared") -> dict[tuple[str, str], Answer]:
    """Read what a host of a cluster answers to the probes that a host without Kubernetes gets, too."""
    return {(probe, "w1"): answer for (probe, host), answer in of_nodes(state).items() if host == "h1"}


def build_snapshot(answers: Answers, spec: Mapping[str, Any] | None = None) -> Snapshot:
    return build([W1], answers, SPEC | dict(spec or {}))


def format_programs(services: list[Service], engine: str = "nv-hostengine -n") -> str:
    """Format what standalone.programs answers where these run."""
    lines = [f"{service.unit} loaded active enabled yes {service.command}" for service in services]
    packages = [f"{name} hold installed {version}-1" for name, version in VERSIONS.items()]
    packages += [f"{name} install installed 2.42.0+ds-5" for name in ("prometheus-node-exporter", "prometheus")]
    packages += ["prometheus-alertmanager install installed 0.25.0-1"]
    parts = {"packages": packages, "units": [f"{ENGINE} loaded active enabled no {engine}", *lines], "secrets": []}
    output_lines = [line for name, part_lines in parts.items() for line in (f"== {name}", *part_lines)]
    return "".join(f"{line}\n" for line in [*output_lines, "== end"])


VERSIONS = {
    "datacenter-gpu-manager-4-core": "1:4.6.0",
    "datacenter-gpu-manager-4-proprietary": "1:4.6.0",
    "datacenter-gpu-manager-exporter": "4.8.3",
}


def format_watching(view: View, *, down_target: str = "") -> str:
    """Format what standalone.watching answers where our rules are loaded and all jobs but one are up."""
    path = next(
        file.path
        for service in monitoring.build_installation(view).services
        for file in service.files
        if "/rules-" in file.path
    )
    groups = "".join(
        f'prometheus_rule_group_rules{{rule_group="{path};{group["name"]}"}} {len(group["rules"])}\n'
        for group in derive_rules(view)["groups"]
    )
    samples = ",".join(
        f'{{"metric":{{"job":"{job}"}},"value":[1,"{int(job != down_target)}"]}}' for job in map_job_ports(view)
    )
    uptime = f'{{"data":{{"result":[{samples}]}}}}'
    return f"== ready\nprometheus\nprometheus-alertmanager\n== rules\n{groups}== up\n{uptime}\n== end\n"


def format_care_timer(view: View) -> str:
    """Format what standalone.care-timer answers where the timer is as the spec asks for."""
    units = care.build_units(view)
    lines = [f"unit {name} {hashlib.sha256(text.encode()).hexdigest()} no" for name, text in units.items()]
    state = "timer active enabled" if units else "timer inactive -"
    results = [f"result {name}" for name in care.FILES] if units else []
    return "".join(f"{line}\n" for line in [*lines, state, *results])


def build_installed_answers(
    spec: Mapping[str, Any] | None = None, *, down_target: str = ""
) -> dict[tuple[str, str], Answer]:
    packages = replace(make_answer("standalone.programs", format_programs([])), location="w1")
    view = View(build_snapshot(read_answers() | {("standalone.programs", "w1"): packages}, spec), "w1")
    programs = [*exporters.build_installation(view).services, *monitoring.build_installation(view).services]
    number = len(view[GPU_DEVICES])
    installed_answers = (
        make_answer("standalone.programs", format_programs(programs)),
        make_answer("standalone.exported", f"gpus {number}\nnode yes\n"),
        make_answer("standalone.watching", format_watching(view, down_target=down_target)),
        make_answer("standalone.care-timer", format_care_timer(view)),
        read_case("gpu.host-engines", "dcgm-4"),
    )
    return read_answers() | {(answer.probe, "w1"): replace(answer, location="w1") for answer in installed_answers}


def judge(
    step: Step, changed_answers: Answers | None = None, spec: Mapping[str, Any] | None = None, *, down_target: str = ""
) -> dict[str, Judgement]:
    return judge_checks(
        step,
        build_snapshot(build_installed_answers(spec, down_target=down_target) | dict(changed_answers or {}), spec),
        "w1",
    )
