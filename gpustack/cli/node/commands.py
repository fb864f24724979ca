"""The app of the commands `gpustack node`."""

from gpustack.cli.help import build_group, declare_command
from gpustack.cli.node.drain import drain
from gpustack.cli.node.uncordon import uncordon
from gpustack.report.renderings import DRAIN, UNCORDON

app = build_group(
    "Drain nodes before maintenance, and return them to service.",
    "gpustack node drain gpu1 --check -i mycluster    # who runs there, and what would leave",
    "gpustack node drain gpu1 -i mycluster",
    "gpustack node uncordon gpu1 -i mycluster",
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
