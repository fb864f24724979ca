"""The node, or the one GPU of a node, that a person names as NODE[:GPU]."""

from dataclasses import dataclass

from gpustack.errors import InputError, UsageError
from gpustack.health.fleet import Health, select_gpus
from gpustack.nodes.node_host import require_node_name


@dataclass(frozen=True)
class Target:
    """Name a node, and a GPU of it by its index or the beginning of its UUID; `gpu` is empty for all of them."""

    node: str
    gpu: str = ""

    @property
    def label(self) -> str:
        return f"{self.node}:{self.gpu}" if self.gpu else self.node


def parse_target(text: str) -> Target:
    """Parse NODE[:GPU]. Raise InputError for another text: names of nodes have no colon."""
    node, colon, gpu = text.partition(":")
    if colon and not (gpu and gpu.replace("-", "").isalnum()):
        reason = "A GPU is named by its index, or by the beginning of its UUID."
        raise InputError("remediation-target", f"{text!r} is no NODE and no NODE:GPU.", reason)
    require_node_name(node)
    return Target(node, gpu)


def select_target(health: Health, target: Target) -> Health:
    """Select the verdicts on a target. Raise UsageError where there is none, or a GPU is not the only one of its
    name."""
    selection = select_gpus(health, node=target.node, gpu=target.gpu)
    if target.gpu and len(selection.gpus) > 1:
        uuids = ", ".join(entry.gpu.uuid for entry in selection.gpus)
        raise UsageError("gpu-unknown", f"{target.gpu} names several GPUs of {target.node}.", f"They are: {uuids}.")
    return selection
