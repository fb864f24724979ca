"""A large cluster made of a recorded one of two hosts: its worker is there many times, each with a name, address,
machine-id, pod range and MAC of its own wherever an answer speaks of it, in the lists of the cluster too. A few workers
are broken in ways of BROKEN.

    python -m tests.worlds.snapshots.large_cluster FILE HOSTS

writes a recording of it, for scripts/bench.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address, ip_network
from pathlib import Path

from gpustack.ask import recording
from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.config.host import NODE, Host
from tests.worlds.snapshots.cluster import K1
from tests.worlds.snapshots.healthy import POD_RANGE, build_healthy_snapshot

Answers = dict[tuple[str, str], Answer]
WORKER = {
    "name": "k2",
    "host": "host2",
    "address": "10.78.0.12",
    "machine": "ba0ba3be313041508437d607678a4fb3",
    "mac": "de:95:aa:8d:15:4d",
}
PODS = "10.128.1."
NODE_RANGE = ip_network("10.78.0.0/16")
# Pods that there is one of, wherever it runs.
ALONE = re.compile(
    r'"name": "(prometheus-monitoring|alertmanager|coredns|local-path|[a-z-]*(grafana|state-metrics|operator)-)'
    r'|"app.kubernetes.io/name": "(prometheus|[a-z-]*prometheus-operator)"'
)
COUNTS = re.compile(r'("(?:desired|current|updated)NumberScheduled":|"number(?:Available|Ready)":) ?2\b')

# What is broken on a few workers, by probe and words of its answer. The first kind is a root; the file of containerd is
# a difference from the spec; the flags of the link are, by themselves, no fault.
BROKEN_WORKERS: Mapping[int, tuple[str, str, str]] = {
    100: ("kernel.sysctls", "net.ipv4.ip_forward 1", "net.ipv4.ip_forward 0"),
    250: ("flannel.links", "0x1003", "0x1002"),
    1700: ("kernel.sysctls", "net.ipv4.ip_forward 1", "net.ipv4.ip_forward 0"),
    3100: ("containerd.configuration", "SystemdCgroup = true", "SystemdCgroup = false"),
}


def build_changes(number: int) -> tuple[re.Pattern[str], Callable[[re.Match[str]], str]]:
    """Build what turns the recorded worker into the one with this number, from 2."""
    mac = "de:95:" + ":".join(f"{number:08x}"[index : index + 2] for index in range(0, 8, 2))
    new = {
        WORKER["name"]: f"k{number}",
        WORKER["host"]: f"k{number}",
        WORKER["address"]: str(NODE_RANGE[number + 10]),
        WORKER["machine"]: f"{number:032x}",
        WORKER["mac"]: mac,
        PODS: str(ip_address(int(POD_RANGE[0]) + number * 256))[:-1],
    }
    pattern = re.compile("|".join(rf"\b{re.escape(word)}" + (r"\b" if word != PODS else "") for word in new))
    return pattern, lambda match: new[match[0]]


def list_host_answers(two: Snapshot, hosts: int) -> Iterator[Answer]:
    yield from (answer for (_, location), answer in two.answers.items() if location == "k1")
    mine = [answer for (_, location), answer in two.answers.items() if location == "k2"]
    for number in range(2, hosts + 1):
        pattern, new = build_changes(number)
        probe, old, bad = BROKEN_WORKERS.get(number, ("", "", ""))
        for answer in mine:
            stdout = answer.stdout.replace(old, bad) if answer.probe == probe else answer.stdout
            yield replace(answer, location=f"k{number}", stdout=pattern.sub(new, stdout))


def repeat_cluster_entries(answer: Answer, hosts: int) -> Answer:
    """Repeat each entry of a list that speaks of the worker, once for each worker."""
    try:
        document = json.loads(answer.stdout)
        holder, key = (document, "items") if "items" in document else (document["data"], "result")
        entries = [json.dumps(entry) for entry in holder[key]]
    except (ValueError, KeyError, TypeError):
        return answer
    pattern, _ = build_changes(2)
    mine = [entry for entry in entries if pattern.search(entry) and not ALONE.search(entry)]
    fixed_entries = [entry for entry in entries if entry not in mine]
    for number in range(2, hosts + 1) if mine else ():
        words, new = build_changes(number)
        fixed_entries += [words.sub(new, entry) for entry in mine]
    holder[key] = "ENTRIES"
    stdout = json.dumps(document).replace('"ENTRIES"', f"[{','.join(fixed_entries)}]")
    return replace(answer, stdout=COUNTS.sub(rf"\g<1> {hosts}", stdout))


def build_fleet(hosts: int) -> Snapshot:
    two = build_healthy_snapshot()
    workers = tuple(
        Host(f"k{number}", str(NODE_RANGE[number + 10]), groups=frozenset({NODE})) for number in range(2, hosts + 1)
    )
    everyone = (K1, *workers)
    answers: Answers = {(answer.probe, answer.location): answer for answer in list_host_answers(two, hosts)}
    answers |= {key: repeat_cluster_entries(answer, hosts) for key, answer in two.answers.items() if key[1] == CLUSTER}
    inventory = replace(two.inventory, hosts=everyone)
    return Snapshot(two.started_at, inventory, {host.name: Reach(host.name) for host in everyone}, answers, 60.0)


if __name__ == "__main__":
    recording.write_recording(build_fleet(int(sys.argv[2])), Path(sys.argv[1]), redacted=False)
