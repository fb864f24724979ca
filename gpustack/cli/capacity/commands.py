"""`gpustack capacity`: what the GPUs are used for, and whether they are enough."""

from gpustack.cli.capacity.report import report
from gpustack.cli.help import declare, group

app = group(
    "Report GPU-hours: asked for, allocated, used and free.",
    "gpustack capacity report -i mycluster --since 30d",
    "gpustack capacity report -i mycluster --month 2026-10 --by pool,model",
)


@app.callback()
def capacity() -> None:
    pass


declare(
    app,
    "gpustack capacity report -i mycluster",
    "gpustack capacity report --since 7d --by namespace,team",
    "gpustack capacity report --month 2026-10 --by node -o csv > october.csv",
    "gpustack capacity report --prometheus http://127.0.0.1:9090 --cluster west",
    short="Report GPU-hours, queue, fragments and idle GPUs.",
)(report)
