"""Taint: in a cluster of one host, the control plane runs ordinary pods too.

kubeadm keeps them off control plane nodes with a taint. If there is only one host, exactly that taint is removed from
its node; any other taint stays. In clusters of several hosts this step does not apply.

Settings: none; the inventory decides. Source: kubeadm's well-known taint node-role.kubernetes.io/control-plane.
"""

from gpustack.ask.judge import Result, expect
from gpustack.ask.view import View
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.steps.step import Step

TAINT = "node-role.kubernetes.io/control-plane:NoSchedule"


def schedulable(view: View) -> Result | None:
    """The only node does not have the taint of the control plane."""
    tainted = {node.name for node in view[NODES] if TAINT in node.taints}
    actual = ", ".join(sorted(tainted)) or "none"
    return expect(f"nodes with {TAINT}", "none", actual, fault="control-plane-taint-single-node")


STEP = Step(
    "taint",
    scope="cluster",
    probes=(NODES,),
    checks=(schedulable,),
    needs=("control-plane",),
    settle_seconds=10,
    is_enabled=lambda inventory: len(inventory.cluster_hosts) == 1,
)
