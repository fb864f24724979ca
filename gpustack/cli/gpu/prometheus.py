"""Options of the Prometheus that a command reads, by its URL or through the control plane."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli.output_file import ForceOption, require_target
from gpustack.command import Command
from gpustack.errors import UsageError, describe_os_error
from gpustack.events import Reporter

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot
    from gpustack.config.inventory import Inventory
    from gpustack.metrics.prometheus import Prometheus
    from gpustack.metrics.web import Access

AddressOption = Annotated[
    str,
    typer.Option(
        "--prometheus",
        metavar="URL",
        envvar="GPUSTACK_PROMETHEUS",
        help="URL of Prometheus, Thanos or Mimir. Default: Prometheus of the cluster, through its control plane.",
    ),
]
TokenOption = Annotated[
    Path | None, typer.Option("--token-file", metavar="FILE", help="Read the bearer token from this file.")
]
LoginOption = Annotated[
    Path | None,
    typer.Option(
        "--basic-auth-file", metavar="FILE", help="Read USER:PASSWORD for basic authentication from this file."
    ),
]
CertificateOption = Annotated[
    Path | None,
    typer.Option("--client-certificate", metavar="FILE", help="Use this client certificate with its key, in PEM."),
]
CaOption = Annotated[
    Path | None, typer.Option("--ca-file", metavar="FILE", help="Verify the server by this CA certificate, in PEM.")
]
RecordOption = Annotated[
    Path | None,
    typer.Option(
        "--record", metavar="FILE", help="Write the queries and answers of Prometheus to this file, redacted."
    ),
]
RecordingOption = Annotated[
    Path | None,
    typer.Option("--from", metavar="FILE", help="Read this file of --record instead of a Prometheus."),
]
TenantOption = Annotated[
    str, typer.Option("--tenant", metavar="ID", help="Value of the X-Scope-OrgID header, for Mimir and Cortex.")
]


@dataclass(frozen=True)
class Source:
    """Hold the options of commands that read a Prometheus. `address` is empty for the Prometheus of the cluster, and
    the other options authenticate."""

    address: AddressOption = ""
    token: TokenOption = None
    login: LoginOption = None
    certificate: CertificateOption = None
    ca: CaOption = None
    tenant: TenantOption = ""

    @property
    def uses_inventory(self) -> bool:
        """Tell whether the Prometheus is that of the inventory."""
        return not self.address

    def list_words(self) -> list[str]:
        """List the options that were given, for a command to repeat."""
        options = {
            "--prometheus": self.address,
            "--token-file": self.token,
            "--basic-auth-file": self.login,
            "--client-certificate": self.certificate,
            "--ca-file": self.ca,
            "--tenant": self.tenant,
        }
        return [word for name, value in options.items() if value for word in (name, str(value))]

    def build_access(self) -> "Access":
        """Build the access to the address. Raise UsageError for a file that cannot be read, and for two logins."""
        from gpustack.metrics.web import Access

        if self.token and self.login:
            reason = "A request has one header Authorization."
            raise UsageError("prometheus-file", "--token-file and --basic-auth-file are mutually exclusive.", reason)

        return Access(
            self.address,
            token=parse_header(f"--token-file: {self.token}", read_file("--token-file", self.token))
            if self.token
            else "",
            login=read_login(self.login) if self.login else "",
            certificate=require_readable("--client-certificate", self.certificate),
            ca=require_readable("--ca-file", self.ca),
            tenant=parse_header("--tenant", self.tenant) if self.tenant else "",
        )


@dataclass(frozen=True)
class RecordedSource(Source):
    """Hold the options of commands whose queries can be recorded. `recording` is read in place of a Prometheus."""

    record: RecordOption = None
    force: ForceOption = False
    recording: RecordingOption = None

    def __post_init__(self) -> None:
        if self.recording and (self.record or self.address):
            raise typer.BadParameter("--from and --record or --prometheus are mutually exclusive")

    @property
    def uses_inventory(self) -> bool:
        return not (self.address or self.recording)


def read_file(option: str, path: Path) -> str:
    from gpustack.files.read import read_text

    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "prometheus-file",
            f"{option}: {path} cannot be read.",
            describe_os_error(error),
            Command("ls", "-l", str(path)),
        ) from None


def parse_header(label: str, text: str) -> str:
    """Return the text as the value of a header. Raise UsageError, without the text, for more than a line of ASCII."""
    line = text.strip()
    if not line or not line.isascii() or not line.isprintable():
        raise UsageError("prometheus-file", f"{label} is not one line of ASCII.", "It is sent as a header of HTTP.")
    return line


def read_login(path: Path) -> str:
    """Read the login of basic authentication. Raise UsageError, without its text, for a file without a colon."""
    login = parse_header(f"--basic-auth-file: {path}", read_file("--basic-auth-file", path))
    if ":" not in login:
        message = f"--basic-auth-file: {path} is not USER:PASSWORD."
        raise UsageError("prometheus-file", message, "The first colon separates the user from the password.")
    return login


def require_readable(option: str, path: Path | None) -> str:
    return str(path) if path and read_file(option, path) else ""


@contextmanager
def open_source(
    source: Source,
    hosts: "Inventory | None",
    report: Reporter,
    *,
    lasting: bool = False,
    snapshot: "Snapshot | None" = None,
) -> "Iterator[Prometheus]":
    """Open the Prometheus of --prometheus, or else that of these hosts, or the recording of --from. Raise UsageError
    and UnreachableError, and at the end MissingDataError where a store of it was lost. A `lasting` command asks for
    stores with each of its answers. A snapshot with the answers to ACCESS_PROBES saves asking the hosts."""
    from gpustack.metrics.prometheus import Prometheus

    if isinstance(source, RecordedSource) and source.recording:
        from gpustack.metrics.recording import read_answers

        yield read_answers(source.recording).open_prometheus()
    elif hosts is None or source.address:
        with record_queries(source, hosts, Prometheus(source.build_access())) as prometheus:
            yield prometheus
            if not lasting:
                prometheus.require_stores()
    else:
        from gpustack.proof import connect

        with (
            connect.open_prometheus(hosts, report, snapshot) as cluster_prometheus,
            record_queries(source, hosts, cluster_prometheus) as prometheus,
        ):
            yield prometheus
            if not lasting:
                prometheus.require_stores()


@contextmanager
def record_queries(source: Source, hosts: "Inventory | None", prometheus: "Prometheus") -> "Iterator[Prometheus]":
    """Record the queries for --record. An error of the command ends the recording, and the file has what led to it."""
    if not isinstance(source, RecordedSource) or source.record is None:
        yield prometheus
        return
    from gpustack.metrics.recording import RecordingWeb, write_answers

    require_target(source.record, "metrics-recording", force=source.force)
    prometheus.web = web = RecordingWeb(prometheus.access)
    try:
        yield prometheus
    finally:
        write_answers(source.record, web, hosts.spec if hosts else None)
