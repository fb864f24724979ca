"""A healthy cluster of two hosts, k1 (control plane) and k2, made of recorded answers; a test changes what it needs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.rollout.plan import StepState, plan
from gpustack.steps.step import Step

CASES = Path(__file__).parents[2] / "cases"
K1 = Host("k1", "10.78.0.11", groups=frozenset({CONTROL_PLANE}))
K2 = Host("k2", "10.78.0.12", groups=frozenset({NODE}))
TAKEN = datetime(2026, 11, 21, 5, tzinfo=UTC)
ACTIVE = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nActiveEnterTimestamp=@1795237377"
STOPPED = "LoadState=loaded\nActiveState=inactive\nUnitFileState=enabled\nActiveEnterTimestamp="
ABSENT = "LoadState=not-found\nActiveState=inactive\nUnitFileState=\nActiveEnterTimestamp="
# What the recorded cluster was made with.
SPEC: dict[str, Any] = {
    "kubernetes": {"version": "1.36.4"},
    "kubelet": {"failCgroupV1": False},
    "kube_proxy": {"conntrack": {"max_per_core": 0, "min": 0}},
    "swap": "keep",
}

Answers = Mapping[tuple[str, str], Answer]


def recorded(probe: str, case: str, *edits: tuple[str, str]) -> Answer:
    """The answer of a case file, with words replaced; each must be there."""
    found = json.loads((CASES / probe / f"{case}.json").read_text())["answer"]
    out = found["out"]
    for old, new in edits:
        assert old in out, f"{probe}/{case} has no {old}"
        out = out.replace(old, new)
    return Answer(probe, "", found["rc"], out, found["err"])


def said(probe: str, out: str, rc: int = 0) -> Answer:
    return Answer(probe, "", rc, out)


def units(kubelet: str) -> Answer:
    return said("units.services", f"Id=containerd.service\n{ACTIVE}\n\nId=kubelet.service\n{kubelet}\n")


def healthy() -> dict[tuple[str, str], Answer]:
    found = {
        (path.name, CLUSTER if path.name.startswith("kube.") else "k1"): recorded(path.name, "control-plane")
        for path in CASES.iterdir()
        if (path / "control-plane.json").exists()
    }
    for probe in ("kubeadm.settings", "kubeadm.join-token", "flannel.daemon-set", "flannel.net-conf"):
        found[probe, CLUSTER] = found.pop((probe, "k1"))
    for probe in ("kubeadm.files", "kubeadm.certificates", "kubeadm.listening", "kubelet.health", "flannel.host"):
        found[probe, "k2"] = recorded(probe, "worker")
    for host, machine in (("k1", "121ca0afe03a40a488e2456beddcd32a"), ("k2", "ba0ba3be313041508437d607678a4fb3")):
        found["units.services", host] = units(ACTIVE)
        found["system.identity", host] = said("system.identity", f"{machine}\n\n")
    return found


def snapshot(answers: Answers, spec: Mapping[str, Any], hosts: Sequence[Host]) -> Snapshot:
    placed = {key: replace(answer, where=key[1]) for key, answer in (healthy() | dict(answers)).items()}
    inventory = Inventory(Path("hosts.yml"), tuple(hosts), Spec.model_validate(SPEC | dict(spec)))
    return Snapshot(TAKEN, inventory, {host.name: Reach(host.name) for host in hosts}, placed)


def states(
    *steps: Step,
    answers: Answers | None = None,
    spec: Mapping[str, Any] | None = None,
    hosts: Sequence[Host] = (K1, K2),
) -> list[StepState]:
    return list(plan(snapshot(answers or {}, spec or {}, hosts), steps).states)


def judged(
    step: Step, answers: Answers | None = None, spec: Mapping[str, Any] | None = None, hosts: Sequence[Host] = (K1, K2)
) -> dict[str, Judgement]:
    """The judgements of the only place of a step, by check."""
    (state,) = states(step, answers=answers, spec=spec, hosts=hosts)
    return {judgement.check: judgement for judgement in state.judgements}


def broken(
    step: Step, answers: Answers | None = None, spec: Mapping[str, Any] | None = None, hosts: Sequence[Host] = (K1, K2)
) -> dict[str, tuple[str, str]]:
    """(found, cure) of what differs, by check."""
    found = judged(step, answers, spec, hosts)
    return {check: (one.mismatch.found, one.mismatch.cure) for check, one in found.items() if one.mismatch}
