"""DCGM's host engines of a cluster, and the host through which each is reached.

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
from gpustack.command import NO_HINT, Command, Hint, Prose
from gpustack.config.complaint import describe_choice
from gpustack.config.host import Host
from gpustack.engines.marks import Place
from gpustack.errors import MissingDataError, UnreachableError, UsageError
from gpustack.probes.gpu.engine_pods import CONTAINER, ENGINE_PODS, EnginePod
from gpustack.probes.gpu.host_engines import EVERY_ADDRESS, HOST_ENGINES
from gpustack.probes.gpu.temporary_changes import LOAD, MARKS, PROFILING, Mark, parse_mark
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.proof import NODES, PODS, GpuPod, ProofNode
from gpustack.process import is_dead

PROBES = (NODES, PODS, ENGINE_PODS, MARKS, HOST_ENGINES, IDENTITY)
NO_ENGINE = "no DCGM host engine runs there"
SHARED_GPUS = "its GPUs are shared by time-slicing or MPS: several pods get the same one"
NO_PORT = "its host engine listens on no TCP port"


@dataclass(frozen=True)
class Engine:
    """Describe the engine of one node. `via` is the host on which `prefix` stands before `dcgmi`; dcgmi connects to
    `address`: without --host, `dcgmi diag` starts an engine of its own where it finds none (DCGM 4.6.0, dcgmi/Diag.cpp,
    StartDiag::DoExecuteConnectionFailure). An empty address is no engine: the node is of use for its GPUs alone. `gpus`
    are those offered to pods, `free` those that no pod has, and `busy` says why they are not free for a test: pods that
    have some, or MIG."""

    node: str
    via: Host
    prefix: str = ""
    address: str = "localhost"
    gpus: int = 0
    free: int = 0
    busy: str = ""

    def build_command(self, words: Sequence[str], before: str = "") -> str:
        """Build a command as a person types it on `via`; `before` is a program that starts dcgmi."""
        return f"{self.prefix}{before}dcgmi {shlex.join((*words, '--host', self.address))}"

    @property
    def stop_command(self) -> str:
        """Return the command that ends a running diagnostic (DCGM 4.6.0, dcgmi/Diag.h, STOP_DIAG_ENV_VARIABLE_NAME)."""
        return f"{self.prefix}env DCGMI_STOP_DIAG_HOSTNAME={shlex.quote(self.address)} dcgmi diag"


@dataclass(frozen=True)
class Engines:
    """Hold the engines that can be asked, sorted by node. `unread` says by node why others cannot; `acting` is the
    control plane, and `marks` are the annotations of all nodes. `taken_at` is the time of the snapshot."""

    members: tuple[Engine, ...]
    unread: Mapping[str, str]
    acting: Host
    marks: Mapping[Place, str]
    taken_at: datetime

    @property
    def standing(self) -> Mapping[Place, Mark]:
        """Return the marks of temporary changes."""
        marks = {place: parse_mark(*place, text, self.taken_at) for place, text in self.marks.items()}
        return {place: mark for place, mark in marks.items() if mark}

    @property
    def overdue(self) -> Mapping[Place, Mark]:
        """Return the overdue marks of nodes that can be asked; a load ends without an engine."""
        nodes = {engine.node for engine in self.members}
        return {
            place: mark
            for place, mark in self.standing.items()
            if mark.overdue and (mark.node in nodes or mark.kind == LOAD)
        }

    def drop_marks(self, places: Iterable[Place]) -> "Engines":
        """Drop marks that were removed from the nodes."""
        remaining_places = {*self.marks} - {*places}
        return replace(self, marks={place: text for place, text in self.marks.items() if place in remaining_places})


def advise_engine(snapshot: Snapshot) -> Hint:
    """Return the setting that provides a host engine, for a spec that has none."""
    if snapshot.inventory.spec.gpu.dcgm != "embedded":
        return NO_HINT
    install = Command("gpustack", "install")
    return Prose("gpu.dcgm: standalone in the spec; then: {}", install, note="the page says what it costs")


def find_engines(snapshot: Snapshot, node_names: Sequence[str] = (), *, cordoned: bool = False) -> Engines:
    """Find the engines of all nodes with GPUs, or of the named ones, with `cordoned` as find_nodes has it. Raise
    UnreachableError where the API gave no answer, UsageError for a node that has no GPUs, and MissingDataError where
    there is no engine at all."""
    candidates = find_nodes(snapshot, node_names, cordoned=cordoned)
    engines = tuple(engine for engine in candidates.members if engine.address)
    if not engines:
        reasons = (
            "\n".join(f"{node}: {reason}" for node, reason in candidates.unread.items()) or "No node offers a GPU."
        )
        raise MissingDataError("gpu-no-engine", "No DCGM host engine can be asked.", reasons, advise_engine(snapshot))
    return replace(candidates, members=engines)


def find_idle(snapshot: Snapshot, node_names: Sequence[str] = ()) -> Engines:
    """Find nodes with free GPUs, with or without an engine. Raise the errors of find_engines, and MissingDataError
    where there are none."""
    candidates = find_nodes(snapshot, node_names)
    unread = {engine.node: reason for engine in candidates.members if (reason := explain_not_idle(engine, candidates))}
    engines = tuple(free_engine for free_engine in candidates.members if free_engine.node not in unread)
    if not engines:
        reasons = "\n".join(f"{node}: {cause}" for node, cause in unread.items()) or "No node offers a GPU."
        raise MissingDataError("gpu-none-free", "No GPU is free; nothing was done.", reasons)
    return replace(candidates, members=engines, unread=unread)


def explain_not_idle(engine: Engine, engines: Engines) -> str:
    mark = engines.standing.get((engine.node, PROFILING))
    if mark and not mark.overdue:
        return f"profiling is paused there until {mark.expires_at:%H:%M UTC}, and its metrics with it"
    return "" if engine.free else engine.busy or SHARED_GPUS


def find_nodes(snapshot: Snapshot, node_names: Sequence[str], *, cordoned: bool = False) -> Engines:
    """Find all nodes with GPUs; the address is empty where there is no engine, and `unread` has the reason. With
    `cordoned`, the GPUs of a cordoned node count as free."""
    cluster = View(snapshot, CLUSTER)
    try:
        nodes = {node.name: node for node in cluster[NODES] if node.capacity or node.mig}
        pods, marks, users = {pod.node: pod for pod in cluster[ENGINE_PODS]}, cluster[MARKS], cluster[PODS]
    except FactUnavailable as error:
        message = "The Kubernetes API gave no answer."
        raise UnreachableError("proof-no-api", message, str(error), Command("gpustack", "verify")) from error
    if unknown_names := [name for name in node_names if name not in nodes]:
        reason = describe_choice(unknown_names, sorted(nodes), "Nodes with GPUs")
        raise UsageError("gpu-no-node", f"The cluster has no node {', '.join(unknown_names)} with GPUs.", reason)
    engines, unread = [], {}
    for name in sorted(node_names or nodes):
        node, engine = nodes[name], find_engine(snapshot, cluster.host, nodes[name], pods.get(name))
        if isinstance(engine, str):
            unread[name] = engine
            engine = Engine(name, cluster.host, address="")
        gpu_pods = [pod for pod in users if pod.node == name and not is_dead(pod.process)]
        free = (
            0
            if explain_closed(node, cordoned=cordoned) or node.replicas > 1
            else max(0, node.allocatable - sum(pod.gpus for pod in gpu_pods))
        )
        engines.append(
            replace(engine, gpus=node.allocatable, free=free, busy=explain_busy(node, gpu_pods, cordoned=cordoned))
        )
    return Engines(tuple(engines), unread, cluster.host, marks, snapshot.started_at)


def select_free(engines: Engines) -> Engines:
    """Select the engines whose GPUs are all free. Raise MissingDataError where there are none."""
    busy_reasons = {engine.node: engine.busy for engine in engines.members if engine.busy}
    free_engines = tuple(free_engine for free_engine in engines.members if not free_engine.busy)
    if not free_engines:
        reasons = "\n".join(f"{node}: {reason}" for node, reason in busy_reasons.items())
        raise MissingDataError("gpu-busy", "No node has all of its GPUs free; nothing was done.", reasons)
    return replace(engines, members=free_engines, unread={**engines.unread, **busy_reasons})


def compare_offers(engines: Engines, offers: Mapping[str, int]) -> tuple[dict[str, str], dict[str, str]]:
    """Compare the offers after a load with those before. Return by node the GPUs that are lost, and the reason where
    the number is unknown."""
    lost_gpus, unread = dict[str, str](), dict[str, str]()
    for engine in engines.members:
        offer = offers.get(engine.node)
        if offer is None:
            unread[engine.node] = "how many GPUs it offers after the test is not known"
        elif offer < engine.gpus:
            lost_gpus[engine.node] = f"it offers {offer} GPUs after the test, {engine.gpus} before"
    return lost_gpus, unread


def find_engine(snapshot: Snapshot, acting: Host, node: ProofNode, pod: EnginePod | None) -> Engine | str:
    """Find the engine of a node, or the reason why there is none to ask."""
    if pod and pod.running:
        exec_options = f"--namespace {shlex.quote(pod.namespace)} exec {shlex.quote(pod.name)} --container {CONTAINER}"
        prefix = f"kubectl {ADMIN} {exec_options} -- "
        return Engine(node.name, acting, prefix)
    for host in snapshot.inventory.hosts:
        view = View(snapshot, host.name)
        try:
            if view[IDENTITY].machine_id != node.machine_id:
                continue
            running = view[HOST_ENGINES].running
        except FactUnavailable:
            continue
        if running:
            if running[0].address:
                return Engine(node.name, host, address=normalize_address(running[0].address))
            return NO_PORT
    return f"its pod {pod.name} is not running" if pod else NO_ENGINE


def explain_busy(node: ProofNode, users: Sequence[GpuPod], *, cordoned: bool = False) -> str:
    """Explain why the GPUs of a node are not free. `users` are the pods of others on it."""
    if names := sorted(pod.name for pod in users):
        return f"its GPUs are in use: {', '.join(names[:3])}{' and more' if names[3:] else ''}"
    if reason := explain_closed(node, cordoned=cordoned):
        return reason
    return "" if node.allocatable else "it offers no GPU"


def explain_closed(node: ProofNode, *, cordoned: bool = False) -> str:
    if node.mig:
        return "its GPUs are split into MIG instances"
    if not node.ready or (node.cordoned and not cordoned):
        return "it takes no new pods"
    return f"no ordinary pod gets its GPUs: taint {', '.join(node.taints)}" if node.taints else ""


def normalize_address(address: str) -> str:
    """Normalize an address: an engine that listens on every address is reached on loopback."""
    host, _, port = address.rpartition(":")
    return f"127.0.0.1:{port}" if host in EVERY_ADDRESS else address
