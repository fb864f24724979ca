"""A large cluster made of a recorded one of two hosts: its worker is there many times, each with a name, address,
machine-id, pod range and MAC of its own wherever an answer speaks of it, in the lists of the cluster too. A few workers
are broken in ways of BROKEN.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address, ip_network
from pathlib import Path

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.config.host import NODE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.doctor.diagnose import questions
from tests.unit.steps import recorded_gpus, recorded_hosts
from tests.unit.steps.recorded_cluster import CASES, K1, recorded

HOSTS = 5000
Answers = dict[tuple[str, str], Answer]
SYSTEMS = {"k1": ("debian-12", "control-plane"), "k2": ("debian-13", "worker")}
# The recordings are of several labs of the same two hosts; here they have one address each.
ADDRESS = re.compile(r"\b10\.77\.[0-9]+\.(11|12)\b")
WORKER = {
    "name": "k2",
    "host": "host2",
    "address": "10.78.0.12",
    "machine": "ba0ba3be313041508437d607678a4fb3",
    "mac": "de:95:aa:8d:15:4d",
}
OF_THIS_CLUSTER = {
    "10.244.0.0/16": "10.128.0.0/11",
    "10.244.": "10.128.",
    "DA41ECC667A818B1D7357565BE7AA98313B729F0": recorded_hosts.SPEC["source"]["fingerprint"],
}
PODS = "10.128.1."
POD_RANGE, NODE_RANGE = ip_network("10.128.0.0/11"), ip_network("10.78.0.0/16")
# Pods that there is one of, wherever it runs.
ALONE = re.compile(
    r'"name": "(prometheus-monitoring|alertmanager|coredns|local-path|[a-z-]*(grafana|state-metrics|operator)-)'
    r'|"app.kubernetes.io/name": "(prometheus|[a-z-]*prometheus-operator)"'
)
COUNTS = re.compile(r'("(?:desired|current|updated)NumberScheduled":|"number(?:Available|Ready)":) ?2\b')

# What is broken on a few workers, by probe and words of its answer. The first kind is a root; the file of containerd is
# a difference from the spec; the flags of the link are, by themselves, no fault.
BROKEN: Mapping[int, tuple[str, str, str]] = {
    100: ("kernel.sysctls", "net.ipv4.ip_forward 1", "net.ipv4.ip_forward 0"),
    250: ("flannel.links", "0x1003", "0x1002"),
    1700: ("kernel.sysctls", "net.ipv4.ip_forward 1", "net.ipv4.ip_forward 0"),
    3100: ("containerd.configuration", "SystemdCgroup = true", "SystemdCgroup = false"),
}


def base() -> Snapshot:
    """The two hosts, with an answer to every question."""
    spec = {name: recorded_hosts.SPEC[name] for name in ("source", "containerd", "time_sync")}
    # Our table would name every node on every node.
    spec |= {"firewall": {"manage": False}}
    world = recorded_gpus.world(spec=spec)
    answers = dict(world.answers)
    for probe in questions():
        for where in SYSTEMS if probe.where == "host" else (CLUSTER,):
            if (probe.id, where) not in answers and (answer := of_case(probe.id, where)):
                answers[probe.id, where] = replace(answer, where=where)
    said = world.inventory.spec.model_dump(mode="json", by_alias=True)
    wide = Spec.model_validate(said | {"kubernetes": said["kubernetes"] | {"pod_cidr": str(POD_RANGE)}})
    inventory = Inventory(Path("hosts.yml"), world.inventory.hosts, wide, world.inventory.values)
    answers = {key: same_addresses(answer) for key, answer in answers.items()}
    return replace(world, inventory=inventory, answers=answers, parsed={})


def of_case(probe: str, where: str) -> Answer | None:
    system, role = SYSTEMS.get(where, ("debian-12", "control-plane"))
    of_system = (f"two-hosts-{system}", f"none-{system}", f"prepared-{system}")
    names = (*of_system, role, "two-hosts", system, "control-plane", "none")
    there = [name for name in names if (CASES / probe / f"{name}.json").exists()]
    if not there:
        return None
    answer = recorded(probe, there[0])
    return replace(answer, out=with_nvidia(answer.out)) if probe == "containerd.runtime" else answer


def with_nvidia(text: str) -> str:
    """The toolkit's handler, which the recorded runtime was asked without."""
    said = json.loads(text)
    runtimes = said["config"]["containerd"]["runtimes"]
    options = {"BinaryName": "/usr/local/nvidia/toolkit/nvidia-container-runtime"}
    runtimes["nvidia"] = runtimes["runc"] | {"options": runtimes["runc"]["options"] | options}
    return json.dumps(said, indent=2)


def same_addresses(answer: Answer) -> Answer:
    out = ADDRESS.sub(r"10.78.0.\1", answer.out)
    for old, new in OF_THIS_CLUSTER.items():
        out = out.replace(old, new)
    return replace(answer, out=out)


def changes(number: int) -> tuple[re.Pattern[str], Callable[[re.Match[str]], str]]:
    """What makes of the recorded worker the one with this number, from 2."""
    mac = "de:95:" + ":".join(f"{number:08x}"[at : at + 2] for at in range(0, 8, 2))
    new = {
        WORKER["name"]: f"k{number}",
        WORKER["host"]: f"k{number}",
        WORKER["address"]: str(NODE_RANGE[number + 10]),
        WORKER["machine"]: f"{number:032x}",
        WORKER["mac"]: mac,
        PODS: str(ip_address(int(POD_RANGE[0]) + number * 256))[:-1],
    }
    pattern = re.compile("|".join(rf"\b{re.escape(word)}" + (r"\b" if word != PODS else "") for word in new))
    return pattern, lambda found: new[found[0]]


def of_hosts(two: Snapshot, hosts: int) -> Iterator[Answer]:
    yield from (answer for (_, where), answer in two.answers.items() if where == "k1")
    mine = [answer for (_, where), answer in two.answers.items() if where == "k2"]
    for number in range(2, hosts + 1):
        pattern, new = changes(number)
        probe, old, bad = BROKEN.get(number, ("", "", ""))
        for answer in mine:
            out = answer.out.replace(old, bad) if answer.probe == probe else answer.out
            yield replace(answer, where=f"k{number}", out=pattern.sub(new, out))


def of_cluster(answer: Answer, hosts: int) -> Answer:
    """Each entry of a list that speaks of the worker is there for each."""
    try:
        said = json.loads(answer.out)
        holder, key = (said, "items") if "items" in said else (said["data"], "result")
        entries = [json.dumps(entry) for entry in holder[key]]
    except (ValueError, KeyError, TypeError):
        return answer
    pattern, _ = changes(2)
    mine = [entry for entry in entries if pattern.search(entry) and not ALONE.search(entry)]
    fixed = [entry for entry in entries if entry not in mine]
    for number in range(2, hosts + 1) if mine else ():
        words, new = changes(number)
        fixed += [words.sub(new, entry) for entry in mine]
    holder[key] = "ENTRIES"
    out = json.dumps(said).replace('"ENTRIES"', f"[{','.join(fixed)}]")
    return replace(answer, out=COUNTS.sub(rf"\g<1> {hosts}", out))


def fleet(hosts: int) -> Snapshot:
    two = base()
    workers = tuple(
        Host(f"k{number}", str(NODE_RANGE[number + 10]), groups=frozenset({NODE})) for number in range(2, hosts + 1)
    )
    everyone = (K1, *workers)
    answers: Answers = {(answer.probe, answer.where): answer for answer in of_hosts(two, hosts)}
    answers |= {key: of_cluster(answer, hosts) for key, answer in two.answers.items() if key[1] == CLUSTER}
    inventory = replace(two.inventory, hosts=everyone)
    return Snapshot(two.taken, inventory, {host.name: Reach(host.name) for host in everyone}, answers, 60.0)
