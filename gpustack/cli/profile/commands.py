"""`gpustack profile`: what bounds a workload on GPUs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import Source, open_prometheus
from gpustack.cli.help import declare, group
from gpustack.cli.profile import compare, record
from gpustack.cli.profile.selection import GpuOption, NodeOption, PodOption, ThresholdOption, select
from gpustack.errors import UsageError

app = group(
    "Find out what bounds a workload on GPUs.",
    "gpustack profile analyze -i mycluster --pod team-a/train-0 --since 1h",
    "gpustack profile record --pod team-a/train-0 --for 15m -f run1.json",
    "gpustack profile analyze run1.json",
    "gpustack profile compare run1.json run2.json",
)


class Kind(StrEnum):
    """Of gpustack.profile.expected, which is loaded later."""

    TRAINING = "training"
    INFERENCE = "inference"
    MULTI_GPU = "multi-gpu"


BaselineOption = Annotated[
    Path | None, typer.Option("--baseline", metavar="FILE", help="Of `profile baseline`: what is more than idle.")
]
WorkloadOption = Annotated[
    Kind | None, typer.Option("--workload", help="Compare with what this usually shows, and advise for it.")
]
declare(
    app,
    "gpustack profile record --pod team-a/train-0 --for 15m -f run1.json",
    "gpustack profile record --node gpu1 --for 1h --label run1 -f run1.json",
    "gpustack profile record --exporter http://gpu1:9400/metrics -f run1.json",
    short="Record the metrics of a workload in a file.",
)(record.record)
declare(
    app,
    "gpustack profile baseline --node gpu1 -f idle.json",
    "gpustack profile analyze run1.json --baseline idle.json",
    short="Record idle GPUs, to see what a workload adds.",
)(record.baseline)


@declare(
    app,
    "gpustack profile analyze run1.json",
    "gpustack profile analyze -i mycluster --pod team-a/train-0 --since 1h",
    "gpustack profile analyze run1.json --workload training --threshold dram=0.6",
    "gpustack profile analyze --gpu GPU-604ac76c --since 30m -o json",
    "gpustack profile analyze run1.json -o html > run1.html",
    short="Say what bounds a workload, and how sure that is.",
)
def analyze(
    *,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Of `profile record`.")] = None,
    pod: PodOption = "",
    node: NodeOption = "",
    gpu: GpuOption = "",
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="How long ago it begins: 90s, 15m, 1h30m.")
    ] = "1h",
    workload: WorkloadOption = None,
    baseline: BaselineOption = None,
    threshold: ThresholdOption = None,
    inventory: options.InventoryOption = None,
    source: Source,
    output: options.PageOutputOption = options.PageOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Say what bounds a workload: input, PCIe, NVLink, tensor cores, memory, latency, heat, or nothing at all.

    With the numbers behind it, what speaks against it, and what to try. Exits with 8 when there is too little data."""
    from gpustack.cli.profile.recording import read_last
    from gpustack.profile.analysis import analyze as judge
    from gpustack.profile.file import read_profile
    from gpustack.profile.limits import set_limits
    from gpustack.report.codes import analysis_code
    from gpustack.report.render import show

    hosts, limits = None, set_limits(threshold or ())
    if file and (pod or node or gpu):
        raise UsageError(
            "profile-file", "A file has its own GPUs.", "--pod, --node and --gpu choose those of Prometheus."
        )
    if file:
        profile = read_profile(file, cut=True)
    else:
        seconds, (which, what) = options.parse_duration(since), select(pod, node, gpu)
        with open_prometheus(source, inventory, become=become, quiet=quiet) as (prometheus, hosts):
            profile = read_last(prometheus, which, what, seconds)
    idle = read_profile(baseline) if baseline else None
    found = judge(profile, limits, workload.value if workload else None, idle)
    show(found, output.value, inventory=hosts)
    raise typer.Exit(analysis_code(found))


declare(
    app,
    "gpustack profile compare run1.json run2.json",
    "gpustack profile compare main.json branch.json --fail-if 'tensor<-5%'",
    short="Compare two profiles: what changed beyond noise.",
)(compare.compare)


@declare(
    app,
    "gpustack profile thresholds",
    "gpustack profile thresholds | grep idle",
    short="List the thresholds of the verdicts, with their sources.",
)
def thresholds() -> None:
    """List the thresholds of the verdicts: name, value, where it comes from, what for. `--threshold` sets one.

    [N] is NVIDIA's, [K] of KempnerPulse's classification, [E] an estimate of ours. Shares are 0 to 1."""
    from dataclasses import fields

    from gpustack.profile.limits import Limits

    for one in fields(Limits):
        typer.echo(f"{one.name:22} {one.default:<6g} {one.metadata['about']}  {one.metadata['source']}")
