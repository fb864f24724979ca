"""Connections to the API, Prometheus, Grafana and Alertmanager of a cluster, through its control plane."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from gpustack.ask.gather import gather, require_reach
from gpustack.ask.probe import CLUSTER, Answer, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.transport.forward import PortForwarder, open_forwarder
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.ports import UNIT_PORTS
from gpustack.errors import RolloutError, UnreachableError, UsageError, describe_os_error
from gpustack.events import Reporter
from gpustack.metrics import prometheus
from gpustack.metrics.web import Access as Address
from gpustack.probes.kubernetes.nodes import NODES as KUBERNETES_NODES
from gpustack.probes.proof import NODES, SERVICES
from gpustack.probes.standalone.units import ALERTMANAGER, PROMETHEUS
from gpustack.proof import credential
from gpustack.proof.alertmanager import Alertmanager
from gpustack.proof.chain import Place
from gpustack.proof.credential import parse_login
from gpustack.proof.delivery import Deliveries, Trial, run_trials
from gpustack.proof.grafana import Grafana
from gpustack.proof.http import Web
from gpustack.proof.inventory import locate_exporters
from gpustack.proof.message import PodAmtool
from gpustack.proof.pod_run import PodRun
from gpustack.proof.prometheus import Prometheus
from gpustack.proof.prove import Proof, Prover
from gpustack.proof.services import (
    ACCESS_PROBES,
    LABELS,
    SCHEME,
    Access,
    Part,
    choose_namespace,
    find_access,
    find_service,
    select_main_port,
)
from gpustack.steps.standalone.files import LOOPBACK

if TYPE_CHECKING:
    from gpustack.proof.pod import Pods


STANDALONE_PORTS: dict[str, int] = {"prometheus": UNIT_PORTS[PROMETHEUS], "alertmanager": UNIT_PORTS[ALERTMANAGER]}
API_CREDENTIALS = (credential.CERTIFICATE, credential.SERVER)
FORWARD_REFUSAL = "prohibited"
"""A word of sshd's message where it may not forward (RFC 4254, SSH_OPEN_ADMINISTRATIVELY_PROHIBITED). The reason for an
address where nothing listens is SSH_OPEN_CONNECT_FAILED."""
NO_CLUSTER = "No host of the inventory is to have Kubernetes, and this command goes through a cluster."


def find_acting_host(snapshot: Snapshot) -> Host:
    """Find the control plane through which the cluster is reached. Raise UsageError for an inventory without one."""
    if not snapshot.inventory.cluster_hosts:
        reason = "All hosts are in the group gpu_standalone."
        raise UsageError("no-kubernetes", NO_CLUSTER, reason)
    return View(snapshot, CLUSTER).host


def run_proof(
    snapshot: Snapshot,
    places: Sequence[Place],
    skipped_hosts: Sequence[tuple[str, str]],
    private: Path,
    report: Reporter,
    timeout: float,
    find_stop_reason: Callable[[], str],
    author: str,
    *,
    cordoned: bool = False,
) -> Proof:
    """Run a proof through the control plane; `author` is who runs it. Raise HostRefused and RolloutError before
    anything is created."""
    acting = find_acting_host(snapshot)
    variables = {**credential.PROOF.environment, "NAMESPACE": choose_namespace("grafana", snapshot.inventory.spec)}
    with open_forwarder(acting) as forwarder:
        answers = credential.fetch_answers(acting, [*API_CREDENTIALS, credential.GRAFANA], variables)
        cluster = connect_api(answers, snapshot.inventory, forwarder, private)
        prover = Prover(
            run=PodRun(lambda: nullcontext(cluster), report, find_stop_reason, "kernel", pause=0.5),
            prometheus=connect_prometheus(snapshot, forwarder),
            grafana=connect_grafana(snapshot, forwarder, answers[credential.GRAFANA.id]),
            places=places,
            namespace=snapshot.inventory.spec.gpu.namespace,
            author=author,
            timeout=timeout,
            cordoned=cordoned,
        )
        return prover.prove(skipped_hosts)


def send_test_alerts(
    snapshot: Snapshot,
    access: Access,
    severities: Sequence[str],
    report: Reporter,
    timeout: float,
    find_stop_reason: Callable[[], str],
) -> Deliveries:
    """Send a test alert of each severity that has a receiver. Raise HostRefused, RolloutError and UsageError before
    anything is sent."""
    spec = snapshot.inventory.spec
    tested_severities = [severity for severity in severities if spec.alerts.receivers.list_names(severity)]
    acting = find_acting_host(snapshot)
    amtool = PodAmtool(acting, access.service.namespace)
    with forward_part(acting, access) as (_, address, number):
        alertmanager = Alertmanager(Web("Alertmanager", address, number))
        trials = [
            Trial(
                alertmanager,
                report,
                find_stop_reason,
                spec.cluster_name,
                severity,
                spec.alerts.runbooks,
                timeout,
                amtool,
            )
            for severity in tested_severities
        ]
        return run_trials(trials, [severity for severity in severities if severity not in tested_severities])


@contextmanager
def open_pods(snapshot: Snapshot, private: Path) -> Iterator["Pods"]:
    """Connect to the API through a control plane, with a certificate of an hour. Raise HostRefused and RolloutError."""
    acting = find_acting_host(snapshot)
    with open_forwarder(acting) as forwarder:
        answers = credential.fetch_answers(acting, API_CREDENTIALS, credential.PROOF.environment)
        yield connect_api(answers, snapshot.inventory, forwarder, private)


@contextmanager
def open_prometheus(
    inventory: Inventory, report: Reporter, snapshot: Snapshot | None = None
) -> Iterator[prometheus.Prometheus]:
    """Open the Prometheus of the cluster, or of the only host without Kubernetes. Raise the errors of `open_part`."""
    with open_part("prometheus", inventory, report, snapshot) as (address, number):
        yield prometheus.Prometheus(Address(f"{SCHEME}://{address}:{number}"))


@contextmanager
def open_part(
    part: Part, inventory: Inventory, report: Reporter, snapshot: Snapshot | None = None
) -> Iterator[tuple[str, int]]:
    """Forward a part of the monitoring of the cluster, or of the only host without Kubernetes, and yield the local
    address and port. The hosts are not asked where a snapshot has the answers to ACCESS_PROBES. Raise UnreachableError
    where no host or no API answers, and the errors of the forwarding."""
    if not inventory.cluster_hosts:
        with forward_standalone(inventory, part) as standalone:
            yield standalone
        return
    with forward_cluster(part, snapshot or gather_access(inventory, report)) as endpoint:
        yield endpoint


@contextmanager
def open_exporter(inventory: Inventory, report: Reporter) -> Iterator[tuple[str, int, frozenset[str]]]:
    """Forward an exporter as `open_part` does, with its errors, and yield the names of the cluster's nodes with its
    address and port. There are none without Kubernetes."""
    if not inventory.cluster_hosts:
        with forward_standalone(inventory, "exporter") as standalone:
            yield *standalone, frozenset()
        return
    snapshot = gather_access(inventory, report)
    with forward_cluster("exporter", snapshot) as endpoint:
        yield *endpoint, frozenset(node.name for node in View(snapshot, CLUSTER)[KUBERNETES_NODES])


def gather_access(inventory: Inventory, report: Reporter) -> Snapshot:
    snapshot = gather(inventory, ACCESS_PROBES, report=report)
    require_reach(snapshot)
    return snapshot


@contextmanager
def forward_cluster(part: Part, snapshot: Snapshot) -> Iterator[tuple[str, int]]:
    with forward_part(find_acting_host(snapshot), find_access(snapshot, part)) as (_, address, number):
        yield address, number


@contextmanager
def forward_part(host: Host, access: Access, local_port: int = 0) -> Iterator[tuple[PortForwarder, str, int]]:
    """Forward a part of the monitoring, and yield the forwarder with the local address and port. Raise HostRefused,
    RolloutError where sshd refuses forwarding, UnreachableError where the part does not run, and UsageError where the
    local port cannot be opened."""
    with open_forwarder(host) as forwarder:
        address, number = forward(forwarder, host, (access.service.address, access.port), access.part, local_port)
        yield forwarder, address, number


@contextmanager
def forward_standalone(inventory: Inventory, part: Part) -> Iterator[tuple[str, int]]:
    """Forward a part of the monitoring of the only host without Kubernetes, and yield the local address and port. Raise
    UsageError where there are several hosts or no such part, and the errors of `forward_part`."""
    ports = {**STANDALONE_PORTS, "exporter": inventory.spec.gpu.metrics.port}
    if part not in ports or len(inventory.hosts) != 1:
        several = "Each of these hosts has a Prometheus of its own, which listens on its loopback interface."
        reason = several if part in ports else f"Hosts without Kubernetes have no {part}."
        raise UsageError("no-kubernetes", NO_CLUSTER, reason)
    (host,) = inventory.hosts
    with open_forwarder(host) as forwarder:
        yield forward(forwarder, host, (LOOPBACK, ports[part]), part)


def forward(
    forwarder: PortForwarder, host: Host, endpoint: tuple[str, int], part: Part, local_port: int = 0
) -> tuple[str, int]:
    try:
        return forwarder.forward(*endpoint, local_port)
    except ConnectionRefusedError as error:
        if FORWARD_REFUSAL in str(error):
            raise build_forwarding_error(host.name, error) from error
        message = f"Nothing listens at the address of {part}; nothing was created."
        reason = f"{host.name} cannot connect to {error}. No pod of it is ready, or there is none."
        raise UnreachableError("part-not-running", message, reason, Command("gpustack", "doctor")) from error
    except OSError as error:
        reason, hint = f"127.0.0.1:{local_port}: {describe_os_error(error)}", Command("gpustack", "access", part)
        message = "The port cannot be opened on this machine."
        raise UsageError("access-port-taken", message, reason, hint) from error


def connect_api(answers: Mapping[str, Answer], inventory: Inventory, forwarder: PortForwarder, private: Path) -> "Pods":
    """Connect to the API with the client certificate in the answers to API_CREDENTIALS. Raise RolloutError for a
    certificate that is refused, and where sshd refuses forwarding."""
    from gpustack.proof.pod import Pods, connect_client

    try:
        access = credential.parse_access(answers, inventory, credential.PROOF)
    except ValueError as error:
        message = "The control plane signed no certificate that can be used; nothing was created."
        raise RolloutError(
            "proof-no-certificate", message, str(error), Command("gpustack", "kubeconfig", "--out", "FILE")
        ) from error
    try:
        return Pods(connect_client(access, forwarder, private))
    except OSError as error:
        raise build_forwarding_error(answers[credential.CERTIFICATE.id].location, error) from error


def build_forwarding_error(host: str, error: OSError) -> RolloutError:
    message = f"{host} lets no connection through; nothing was created."
    return RolloutError("forwarding-refused", message, str(error))


def connect_web(
    snapshot: Snapshot, forwarder: PortForwarder, part: Part, login: tuple[str, str] | None = None
) -> Web | str:
    """Connect to a part of the monitoring, or return the reason why it cannot be reached."""
    spec = snapshot.inventory.spec
    try:
        services = View(snapshot, CLUSTER)[SERVICES]
    except FactUnavailable as error:
        return f"the Services of the cluster are not known: {error}"
    if (service := find_service(part, services, spec)) is None:
        namespace = choose_namespace(part, spec)
        return f"there is no Service with the label {'='.join(LABELS[part])} in the namespace {namespace}"
    try:
        address, number = forwarder.forward(service.address, select_main_port(service))
    except OSError as error:
        return f"{part.capitalize()} was not reached: {error}"
    return Web(part.capitalize(), address, number, login)


def connect_prometheus(snapshot: Snapshot, forwarder: PortForwarder) -> Prometheus | str:
    web = connect_web(snapshot, forwarder, "prometheus")
    if isinstance(web, str):
        return web
    client = prometheus.Prometheus(Address(f"{SCHEME}://{web.address}:{web.port}"))
    return Prometheus(client, [node.name for node in View(snapshot, CLUSTER)[NODES]], locate_exporters(snapshot))


def connect_grafana(snapshot: Snapshot, forwarder: PortForwarder, answer: Answer) -> Grafana | str:
    user = parse_login(answer)
    if isinstance(user, str):
        return f"the login of Grafana is not known: {user}"
    web = connect_web(snapshot, forwarder, "grafana", user)
    return web if isinstance(web, str) else Grafana(web)
