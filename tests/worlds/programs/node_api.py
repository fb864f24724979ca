"""An API server for operations on nodes: recorded objects in a file, and a kubectl that changes them.

It refuses what a real one was seen to refuse: a patch of another version of a node, the eviction of another pod of the
same name, and one that a budget does not allow. The kubelet is `gather`: pods whose deletion has begun are gone when
somebody asks again, unless `stuck_pods` names them.
"""

import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Reach, Snapshot, index_answers
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.gpu.device_holders import DEVICE_HOLDERS
from gpustack.probes.gpu.driver_modules import DRIVER_MODULES
from gpustack.probes.gpu.plugin_files import PLUGIN_FILES
from gpustack.probes.host.boot_identity import BOOT_IDENTITY
from gpustack.probes.host.system import HOSTNAME, IDENTITY
from gpustack.probes.kubernetes.disruption_budgets import DISRUPTION_BUDGETS
from gpustack.probes.kubernetes.live_controllers import LIVE_CONTROLLERS
from gpustack.probes.kubernetes.local_volumes import LOCAL_VOLUMES
from gpustack.probes.kubernetes.node_leases import NODE_LEASES
from gpustack.probes.kubernetes.node_pods import NODE_PODS
from gpustack.probes.kubernetes.node_records import NODE_RECORDS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.scheduling import LEASE_RENEWAL
from gpustack.proof.record import format_proof_record
from tests.worlds.snapshots.answers import make_list, read_case
from tests.worlds.snapshots.build import build

BOOTED_AT = 1795900000
"""Seconds since 1970 of the first boot. The recorded nodes have reported after it."""
HOSTS = (
    Host("k1", "10.0.0.1", groups=frozenset({CONTROL_PLANE, NODE})),
    Host("h1", "10.0.0.2", groups=frozenset({NODE})),
)
PROGRAM = f"""#!{sys.executable} -I
import sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from tests.worlds.programs.node_kubectl import run_kubectl, run_systemd
{{}}(sys.argv[1:])
"""
PROGRAMS = {
    "kubectl": "",
    "systemd-run": "",
    "nvidia-smi": "(-|>)",
    "systemctl": "(is-active|stop|start)",
    "find": "/proc",
}
"""Programs with the words behind them by which their calls in a script are told."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
FILES = "== marks\n== sockets\n== fabric\n{}\nnone\n== devices\n"


def list_recorded(probe: str, case: str) -> list[Any]:
    return list(json.loads(read_case(probe, case).stdout)["items"])


MACHINES = {
    node["metadata"]["name"]: node["status"]["nodeInfo"]["machineID"]
    for node in list_recorded(NODE_RECORDS.id, "schedulable")
}
"""The machine-ids of the recorded nodes."""


@dataclass
class NodeApi:
    """Hold the folder with the objects. `unread_probes` are not answered, `holders` are the processes and `modules` the
    modules of h1, which has so many `switches` of NVIDIA, and hosts of `reboot_required` ask for a reboot. Those of
    `lost_hosts` give no answer. With `silent` nothing at all answers there. The kubelets of `old_nodes` are of another
    version. `further_answers` are of other probes, and `spec` is the part of the spec that a test changes."""

    folder: Path
    stuck_pods: set[str] = field(default_factory=set)
    unread_probes: set[str] = field(default_factory=set)
    holders: str = ""
    modules: str = ""
    reboot_required: set[str] = field(default_factory=set)
    lost_hosts: set[str] = field(default_factory=set)
    old_nodes: set[str] = field(default_factory=set)
    switches: int = 0
    silent: bool = False
    further_answers: list[Answer] = field(default_factory=list)
    spec: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, function in (("kubectl", "run_kubectl"), ("systemd-run", "run_systemd")):
            program = self.folder / name
            program.write_text(PROGRAM.format(function))
            program.chmod(0o755)
        self.write(
            {
                "nodes": list_recorded(NODE_RECORDS.id, "schedulable"),
                "pods": list_recorded(NODE_PODS.id, "two-teams"),
                "budgets": list_recorded(DISRUPTION_BUDGETS.id, "two-teams"),
                "leases": list_recorded(NODE_LEASES.id, "two-nodes"),
                "programs": list_recorded(LEASE_RENEWAL.id, "control-plane"),
                "volumes": list_recorded(LOCAL_VOLUMES.id, "three-kinds"),
                "calls": [],
                "boots": {"k1": 0, "h1": 0},
            }
        )

    @property
    def path(self) -> Path:
        return self.folder / "objects.json"

    def read(self) -> dict[str, Any]:
        objects: dict[str, Any] = json.loads(self.path.read_text())
        return objects

    def write(self, objects: dict[str, Any]) -> None:
        self.path.write_text(json.dumps(objects))

    def read_node(self, name: str = "gpu1") -> dict[str, Any]:
        (node,) = (node for node in self.read()["nodes"] if node["metadata"]["name"] == name)
        return dict(node)

    def set_silence(self, time: str) -> None:
        """Let the control plane have renewed its leases at this time, and end the readiness of gpu1."""
        objects = self.read()
        for lease in objects["programs"]:
            lease["spec"]["renewTime"] = time
        for node in objects["nodes"]:
            if node["metadata"]["name"] == "gpu1":
                node["status"]["conditions"][0] |= {
                    "status": "Unknown",
                    "message": "Kubelet stopped posting node status.",
                }
        self.write(objects)

    def drop_device(self) -> None:
        """Let the kubelet of gpu1 offer one of its GPUs less than it has."""
        objects = self.read()
        (node,) = (node for node in objects["nodes"] if node["metadata"]["name"] == "gpu1")
        allocatable = node["status"]["allocatable"]
        node["status"]["capacity"] = dict(allocatable)
        allocatable["nvidia.com/gpu"] = str(int(allocatable["nvidia.com/gpu"]) - 1)
        self.write(objects)

    def set_ready(self) -> None:
        objects = self.read()
        for node in objects["nodes"]:
            node["status"]["conditions"][0]["status"] = "True"
        self.write(objects)

    def set_lease(self, time: str) -> None:
        objects = self.read()
        objects["leases"][0]["spec"]["renewTime"] = time
        self.write(objects)

    def list_pod_names(self) -> list[str]:
        return sorted(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in self.read()["pods"])

    def keep_pods(self, *words: str) -> None:
        """Keep the pods whose names begin with one of these words."""
        objects = self.read()
        objects["pods"] = [pod for pod in objects["pods"] if pod["metadata"]["name"].startswith(words)]
        self.write(objects)

    def set_allowance(self, count: int) -> None:
        """Let each budget allow this number of evictions."""
        objects = self.read()
        for budget in objects["budgets"]:
            budget["status"]["disruptionsAllowed"] = count
        self.write(objects)

    def set_cordon(self, manager: str, record: str = "") -> None:
        objects = self.read()
        (node,) = (node for node in objects["nodes"] if node["metadata"]["name"] == "gpu1")
        node["spec"] = {"unschedulable": True}
        node["metadata"]["annotations"] = {"gpustack.io/cordon": record} if record else {}
        fields: dict[str, Any] = {"f:spec": {"f:unschedulable": {}}}
        node["metadata"]["managedFields"] = [{"manager": manager, "fieldsV1": fields}]
        self.write(objects)

    def set_annotation(self, key: str, text: str) -> None:
        objects = self.read()
        (node,) = (node for node in objects["nodes"] if node["metadata"]["name"] == "gpu1")
        node["metadata"].setdefault("annotations", {})[f"gpustack.io/{key}"] = text
        self.write(objects)

    def set_proof(self, moment: datetime) -> None:
        """Let a proof of all GPUs of gpu1 be recorded at this time."""
        self.set_annotation("proven-gpus", format_proof_record([], moment))

    def end_pods(self) -> None:
        objects = self.read()
        objects["pods"] = [
            pod
            for pod in objects["pods"]
            if "deletionTimestamp" not in pod["metadata"] or pod["metadata"]["name"] in self.stuck_pods
        ]
        self.write(objects)

    def gather(self, *_: Any, hosts: Sequence[str] = (), **__: Any) -> Snapshot:
        """Answer for all hosts, or for those that are asked, as gpustack/ask/gather.py does."""
        self.end_pods()
        objects = self.read()
        lists = {
            LIVE_CONTROLLERS.id: "pods",
            NODE_RECORDS.id: "nodes",
            NODE_PODS.id: "pods",
            DISRUPTION_BUDGETS.id: "budgets",
            NODE_LEASES.id: "leases",
            LEASE_RENEWAL.id: "programs",
            LOCAL_VOLUMES.id: "volumes",
        }
        answers = [
            Answer(probe, CLUSTER, 0, make_list(probe, objects[kind]).stdout)
            for probe, kind in lists.items()
            if probe not in self.unread_probes
        ]
        nodes = [describe_node(node, self.old_nodes) for node in objects["nodes"]]
        answers.append(Answer(GPU_NODES.id, CLUSTER, 0, make_list(GPU_NODES.id, objects["nodes"]).stdout))
        answers.append(Answer(NODES.id, CLUSTER, 0, make_list(NODES.id, nodes).stdout))
        for host, node in (("k1", "k1"), ("h1", "gpu1")):
            machine = MACHINES[node]
            answers.append(Answer(IDENTITY.id, host, 0, f"{machine}\n\n"))
            answers.append(Answer(HOSTNAME.id, host, 0, f"{node}\n"))
            boots, word = objects["boots"][host], "yes" if host in self.reboot_required else "no"
            line = f"{BOOT_ID.read_text().strip()}-{boots} {BOOTED_AT + boots} {word}\n"
            answers.append(Answer(BOOT_IDENTITY.id, host, 0, line))
        answers.append(Answer(DEVICE_HOLDERS.id, "h1", 0, self.holders))
        answers.append(Answer(DRIVER_MODULES.id, "h1", 0, self.modules))
        answers.append(Answer(PLUGIN_FILES.id, "h1", 0, FILES.format(self.switches)))
        answers += self.further_answers
        answers = [answer for answer in answers if answer.location not in self.lost_hosts]
        reason = "no answer from 10.0.0.2 within 10 s" if self.silent else "connection refused"
        reach = [Reach(host, "host-ssh-unreachable", reason, silent=self.silent) for host in self.lost_hosts]
        snapshot = build(HOSTS, index_answers(answers), self.spec, reach=reach)
        asked_hosts = {name: entry for name, entry in snapshot.reach.items() if not hosts or name in hosts}
        return replace(snapshot, reach=asked_hosts)

    def execute(self, host: Host, script: str, **_: Any) -> Iterator[str]:
        """Run a script with the programs of this folder, which reboot and reset nothing."""
        for program, words in PROGRAMS.items():
            if (self.folder / program).exists():
                script = re.sub(rf"{program}(?=\s{words})", str(self.folder / program), script)
        process = subprocess.run(
            ["env", f"REBOOTED={host.name}", "sh", "-s"],
            input=script,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        yield from process.stdout.splitlines()
        yield from process.stderr.splitlines()


def describe_node(node: dict[str, Any], old_nodes: Collection[str]) -> dict[str, Any]:
    """Describe a node as the probe of all steps reads it."""
    address = {"gpu1": "10.0.0.2", "k1": "10.0.0.1"}[node["metadata"]["name"]]
    info = {
        **node["status"]["nodeInfo"],
        "kubeletVersion": "v1.35.4" if node["metadata"]["name"] in old_nodes else "v1.36.4",
    }
    status = {**node["status"], "nodeInfo": info, "addresses": [{"type": "InternalIP", "address": address}]}
    return {"metadata": {"name": node["metadata"]["name"]}, "spec": node.get("spec", {}), "status": status}
