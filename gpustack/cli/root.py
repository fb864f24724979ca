"""The root command `gpustack`, to which the modules of gpustack/cli/commands add their commands."""

from typer.models import CommandInfo, TyperInfo

from gpustack.cli.help import build_group

ROOT = build_group(
    "Turn Linux hosts into a Kubernetes GPU cluster, and prove that it works.",
    "gpustack init mycluster               # write a commented inventory",
    "gpustack plan -i mycluster            # show what differs from the spec",
    "gpustack install -i mycluster         # show the plan, confirm, apply, verify",
    "gpustack doctor -i mycluster          # find the root cause of a fault",
    name="gpustack",
)
SETUP, OPERATE, DIAGNOSE, LAB = "Set up", "Operate", "Diagnose", "Lab and bundles"
BUNDLES = "Bundles"
"""The heading in place of LAB where the lab distribution is not installed."""
ORDER = (
    *(
        "init",
        "config",
        "plan",
        "install",
        "verify",
        "status",
        "prove",
        "access",
        "kubeconfig",
        "trust",
        "serve",
        "reset",
        "doctor",
    ),
    *("alerts", "gpu", "node", "remediate", "care", "capacity", "cost", "lab"),
)
"""The order in which people need the commands and groups. Others follow by their names."""


def sort_commands() -> None:
    ROOT.registered_commands.sort(key=find_position)
    ROOT.registered_groups.sort(key=find_position)


def find_position(info: CommandInfo | TyperInfo) -> tuple[int, str]:
    name = str(info.name or getattr(info.callback, "__name__", ""))
    return ORDER.index(name) if name in ORDER else len(ORDER), name
