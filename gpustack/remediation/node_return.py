"""The return of a node to service: its GPUs are proven since its host booted, and since `remediate` acted on it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Hint
from gpustack.errors import RolloutError
from gpustack.nodes.cordon import classify_cordon
from gpustack.nodes.node_host import HOST_PROBES, find_host_of_node
from gpustack.probes.host.boot_identity import BOOT_IDENTITY
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, NodeRecord, parse_proven_gpus
from gpustack.remediation.act_record import parse_acts
from gpustack.remediation.reset import TAINT
from gpustack.rollout.next_command import build_command
from gpustack.vocabulary.proof_leases import MARGIN_SECONDS

RETURN_PROBES = (NODE_RECORDS, *HOST_PROBES, BOOT_IDENTITY)
MIG = "nvidia.com/mig-"


def refuse_unproven_node(snapshot: Snapshot, node: NodeRecord) -> None:
    """Raise RolloutError for a node with GPUs that did not come back by a proof. `snapshot` has the answers of its
    host, and `node` may be of a later moment. Behind the gate no ordinary pod comes to it before the proof."""
    if node.gate or not has_gpus(node):
        return
    if reasons := [*find_open_records(node), *find_unproven_boot(snapshot, node)]:
        message = f"The GPUs of the node {node.name} are not proven; it stays cordoned."
        raise RolloutError("node-cordon-unproven", message, "\n".join(reasons), build_return_command(snapshot, node))


def has_gpus(node: NodeRecord) -> bool:
    """Tell whether the kubelet names a resource of GPUs, also with none of them to give, or a record is about some."""
    return bool(node.devices or node.proof_record or node.remediation_record)


def find_open_records(node: NodeRecord) -> Iterator[str]:
    """List what `node reboot` and `remediate` began on the node, and what no proof has ended."""
    if node.reboot_record:
        yield "a reboot by gpustack is under way, or was killed"
    if any(taint["key"] == TAINT for taint in node.taints):
        yield f"a reset of its GPUs is under way, or was killed: the taint {TAINT} is on the node"
    acts, proof = parse_acts(node.remediation_record), parse_proven_gpus(node.proof_record)
    if acts is None:
        yield "its record of the acts of gpustack remediate cannot be read"
    elif acts and not (proof and all(proof.proven_at > act.begun_at for act in acts)):
        last = max(acts, key=lambda act: act.begun_at)
        moment = f"{last.begun_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        yield f"no proof of all its GPUs came after the {last.rung} by gpustack remediate or care at {moment}"


def find_unproven_boot(snapshot: Snapshot, node: NodeRecord) -> Iterator[str]:
    """Find why the last proof does not hold for the boot of the host. A node that a person cordoned needs none, and a
    proof of MIG instances leaves no record on the node."""
    if classify_cordon(node) == "others" or any(resource.startswith(MIG) for resource in node.devices):
        return
    proof = parse_proven_gpus(node.proof_record)
    if not proof:
        yield (
            "its record of a proof cannot be read"
            if node.proof_record
            else "it has no record of a proof of all its GPUs"
        )
        return
    try:
        booted_at = read_boot(snapshot, node.name)
    except FactUnavailable as error:
        yield f"when its host booted is unknown: {error}"
        return
    if booted_at - proof.proven_at > timedelta(seconds=MARGIN_SECONDS):
        moment = f"{booted_at:%Y-%m-%d %H:%M} UTC"
        yield f"its host booted at {moment}, after the last proof of all its GPUs at {proof.moment}"


def read_boot(snapshot: Snapshot, name: str) -> datetime:
    """Read when the host of a node booted. Raise FactUnavailable where that is unknown."""
    host, reason = find_host_of_node(snapshot, name)
    if not host:
        raise FactUnavailable(reason)
    return View(snapshot, host)[BOOT_IDENTITY].booted_at


def build_return_command(snapshot: Snapshot, node: NodeRecord) -> Hint:
    """Build the command that comes next on the way back to service."""
    inventory, (host, _) = snapshot.inventory, find_host_of_node(snapshot, node.name)
    if node.reboot_record:
        return build_command(inventory, "node", "reboot", node.name)
    if any(taint["key"] == TAINT for taint in node.taints):
        return build_command(inventory, "remediate", node.name)
    return build_command(inventory, "prove", "--cordoned", *(["--limit", host] if host else []))
