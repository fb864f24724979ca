"""The app of the commands `gpustack profile`, with `analyze` and `thresholds`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import Source
from gpustack.cli.help import build_group, declare_command
from gpustack.cli.option_groups import Session
from gpustack.cli.profile import compare, record
from gpustack.cli.profile.selection import GpuOption, NodeOption, PodOption, ThresholdOption, select
from gpustack.errors import UsageError
from gpustack.report.renderings import ANALYSIS, COMPARISON

if TYPE_CHECKING:
    from gpustack.profile.analysis import Analysis

app = build_group(
    "Find out what bounds a workload on GPUs.",
    "gpustack profile analyze -i mycluster --pod team-a/train-0 --since 1h",
    "gpustack profile record -i mycluster --pod team-a/train-0 --out run1.json",
    "gpustack profile analyze run1.json",
    "gpustack profile compare run1.json run2.json",
)


class Kind(StrEnum):
    """List the kinds of workloads of gpustack/profile/usual.py, which is imported later."""

    TRAINING = "training"
    INFERENCE = "inference"
    MULTI_GPU = "multi-gpu"


BaselineOption = Annotated[
    Path | None, typer.Option("--baseline", metavar="FILE", help="Subtract this file of `profile baseline`.")
]
WorkloadOption = Annotated[
    Kind | None, typer.Option("--workload", help="Compare with typical values of this kind of workload.")
]
declare_command(
    app,
    "gpustack profile record -i mycluster --pod team-a/train-0 --out run1.json",
    "gpustack profile record -i mycluster --node gpu1 --for 1h --out run1.json",
    "gpustack profile record --exporter http://gpu1:9400/metrics --out run1.json",
    short="Record the metrics of a workload in a file.",
)(record.record)
declare_command(
    app,
    "gpustack profile baseline -i mycluster --node gpu1 --out idle.json",
    "gpustack profile analyze run1.json --baseline idle.json",
    short="Record the metrics of idle GPUs, for comparison.",
)(record.baseline)


@declare_command(
    app,
    "gpustack profile analyze run1.json",
    "gpustack profile analyze -i mycluster --pod team-a/train-0 --since 1h",
    "gpustack profile analyze run1.json --workload training --threshold dram=0.6",
    "gpustack profile analyze -i mycluster --gpu GPU-604ac76c --since 30m -o json",
    "gpustack profile analyze run1.json -o html > run1.html",
    result=ANALYSIS,
    short="Find the bottleneck of a workload.",
)
def analyze(
    *,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="File of `profile record` to analyze.")] = None,
    pod: PodOption = "",
    node: NodeOption = "",
    gpu: GpuOption = "",
    lookback: Annotated[
        str,
        options.build_time_option(
            "--since", "1s", "30d", text="Start of the profile, as time before now: 90s, 15m, 1h30m, at most 30d."
        ),
    ] = "1h",
    workload: WorkloadOption = None,
    baseline: BaselineOption = None,
    threshold: ThresholdOption = None,
    source: Source,
    session: Session,
) -> "Analysis":
    """Find the bottleneck of a workload: input, PCIe, NVLink, tensor cores, memory, latency or heat.

    The report has the evidence, the alternatives and advice. The command exits with 8 if data is missing or
    contradicts itself."""
    from gpustack.profile.analysis import analyze as analyze_profile
    from gpustack.profile.file import read_profile
    from gpustack.profile.limits import set_limits
    from gpustack.profile.recording import read_last

    limits = set_limits(threshold or ())
    if file and (pod or node or gpu):
        raise UsageError(
            "profile-file", "A file has its own GPUs.", "--pod, --node and --gpu choose those of Prometheus."
        )
    baseline_profile = read_profile(baseline) if baseline else None
    if file:
        profile = read_profile(file, cut=True)
    else:
        seconds, (selection, subject) = options.parse_duration(lookback), select(pod, node, gpu)
        with session.open_prometheus(source) as prometheus:
            profile = read_last(prometheus, selection, subject, seconds)
    return analyze_profile(profile, limits, workload.value if workload else None, baseline_profile)


declare_command(
    app,
    "gpustack profile compare run1.json run2.json",
    "gpustack profile compare main.json branch.json --fail-if 'tensor<-5%'",
    result=COMPARISON,
    short="Compare two profiles, with changes outside noise.",
)(compare.compare)


@declare_command(
    app,
    "gpustack profile thresholds",
    "gpustack profile thresholds | grep idle",
    short="List the thresholds of the verdicts and their sources.",
)
def thresholds() -> None:
    """List the thresholds of the verdicts with value, purpose and source. Set one with `--threshold`.

    Sources are [N] NVIDIA, [K] the classification of KempnerPulse, [M] measurements and [E] estimates of gpustack.
    Shares are 0 to 1."""
    from dataclasses import fields

    from gpustack.profile.limits import Limits
    from gpustack.report.render import build_console
    from gpustack.report.table import draw_table

    rows = [
        (entry.name, f"{entry.default:g}", entry.metadata["about"], entry.metadata["source"])
        for entry in fields(Limits)
    ]
    console = build_console()
    console.print(draw_table(console, ("NAME", "VALUE", "MEANING", "SOURCE"), rows))
