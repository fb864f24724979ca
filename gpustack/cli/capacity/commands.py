"""The app of the commands `gpustack capacity`."""

from gpustack.cli.capacity.forecast import forecast
from gpustack.cli.capacity.report import report
from gpustack.cli.help import build_group, declare_command
from gpustack.report.renderings import CAPACITY, FORECAST

app = build_group(
    "Report GPU-hours, and forecast when GPUs run short.",
    "gpustack capacity report -i mycluster --since 30d",
    "gpustack capacity report -i mycluster --month 2026-10 --by pool,model",
    "gpustack capacity forecast -i mycluster -o html > forecast.html",
)
declare_command(
    app,
    "gpustack capacity report -i mycluster",
    "gpustack capacity report -i mycluster --since 7d --by namespace,team",
    "gpustack capacity report -i mycluster --month 2026-10 -o csv > october.csv",
    "gpustack capacity report --prometheus http://127.0.0.1:9090 --cluster west",
    result=CAPACITY,
    short="Report GPU-hours, queue, fragments and idle GPUs.",
)(report)
declare_command(
    app,
    "gpustack capacity forecast -i mycluster",
    "gpustack capacity forecast -i mycluster --lead-time 56d --reserve 8",
    "gpustack capacity forecast -i mycluster --nodes 'h100-.+'",
    "gpustack capacity forecast -i mycluster -o html > forecast.html",
    result=FORECAST,
    short="Forecast when a pool is full, and how many GPUs to order.",
)(forecast)
