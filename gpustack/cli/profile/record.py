"""The commands `gpustack profile record` and `gpustack profile baseline`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import Source
from gpustack.cli.option_groups import Session
from gpustack.cli.output_file import ForceOption, require_target
from gpustack.cli.profile.selection import GpuOption, NodeOption, PodOption, select
from gpustack.errors import UsageError
from gpustack.events import format_count

if TYPE_CHECKING:
    from gpustack.profile.file import Profile

FileOption = Annotated[Path, typer.Option("--out", metavar="FILE", help="Write the profile to this file.")]
ForOption = Annotated[
    str,
    options.build_time_option("--for", "1s", "30d", text="Duration of the record: 90s, 15m, 1h30m, at most 30d."),
]
LabelOption = Annotated[str, typer.Option("--label", metavar="TEXT", help="Label of the profile in reports.")]
ExporterOption = Annotated[
    str, typer.Option("--exporter", metavar="URL", help="Scrape this exporter instead, http://HOST:9400/metrics.")
]


def record(
    *,
    file: FileOption,
    pod: PodOption = "",
    node: NodeOption = "",
    gpu: GpuOption = "",
    duration: ForOption = "15m",
    label: LabelOption = "",
    exporter: ExporterOption = "",
    force: ForceOption = False,
    source: Source,
    session: Session,
) -> None:
    """Record the metrics of a GPU, or of the GPUs of a pod or node, in a file for `profile analyze`.

    The metrics are read from Prometheus, or with --exporter from the exporter at its own interval. Ctrl-C ends the
    record early, and the file is written."""
    from gpustack.profile.file import write_profile

    require_target(file, "profile-file", force=force)
    profile = record_profile((pod, node, gpu), duration, label, source, exporter, session)
    write_profile(profile, file)
    typer.echo(summarize(file, profile))


def baseline(
    *,
    file: FileOption,
    node: NodeOption = "",
    gpu: GpuOption = "",
    duration: ForOption = "5m",
    exporter: ExporterOption = "",
    force: ForceOption = False,
    source: Source,
    session: Session,
) -> None:
    """Record the power, temperature and memory of idle GPUs, in a file for `profile analyze --baseline`.

    GPUs that are busy give no baseline, and no file is written for them."""
    from gpustack.profile.baseline import require_idle
    from gpustack.profile.file import write_profile

    require_target(file, "profile-file", force=force)
    profile = record_profile(("", node, gpu), duration, "baseline", source, exporter, session)
    require_idle(profile.job)
    write_profile(profile, file)
    typer.echo(summarize(file, profile))


def record_profile(
    pod_node_gpu: tuple[str, str, str], duration: str, label: str, source: Source, exporter: str, session: Session
) -> "Profile":
    """Record from now on, from Prometheus or an exporter. Raise UsageError for options that exclude each other."""
    from dataclasses import replace

    from gpustack.metrics.web import Web
    from gpustack.profile.recording import record_exporter, record_prometheus

    seconds, (selection, subject) = options.parse_duration(duration), select(*pod_node_gpu, exporter)
    if not exporter:
        with session.open_prometheus(source) as prometheus:
            return record_prometheus(prometheus, selection, subject, seconds, label, session.report)
    if session.inventory or source.tenant:
        reason = "-i and --tenant belong to a Prometheus."
        raise UsageError("profile-exporter", "An exporter is asked without them.", reason)
    web = Web(replace(source, address=exporter).build_access())
    return record_exporter(web, selection, subject, seconds, label, session.report)


def summarize(file: Path, profile: "Profile") -> str:
    first = profile.job.windows[0]
    gpus, samples = format_count(len(profile.job.windows), "GPU"), format_count(first.samples, "sample")
    missing_text = f"; not measured: {', '.join(profile.missing)}" if profile.missing else ""
    return f"{file}: {gpus}, {samples}, one in {first.interval:.3g} s{missing_text}"
