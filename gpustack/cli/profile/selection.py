"""Options by which a command chooses GPUs."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gpustack.profile.selection import Selection

PodOption = Annotated[str, typer.Option("--pod", metavar="NAMESPACE/POD", help="The GPUs of this pod.")]
NodeOption = Annotated[str, typer.Option("--node", metavar="NAME", help="The GPUs of this node.")]
ThresholdOption = Annotated[
    list[str] | None,
    typer.Option("--threshold", metavar="NAME=VALUE", help="Another threshold (repeatable): `profile thresholds`."),
]
GpuOption = Annotated[str, typer.Option("--gpu", metavar="UUID", help="One GPU.")]


def select(pod: str, node: str, gpu: str, exporter: str = "") -> "tuple[Selection, str]":
    """And what it is called. Raises BadParameter unless it is one of them; of an exporter it may be all of its GPUs."""
    from gpustack.profile.selection import Selection

    chosen = sum(map(bool, (pod, node, gpu)))
    if chosen > 1 or not (chosen or exporter):
        raise typer.BadParameter("give one of --pod, --node and --gpu")
    namespace, slash, name = pod.partition("/")
    if pod and not (namespace and slash and name):
        raise typer.BadParameter(f"--pod takes NAMESPACE/POD, not {pod}")
    return Selection(namespace, name, node, gpu), pod or node or gpu or exporter
