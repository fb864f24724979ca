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
from gpustack.command import Command
from gpustack.config.host import Host
from gpustack.errors import UnreachableError, UsageError
from gpustack.gpus.engines.marks import Place
from gpustack.probes.gpu.engine_pods import CONTAINER, ENGINE_PODS, EnginePod
from gpustack.probes.gpu.host_engines import EVERY_ADDRESS, HOST_ENGINES
from gpustack.probes.gpu.temporary import LOAD, MARKS, PROFILING, Mark, read_mark
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.proof import NODES, PODS, GpuPod, ProofNode
from gpustack.process import is_dead

PROBES = (NODES, PODS, ENGINE_PODS, MARKS, HOST_ENGINES, IDENTITY)
NO_ENGINE = "no DCGM host engine runs there"
SHARED = "its GPUs are shared by time-slicing or MPS: several pods get the same one"
NO_PORT = "its host engine listens on no TCP port"


@dataclass(frozen=True)
class Engine:
    """Of one node. `via` is the host on which `prefix` is typed before `dcgmi`; `address` is what dcgmi connects to:
    without --host, `dcgmi diag` starts an engine of its own where it finds none (DCGM 4.6.0, dcgmi/Diag.cpp,
    StartDiag::DoExecuteConnectionFailure). An empty one is no engine: the node is of use
    for its GPUs alone. `gpus` are those offered to pods, `free` those that no pod has, and `busy` is why they are not
    free for a test: pods that have some, or MIG."""

    node: str
    via: Host
    prefix: str = ""
    address: str = "localhost"
    gpus: int = 0
    free: int = 0
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
        """Of those that can be asked; a load ends without an engine."""
        nodes = {engine.node for engine in self.found}
        return {
            place: mark
            for place, mark in self.standing.items()
            if mark.overdue and (mark.node in nodes or mark.what == LOAD)
        }

    def without(self, gone: Iterable[Place]) -> "Engines":
        """Once these marks were removed."""
        left = {*self.marks} - {*gone}
        return replace(self, marks={place: text for place, text in self.marks.items() if place in left})


def find_engines(taken: Snapshot, wanted: Sequence[str] = ()) -> Engines:
    """Of all nodes with GPUs, or of those named. Raises UnreachableError where the API gave no answer, UsageError for a
    node that has no GPUs, and where there is no engine at all."""
    everything = find_nodes(taken, wanted)
    found = tuple(engine for engine in everything.found if engine.address)
    if not found:
        why = "\n".join(f"{node}: {reason}" for node, reason in everything.unread.items()) or "No node offers a GPU."
        raise UsageError(
            "gpu-no-engine", "No DCGM host engine can be asked.", why, Command("gpustack", "explain", "gpu-no-engine")
        )
    return replace(everything, found=found)


def find_idle(taken: Snapshot, wanted: Sequence[str] = ()) -> Engines:
    """Nodes with free GPUs, whether or not they have an engine. Raises as find_engines, and UsageError where there are
    none."""
    everything = find_nodes(taken, wanted)
    unread = {one.node: why for one in everything.found if (why := why_not_idle(one, everything))}
    found = tuple(one for one in everything.found if one.node not in unread)
    if not found:
        why = "\n".join(f"{node}: {reason}" for node, reason in unread.items()) or "No node offers a GPU."
        raise UsageError(
            "gpu-none-free", "No GPU is free; nothing was done.", why, Command("gpustack", "gpu", "top", "pods")
        )
    return replace(everything, found=found, unread=unread)


def why_not_idle(one: Engine, everything: Engines) -> str:
    mark = everything.standing.get((one.node, PROFILING))
    if mark and not mark.overdue:
        return f"profiling is paused there until {mark.until:%H:%M UTC}, and its metrics with it"
    return "" if one.free else one.busy or SHARED


def find_nodes(taken: Snapshot, wanted: Sequence[str]) -> Engines:
    """`found` are all of them; where there is no engine, its address is empty and `unread` has the reason."""
    cluster = View(taken, CLUSTER)
    try:
        nodes = {node.name: node for node in cluster[NODES] if node.capacity or node.mig}
        pods, marks, users = {pod.node: pod for pod in cluster[ENGINE_PODS]}, cluster[MARKS], cluster[PODS]
    except FactUnavailable as error:
        message = "The Kubernetes API gave no answer."
        raise UnreachableError("proof-no-api", message, str(error), Command("gpustack", "verify")) from error
    if odd := [name for name in wanted if name not in nodes]:
        why = f"Nodes with GPUs: {', '.join(sorted(nodes)) or 'none'}"
        raise UsageError(
            "gpu-no-node",
            f"The cluster has no node {', '.join(odd)} with GPUs.",
            why,
            Command("gpustack", "gpu", "list"),
        )
    found, unread = [], {}
    for name in sorted(wanted or nodes):
        node, one = nodes[name], find_engine(taken, cluster.host, nodes[name], pods.get(name))
        if isinstance(one, str):
            unread[name] = one
            one = Engine(name, cluster.host, address="")
        used = [pod for pod in users if pod.node == name and not is_dead(pod.process)]
        free = 0 if why_closed(node) or node.replicas > 1 else max(0, node.allocatable - sum(pod.gpus for pod in used))
        found.append(replace(one, gpus=node.allocatable, free=free, busy=why_busy(node, used)))
    return Engines(tuple(found), unread, cluster.host, marks, taken.taken)


def only_free(engines: Engines) -> Engines:
    """Those whose GPUs are all free. Raises UsageError where there are none."""
    busy = {one.node: one.busy for one in engines.found if one.busy}
    free = tuple(one for one in engines.found if not one.busy)
    if not free:
        why = "\n".join(f"{node}: {reason}" for node, reason in busy.items())
        raise UsageError(
            "gpu-busy",
            "No node has all of its GPUs free; nothing was done.",
            why,
            Command("gpustack", "gpu", "top", "pods"),
        )
    return replace(engines, found=free, unread={**engines.unread, **busy})


def compare_offers(engines: Engines, offers: Mapping[str, int]) -> tuple[dict[str, str], dict[str, str]]:
    """After a load: a node that offers fewer GPUs than before has lost one. By node, what is lost, and what is not
    known."""
    lost, unread = dict[str, str](), dict[str, str]()
    for engine in engines.found:
        now = offers.get(engine.node)
        if now is None:
            unread[engine.node] = "how many GPUs it offers after the test is not known"
        elif now < engine.gpus:
            lost[engine.node] = f"it offers {now} GPUs after the test, {engine.gpus} before"
    return lost, unread


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


def why_busy(node: ProofNode, users: Sequence[GpuPod]) -> str:
    """`users` are the pods of others on it."""
    if names := sorted(pod.name for pod in users):
        return f"its GPUs are in use: {', '.join(names[:3])}{' and more' if names[3:] else ''}"
    if why := why_closed(node):
        return why
    return "" if node.allocatable else "it offers no GPU"


def why_closed(node: ProofNode) -> str:
    if node.mig:
        return "its GPUs are split into MIG instances"
    return "it takes no new pods" if node.cordoned or not node.ready else ""


def dialled(address: str) -> str:
    """What listens on every address is reached on this one."""
    host, _, port = address.rpartition(":")
    return f"127.0.0.1:{port}" if host in EVERY_ADDRESS else address
