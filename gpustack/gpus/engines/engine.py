"""Which DCGM host engines a cluster has, and through which host each is reached.

An engine in a pod of the GPU operator is reached by `kubectl exec` on the acting control plane, as the administrator of
admin.conf; one that runs on a host outside of pods by the host's own dcgmi.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gpustack.ask.api import ADMIN
from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.errors import UnreachableError, UsageError
from gpustack.gpus.engines.marks import Place
from gpustack.probes.gpu.engine_pods import CONTAINER, ENGINE_PODS, EnginePod
from gpustack.probes.gpu.host_engines import EVERY_ADDRESS, HOST_ENGINES
from gpustack.probes.gpu.temporary import MARKS, Mark, read_mark
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.proof import NODES, PODS, PROOF_NAMESPACE, GpuPod, ProofNode

PROBES = (NODES, PODS, ENGINE_PODS, MARKS, HOST_ENGINES, IDENTITY)
NO_ENGINE = "no DCGM host engine runs there"
NO_PORT = "its host engine listens on no TCP port"


@dataclass(frozen=True)
class Engine:
    """Of one node. `via` is the host on which `prefix` is typed before `dcgmi`; `address` is what dcgmi connects to:
    without --host, `dcgmi diag` starts an engine of its own where it finds none (DCGM 4.6.0, dcgmi/Diag.cpp,
    StartDiag::DoExecuteConnectionFailure). `gpus` are those offered to pods, and `busy` is why they are not free for a
    test: pods that have some, or MIG."""

    node: str
    via: Host
    prefix: str = ""
    address: str = "localhost"
    gpus: int = 0
    busy: str = ""

    def command(self, words: Sequence[str], before: str = "") -> str:
        """As a person types it on `via`; `before` is a program that starts dcgmi."""
        return f"{self.prefix}{before}dcgmi {shlex.join((*words, '--host', self.address))}"

    @property
    def stop_command(self) -> str:
        """Ends a diagnostic that runs (DCGM 4.6.0, dcgmi/Diag.h, STOP_DIAG_ENV_VARIABLE_NAME)."""
        return f"{self.prefix}env DCGMI_STOP_DIAG_HOSTNAME={shlex.quote(self.address)} dcgmi diag"


@dataclass(frozen=True)
class Engines:
    """Those that can be asked, sorted by node; `unread` is why not, by node; `acting` is the control plane, and `marks`
    are annotations of all nodes as they stand there. Time is that of the snapshot."""

    found: tuple[Engine, ...]
    unread: Mapping[str, str]
    acting: Host
    marks: Mapping[Place, str]
    taken: datetime

    @property
    def standing(self) -> Mapping[Place, Mark]:
        """What is changed for a time."""
        found = {place: read_mark(*place, text, self.taken) for place, text in self.marks.items()}
        return {place: mark for place, mark in found.items() if mark}

    @property
    def overdue(self) -> Mapping[Place, Mark]:
        """Of those that can be asked."""
        nodes = {engine.node for engine in self.found}
        return {place: mark for place, mark in self.standing.items() if mark.overdue and mark.node in nodes}

    def without(self, gone: Iterable[Place]) -> "Engines":
        """Once these marks were removed."""
        left = {*self.marks} - {*gone}
        return replace(self, marks={place: text for place, text in self.marks.items() if place in left})


def find_engines(taken: Snapshot, wanted: Sequence[str] = ()) -> Engines:
    """Of all nodes with GPUs, or of those named. Raises UnreachableError where the API gave no answer, UsageError for a
    node that has no GPUs, and where there is no engine at all."""
    cluster = View(taken, CLUSTER)
    try:
        nodes = {node.name: node for node in cluster[NODES] if node.capacity or node.mig}
        pods, marks, users = {pod.node: pod for pod in cluster[ENGINE_PODS]}, cluster[MARKS], cluster[PODS]
    except FactUnavailable as error:
        message = "The Kubernetes API gave no answer."
        raise UnreachableError("proof-no-api", message, str(error), "gpustack verify") from error
    if odd := [name for name in wanted if name not in nodes]:
        why = f"Nodes with GPUs: {', '.join(sorted(nodes)) or 'none'}"
        raise UsageError(
            "gpu-no-node", f"The cluster has no node {', '.join(odd)} with GPUs.", why, "gpustack gpu list"
        )
    found, unread = [], {}
    for name in sorted(wanted or nodes):
        one = find_engine(taken, cluster.host, nodes[name], pods.get(name))
        if isinstance(one, Engine):
            found.append(replace(one, gpus=nodes[name].allocatable, busy=why_busy(nodes[name], users)))
        else:
            unread[name] = one
    if not found:
        why = "\n".join(f"{node}: {reason}" for node, reason in unread.items()) or "No node offers a GPU."
        raise UsageError("gpu-no-engine", "No DCGM host engine can be asked.", why, "gpustack explain gpu-no-engine")
    return Engines(tuple(found), unread, cluster.host, marks, taken.taken)


def only_free(engines: Engines) -> Engines:
    """Those whose GPUs are all free. Raises UsageError where there are none."""
    busy = {one.node: one.busy for one in engines.found if one.busy}
    free = tuple(one for one in engines.found if not one.busy)
    if not free:
        why = "\n".join(f"{node}: {reason}" for node, reason in busy.items())
        raise UsageError(
            "gpu-busy", "No node has all of its GPUs free; nothing was done.", why, "gpustack gpu top pods"
        )
    return replace(engines, found=free, unread={**engines.unread, **busy})


def find_engine(taken: Snapshot, acting: Host, node: ProofNode, pod: EnginePod | None) -> Engine | str:
    """Or why there is none to ask."""
    if pod and pod.running:
        there = f"--namespace {shlex.quote(pod.namespace)} exec {shlex.quote(pod.name)} --container {CONTAINER}"
        prefix = f"kubectl {ADMIN} {there} -- "
        return Engine(node.name, acting, prefix)
    for host in taken.inventory.hosts:
        here = View(taken, host.name)
        try:
            if here[IDENTITY].machine_id != node.machine_id:
                continue
            running = here[HOST_ENGINES].running
        except FactUnavailable:
            continue
        if running:
            return Engine(node.name, host, address=dialled(running[0].address)) if running[0].address else NO_PORT
    return f"its pod {pod.name} is not running" if pod else NO_ENGINE


def why_busy(node: ProofNode, pods: Sequence[GpuPod]) -> str:
    left = f"{PROOF_NAMESPACE}/"  # of an earlier proof or test: removed before pods are made
    users = sorted(pod.name for pod in pods if pod.node == node.name and not pod.name.startswith(left))
    if users:
        return f"its GPUs are in use: {', '.join(users[:3])}{' and more' if users[3:] else ''}"
    if node.mig:
        return "its GPUs are split into MIG instances"
    if node.cordoned or not node.ready:
        return "it takes no new pods"
    return "" if node.allocatable else "it offers no GPU"


def dialled(address: str) -> str:
    """What listens on every address is reached on this one."""
    host, _, port = address.rpartition(":")
    return f"127.0.0.1:{port}" if host in EVERY_ADDRESS else address
