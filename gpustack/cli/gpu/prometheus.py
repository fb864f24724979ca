"""Which Prometheus a command reads: the one that is given, or the cluster's own, through its control plane."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import session
from gpustack.command import Command
from gpustack.errors import UsageError
from gpustack.events import Reporter

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory
    from gpustack.metrics.prometheus import Prometheus
    from gpustack.metrics.web import Access
    from gpustack.proof.services import Part

AddressOption = Annotated[
    str,
    typer.Option(
        "--prometheus",
        metavar="URL",
        envvar="GPUSTACK_PROMETHEUS",
        help="A Prometheus, Thanos or Mimir. Default: that of the cluster, through its control plane.",
    ),
]
TokenOption = Annotated[Path | None, typer.Option("--token-file", metavar="FILE", help="File with its bearer token.")]
CertificateOption = Annotated[
    Path | None,
    typer.Option("--client-certificate", metavar="FILE", help="PEM file of a client certificate, with its key."),
]
CaOption = Annotated[
    Path | None, typer.Option("--ca-file", metavar="FILE", help="PEM file of who signed its certificate.")
]
TenantOption = Annotated[str, typer.Option("--tenant", metavar="ID", help="X-Scope-OrgID, for Mimir and Cortex.")]


@dataclass(frozen=True)
class Source:
    """Options of all that read a Prometheus: the address, empty for the cluster's own, and what proves who asks."""

    address: AddressOption = ""
    token: TokenOption = None
    certificate: CertificateOption = None
    ca: CaOption = None
    tenant: TenantOption = ""

    def access(self) -> "Access":
        """Raises UsageError for a file that cannot be read."""
        from gpustack.metrics.web import Access

        return Access(
            self.address,
            token=plain_line(f"--token-file: {self.token}", read_file("--token-file", self.token))
            if self.token
            else "",
            certificate=named("--client-certificate", self.certificate),
            ca=named("--ca-file", self.ca),
            tenant=plain_line("--tenant", self.tenant) if self.tenant else "",
        )


def read_file(option: str, path: Path) -> str:
    from gpustack.files.read import read_text

    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "prometheus-file", f"{option}: {path} cannot be read.", str(error), Command("ls", "-l", str(path))
        ) from None


def plain_line(what: str, text: str) -> str:
    """What stands in a header. Raises UsageError, without the text."""
    line = text.strip()
    if not line or not line.isascii() or not line.isprintable():
        raise UsageError("prometheus-file", f"{what} is not one line of ASCII.", "It is sent as a header of HTTP.")
    return line


def named(option: str, path: Path | None) -> str:
    return str(path) if path and read_file(option, path) else ""


@contextmanager
def forward_to(part: "Part", hosts: "Inventory", report: Reporter) -> Iterator[tuple[str, int]]:
    """Address and port on this machine that lead to a part of the cluster's monitoring, or of that of the one host
    without Kubernetes."""
    from gpustack.proof.connect import acting_host, forward_part, forward_standalone
    from gpustack.proof.services import ACCESS_PROBES, find_access

    if not hosts.in_cluster:
        with forward_standalone(hosts, part) as there:
            yield there
        return
    taken = session.gather_all(hosts, report, ACCESS_PROBES)
    with forward_part(acting_host(taken), find_access(taken, part)) as (_, address, number):
        yield address, number


@contextmanager
def open_part(part: "Part", inventory: Path | None, *, become: bool, quiet: bool) -> "Iterator[tuple[str, Inventory]]":
    """The address of a part of the cluster's monitoring, through its control plane."""
    report = session.progress(quiet=quiet)
    hosts = session.open_inventory(inventory, ask_password=become, quiet=quiet)
    from gpustack.proof.services import SCHEME

    with forward_to(part, hosts, report) as (address, number):
        yield f"{SCHEME}://{address}:{number}", hosts


@contextmanager
def open_prometheus(
    source: Source, inventory: Path | None, *, become: bool, quiet: bool
) -> "Iterator[tuple[Prometheus, Inventory | None]]":
    """And the inventory, where one led there. Raises UsageError, UnreachableError, and as reading an inventory."""
    from gpustack.metrics.prometheus import Prometheus
    from gpustack.metrics.web import Access

    if source.address:
        yield Prometheus(source.access()), None
        return
    with open_part("prometheus", inventory, become=become, quiet=quiet) as (address, hosts):
        yield Prometheus(Access(address)), hosts
