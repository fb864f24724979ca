"""A healthy cluster of two hosts with GPUs, made of recorded answers, with an answer to every question."""

import json
import re
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.doctor.diagnose import list_probes
from tests.worlds.snapshots import gpus, hosts
from tests.worlds.snapshots.answers import find_case, read_case

SYSTEMS = {"k1": ("debian-12", "control-plane"), "k2": ("debian-13", "worker")}
# The recordings are of several labs of the same two hosts; here they have one address each.
ADDRESS = re.compile(r"\b10\.77\.[0-9]+\.(11|12)\b")
OF_THIS_CLUSTER = {
    "10.244.0.0/16": "10.128.0.0/11",
    "10.244.": "10.128.",
    "DA41ECC667A818B1D7357565BE7AA98313B729F0": hosts.SPEC["source"]["fingerprint"],
}
POD_RANGE = ip_network("10.128.0.0/11")


def build_healthy_snapshot() -> Snapshot:
    spec = {name: hosts.SPEC[name] for name in ("source", "containerd", "time_sync")}
    # Our table would name every node on every node.
    spec |= {"firewall": {"manage": False}}
    world = gpus.build_snapshot(spec=spec)
    answers = dict(world.answers)
    for probe in list_probes():
        for location in SYSTEMS if probe.scope == "host" else (CLUSTER,):
            if (probe.id, location) not in answers and (answer := find_answer(probe.id, location)):
                answers[probe.id, location] = replace(answer, location=location)
    values = world.inventory.spec.model_dump(mode="json", by_alias=True)
    wide = Spec.model_validate(values | {"kubernetes": values["kubernetes"] | {"pod_cidr": str(POD_RANGE)}})
    inventory = Inventory(Path("hosts.yml"), world.inventory.hosts, wide, world.inventory.values)
    answers = {key: replace_addresses(answer) for key, answer in answers.items()}
    return replace(world, inventory=inventory, answers=answers)


def find_answer(probe: str, location: str) -> Answer | None:
    system, role = SYSTEMS.get(location, ("debian-12", "control-plane"))
    of_system = (f"two-hosts-{system}", f"none-{system}", f"prepared-{system}")
    names = (*of_system, role, "two-hosts", system, "control-plane", "none")
    case = find_case(probe, *names)
    if not case:
        return None
    answer = read_case(probe, case)
    return replace(answer, stdout=add_nvidia_runtime(answer.stdout)) if probe == "containerd.runtime" else answer


def add_nvidia_runtime(text: str) -> str:
    """The toolkit's handler, which the recorded runtime was asked without."""
    document = json.loads(text)
    runtimes = document["config"]["containerd"]["runtimes"]
    options = {"BinaryName": "/usr/local/nvidia/toolkit/nvidia-container-runtime"}
    runtimes["nvidia"] = runtimes["runc"] | {"options": runtimes["runc"]["options"] | options}
    return json.dumps(document, indent=2)


def replace_addresses(answer: Answer) -> Answer:
    stdout = ADDRESS.sub(r"10.78.0.\1", answer.stdout)
    for old, new in OF_THIS_CLUSTER.items():
        stdout = stdout.replace(old, new)
    return replace(answer, stdout=stdout)
