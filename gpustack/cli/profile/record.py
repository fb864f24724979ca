"""`gpustack profile record` and `gpustack profile baseline`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import Source
from gpustack.cli.profile.selection import GpuOption, NodeOption, PodOption, select
from gpustack.errors import UsageError
from gpustack.events import count

if TYPE_CHECKING:
    from gpustack.profile.file import Profile

FileOption = Annotated[Path, typer.Option("-f", "--file", metavar="FILE", help="Where to.")]
ForOption = Annotated[str, typer.Option("--for", metavar="TIME", help="How long: 90s, 15m, 1h30m.")]
LabelOption = Annotated[str, typer.Option("--label", metavar="TEXT", help="A name for it.")]
ExporterOption = Annotated[
    str, typer.Option("--exporter", metavar="URL", help="Ask this exporter itself, http://HOST:9400/metrics.")
]


def record(
    *,
    file: FileOption,
    pod: PodOption = "",
    node: NodeOption = "",
    gpu: GpuOption = "",
    duration: ForOption = "15m",
    label: LabelOption = "",
    inventory: options.InventoryOption = None,
    exporter: ExporterOption = "",
    source: Source,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Record what the GPUs of a pod, a node, or one GPU measure from now on, in a file for `profile analyze`.

    From a Prometheus, or with --exporter from the exporter itself, at its own pace. Ctrl-C ends it earlier and keeps
    what there is."""
    from gpustack.profile.file import require_writable, write_profile

    require_writable(file)
    profile = take((pod, node, gpu), duration, label, source, exporter, inventory, become=become, quiet=quiet)
    write_profile(profile, file)
    typer.echo(summarize(file, profile))


def baseline(
    *,
    file: FileOption,
    node: NodeOption = "",
    gpu: GpuOption = "",
    duration: ForOption = "5m",
    inventory: options.InventoryOption = None,
    exporter: ExporterOption = "",
    source: Source,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Record what idle GPUs measure, in a file for `profile analyze --baseline`: power, heat and memory without work.

    GPUs that do something give no baseline: nothing is written then."""
    from gpustack.profile.baseline import require_idle
    from gpustack.profile.file import require_writable, write_profile

    require_writable(file)
    profile = take(("", node, gpu), duration, "baseline", source, exporter, inventory, become=become, quiet=quiet)
    require_idle(profile.job)
    write_profile(profile, file)
    typer.echo(summarize(file, profile))


def take(
    chosen: tuple[str, str, str],
    duration: str,
    label: str,
    source: Source,
    exporter: str,
    inventory: Path | None,
    *,
    become: bool,
    quiet: bool,
) -> "Profile":
    """What is measured from now on."""
    from dataclasses import replace

    from gpustack.cli.profile.recording import record_exporter, record_prometheus

    seconds, (which, what) = options.parse_duration(duration), select(*chosen, exporter)
    if not exporter:
        return record_prometheus(source, inventory, which, what, seconds, label, become=become, quiet=quiet)
    if inventory or source.tenant:
        why = "-i and --tenant belong to a Prometheus."
        raise UsageError("profile-exporter", "An exporter is asked without them.", why)
    return record_exporter(exporter, replace(source, address=exporter), which, what, seconds, label, quiet=quiet)


def summarize(file: Path, profile: "Profile") -> str:
    first = profile.job.windows[0]
    gpus, samples = count(len(profile.job.windows), "GPU"), count(first.samples, "sample")
    without = f"; not measured: {', '.join(profile.missing)}" if profile.missing else ""
    return f"{file}: {gpus}, {samples}, one in {first.every:.3g} s{without}"
