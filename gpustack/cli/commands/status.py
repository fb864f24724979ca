"""The command `gpustack status`, which shows a cluster on one screen."""

from typing import TYPE_CHECKING

from gpustack.cli import options
from gpustack.cli.help import declare_command
from gpustack.cli.option_groups import Session
from gpustack.cli.root import OPERATE, ROOT
from gpustack.report.renderings import STATUS

if TYPE_CHECKING:
    from gpustack.rollout.status import Status


@declare_command(
    ROOT,
    "gpustack status -i mycluster",
    "gpustack status -i mycluster -o json",
    result=STATUS,
    heading=OPERATE,
    short="Show hosts, nodes, GPUs and firing alerts.",
)
def status(*, recording: options.FromOption = None, session: Session) -> "Status":
    """Show hosts, nodes, versions, GPUs, firing alerts and the last run on one screen. The command is read-only.

    It judges nothing: `plan` compares the cluster with the spec, and `doctor` finds causes. It exits with 8 if
    something could not be seen."""
    if recording:
        snapshot = session.load_recording(recording)
        from gpustack.rollout.status import build_status

        return build_status(snapshot)
    hosts = session.open_inventory()
    from gpustack.rollout.status import PROBES, build_status, find_last_run

    return build_status(session.gather(hosts, PROBES), find_last_run())
