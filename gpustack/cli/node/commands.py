"""The app of the commands `gpustack node`."""

from gpustack.cli.help import build_group, declare_command
from gpustack.cli.node.drain import drain
from gpustack.cli.node.reboot import reboot
from gpustack.cli.node.remove import remove
from gpustack.cli.node.uncordon import uncordon
from gpustack.report.nodes.renderings import DRAIN, REBOOT, REMOVE, UNCORDON

app = build_group(
    "Drain, uncordon, reboot and remove nodes.",
    "gpustack node drain gpu1 --check -i mycluster    # who runs there",
    "gpustack node drain gpu1 -i mycluster",
    "gpustack node uncordon gpu1 -i mycluster",
    "gpustack node reboot -i mycluster",
)


@app.callback()
def node() -> None:
    pass


declare_command(
    app,
    "gpustack node drain gpu1 --check -i mycluster",
    "gpustack node drain gpu1 -i mycluster --timeout 30m",
    "gpustack node drain gpu1 -i mycluster --end-pod team-a/notebook",
    result=DRAIN,
    short="Cordon a node, and evict its pods.",
)(drain)
declare_command(
    app,
    "gpustack node uncordon gpu1 -i mycluster",
    "gpustack node uncordon gpu1 -i mycluster --foreign --yes",
    result=UNCORDON,
    short="Uncordon a node that gpustack cordoned.",
)(uncordon)
declare_command(
    app,
    "gpustack node reboot -i mycluster --check",
    "gpustack node reboot gpu1 gpu2 -i mycluster --wait-for-jobs 2h",
    "gpustack node reboot -i mycluster --if-required --yes",
    result=REBOOT,
    short="Reboot hosts one after the other, without losing jobs.",
)(reboot)
declare_command(
    app,
    "gpustack node remove gpu1 --check -i mycluster",
    "gpustack node remove gpu1 -i mycluster",
    "gpustack node remove gpu1 --dead -i mycluster    # its host is gone",
    result=REMOVE,
    short="Remove a node from the cluster, and gpustack from its host.",
)(remove)
