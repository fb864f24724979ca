"""`gpustack profile`: what bounds a workload on GPUs."""

from pathlib import Path
from typing import Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import (
    AddressOption,
    CaOption,
    CertificateOption,
    Source,
    TenantOption,
    TokenOption,
    open_prometheus,
)
from gpustack.cli.help import declare, group
from gpustack.cli.profile import record
from gpustack.cli.profile.selection import GpuOption, NodeOption, PodOption, select
from gpustack.errors import UsageError

app = group(
    "Find out what bounds a workload on GPUs.",
    "gpustack profile analyze -i mycluster --pod team-a/train-0 --since 1h",
    "gpustack profile record --pod team-a/train-0 --for 15m -f run1.json",
    "gpustack profile analyze run1.json",
)

declare(
    app,
    "gpustack profile record --pod team-a/train-0 --for 15m -f run1.json",
    "gpustack profile record --node gpu1 --for 1h --label run1 -f run1.json",
    "gpustack profile record --exporter http://gpu1:9400/metrics -f run1.json",
    short="Record the metrics of a workload in a file.",
)(record.record)


@declare(
    app,
    "gpustack profile analyze run1.json",
    "gpustack profile analyze -i mycluster --pod team-a/train-0 --since 1h",
    "gpustack profile analyze --gpu GPU-604ac76c --since 30m -o json",
    short="Say what bounds a workload, and how sure that is.",
)
def analyze(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Of `profile record`.")] = None,
    pod: PodOption = "",
    node: NodeOption = "",
    gpu: GpuOption = "",
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="How long ago it begins: 90s, 15m, 1h30m.")
    ] = "1h",
    inventory: options.InventoryOption = None,
    address: AddressOption = "",
    token: TokenOption = None,
    certificate: CertificateOption = None,
    ca: CaOption = None,
    tenant: TenantOption = "",
    output: options.ShortOutputOption = options.ShortOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Say what bounds a workload: input, PCIe, NVLink, tensor cores, memory, latency, heat, or nothing at all.

    With the numbers behind it, what speaks against it, and what to try. Exits with 8 when there is too little data."""
    from gpustack.cli.profile.recording import read
    from gpustack.profile.analysis import analyze as judge
    from gpustack.profile.file import read_profile
    from gpustack.report.render import show

    hosts = None
    if file and (pod or node or gpu):
        raise UsageError(
            "profile-file", "A file has its own GPUs.", "--pod, --node and --gpu choose those of Prometheus."
        )
    if file:
        profile = read_profile(file)
    else:
        seconds, (which, what) = options.parse_duration(since), select(pod, node, gpu)
        source = Source(address, token, certificate, ca, tenant)
        with open_prometheus(source, inventory, become=become, quiet=quiet) as (prometheus, hosts):
            now = prometheus.now()
            profile = read(prometheus, which, what, now - seconds, now, "")
    found = judge(profile)
    show(found, output.value, inventory=hosts)
    raise typer.Exit(8 if found.verdict.confidence == "none" else 0)
