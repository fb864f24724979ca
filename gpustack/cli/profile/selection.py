"""Options that select the GPUs of a command."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli.options import refuse_value

if TYPE_CHECKING:
    from gpustack.profile.selection import Selection

PodOption = Annotated[str, typer.Option("--pod", metavar="NAMESPACE/POD", help="Select the GPUs of this pod.")]
NodeOption = Annotated[str, typer.Option("--node", metavar="NAME", help="Select the GPUs of this node.")]


def complete_threshold(incomplete: str) -> list[str]:
    from gpustack.profile.limits import NAMES

    return [f"{name}=" for name in NAMES if name.startswith(incomplete)]


ThresholdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="NAME=VALUE",
        help="Override a threshold of `profile thresholds` (repeatable).",
        autocompletion=complete_threshold,
    ),
]
GpuOption = Annotated[str, typer.Option("--gpu", metavar="UUID", help="Select this GPU.")]


def select(pod: str, node: str, gpu: str, exporter: str = "") -> "tuple[Selection, str]":
    """Return the selected GPUs and their label. Raise BadParameter unless one option selects them. With an exporter, no
    option selects all of its GPUs."""
    from gpustack.profile.selection import Selection

    choices = sum(map(bool, (pod, node, gpu)))
    if choices > 1 or not (choices or exporter):
        raise typer.BadParameter("give one of --pod, --node and --gpu")
    namespace, slash, name = pod.partition("/")
    if pod and not (namespace and slash and name):
        raise refuse_value("--pod", pod, "NAMESPACE/POD")
    return Selection(namespace, name, node, gpu), pod or node or gpu or exporter
