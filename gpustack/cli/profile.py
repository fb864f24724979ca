"""`gpustack profile`: what bounds a workload on GPUs."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
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
from gpustack.errors import UsageError
from gpustack.events import Event

if TYPE_CHECKING:
    from gpustack.metrics.prometheus import Prometheus
    from gpustack.profile.file import Profile
    from gpustack.profile.read import Selection

app = group(
    "Find out what bounds a workload on GPUs.",
    "gpustack profile analyze -i mycluster --pod team-a/train-0 --since 1h",
    "gpustack profile record --pod team-a/train-0 --for 15m -f run1.json",
    "gpustack profile analyze run1.json",
)
PodOption = Annotated[str, typer.Option("--pod", metavar="NAMESPACE/POD", help="The GPUs of this pod.")]
NodeOption = Annotated[str, typer.Option("--node", metavar="NAME", help="The GPUs of this node.")]
GpuOption = Annotated[str, typer.Option("--gpu", metavar="UUID", help="One GPU.")]


def select(pod: str, node: str, gpu: str) -> "tuple[Selection, str]":
    """And what it is called. Raises BadParameter unless it is one of them."""
    from gpustack.profile.read import Selection

    if sum(map(bool, (pod, node, gpu))) != 1:
        raise typer.BadParameter("give one of --pod, --node and --gpu")
    namespace, slash, name = pod.partition("/")
    if pod and not (namespace and slash and name):
        raise typer.BadParameter(f"--pod takes NAMESPACE/POD, not {pod}")
    return Selection(namespace, name, node, gpu), pod or node or gpu


def read(prometheus: "Prometheus", which: "Selection", what: str, begin: float, end: float, label: str) -> "Profile":
    from gpustack.profile.file import SCHEMA, Profile
    from gpustack.profile.read import read_job

    return Profile(SCHEMA, label, what, begin, end, read_job(prometheus, which, begin, end))


@declare(
    app,
    "gpustack profile record --pod team-a/train-0 --for 15m -f run1.json",
    "gpustack profile record --node gpu1 --for 1h --label baseline -f baseline.json",
    short="Record the metrics of a workload in a file.",
)
def record(
    file: Annotated[Path, typer.Option("-f", "--file", metavar="FILE", help="Where to.")],
    pod: PodOption = "",
    node: NodeOption = "",
    gpu: GpuOption = "",
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="How long: 90s, 15m, 1h30m.")] = "15m",
    label: Annotated[str, typer.Option("--label", metavar="TEXT", help="A name for it.")] = "",
    inventory: options.InventoryOption = None,
    address: AddressOption = "",
    token: TokenOption = None,
    certificate: CertificateOption = None,
    ca: CaOption = None,
    tenant: TenantOption = "",
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Record what the GPUs of a pod, a node, or one GPU measure from now on, in a file for `profile analyze`.

    Ctrl-C ends it earlier and keeps what there is."""
    from gpustack.profile.file import require_writable, write_profile

    require_writable(file)
    seconds, (which, what) = options.parse_duration(duration), select(pod, node, gpu)
    report = session.progress(quiet=quiet)
    source = Source(address, token, certificate, ca, tenant)
    with open_prometheus(source, inventory, become=become, quiet=quiet) as (prometheus, _):
        begin = prometheus.now()
        try:
            report(Event("waiting", what, f"is recorded for {duration}; Ctrl-C ends it and keeps what there is"))
            time.sleep(seconds)
        except KeyboardInterrupt:
            report(Event("note", what, "ended by Ctrl-C"))
        profile = read(prometheus, which, what, begin, prometheus.now(), label)
    write_profile(profile, file)
    typer.echo(f"{file}: {len(profile.job.windows)} GPUs, {profile.job.windows[0].samples} samples")


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
