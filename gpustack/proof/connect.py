"""Connections to the API, Prometheus, Grafana and Alertmanager of a cluster, through its control plane."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpustack.ask.probe import CLUSTER, Answer, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.transport.forward import PortForwarder, open_forwarder
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.errors import RolloutError, UsageError
from gpustack.events import Reporter
from gpustack.probes.proof import NODES, SERVICES
from gpustack.probes.standalone.units import ALERTMANAGER, PORTS, PROMETHEUS
from gpustack.proof import credential
from gpustack.proof.alertmanager import Alertmanager
from gpustack.proof.chain import Place
from gpustack.proof.credential import parse_login
from gpustack.proof.delivery import Deliveries, Trial, run_trials
from gpustack.proof.grafana import Grafana
from gpustack.proof.http import Web
from gpustack.proof.inventory import locate_exporters
from gpustack.proof.prometheus import Prometheus
from gpustack.proof.prove import Proof, Prover
from gpustack.proof.services import LABELS, Access, Part, find_service, main_port, namespace_of
from gpustack.steps.standalone.files import LOOPBACK

if TYPE_CHECKING:
    from gpustack.proof.pod import Pods


STANDALONE_PORTS: dict[str, int] = {"prometheus": PORTS[PROMETHEUS], "alertmanager": PORTS[ALERTMANAGER]}
SIGNED = (credential.CERTIFICATE, credential.SERVER)
NO_CLUSTER = "No host of the inventory is to have Kubernetes, and this command goes through a cluster."


def acting_host(taken: Snapshot) -> Host:
    """The control plane through which the cluster is reached. Raises UsageError where no host is to be in one."""
    if not taken.inventory.in_cluster:
        why = "All hosts are in the group gpu_standalone."
        raise UsageError("no-kubernetes", NO_CLUSTER, why, Command("gpustack", "explain", "no-kubernetes"))
    return View(taken, CLUSTER).host


def run_proof(
    taken: Snapshot,
    places: Sequence[Place],
    unasked: Sequence[tuple[str, str]],
    private: Path,
    report: Reporter,
    timeout: float,
    cancelled: Callable[[], str],
) -> Proof:
    """Raises HostRefused and RolloutError, before anything is created."""
    acting = acting_host(taken)
    words = {**credential.PROOF.exported, "NAMESPACE": namespace_of("grafana", taken.inventory.spec)}
    with open_forwarder(acting) as way:
        answers = credential.answers(acting, [*SIGNED, credential.GRAFANA], words)
        prover = Prover(
            cluster=connect_api(answers, taken.inventory, way, private),
            prometheus=connect_prometheus(taken, way),
            grafana=connect_grafana(taken, way, answers[credential.GRAFANA.id]),
            places=places,
            report=report,
            timeout=timeout,
            cancelled=cancelled,
        )
        return prover.prove(unasked)


def send_test_alerts(
    taken: Snapshot,
    found: Access,
    severities: Sequence[str],
    report: Reporter,
    timeout: float,
    cancelled: Callable[[], str],
) -> Deliveries:
    """Raises HostRefused, RolloutError and UsageError, before anything is sent."""
    spec = taken.inventory.spec
    tested = [severity for severity in severities if spec.alerts.receivers.names(severity)]
    with forward_part(acting_host(taken), found) as (_, address, number):
        there = Alertmanager(Web("Alertmanager", address, number))
        trials = [
            Trial(there, report, cancelled, spec.cluster_name, severity, spec.alerts.runbooks, timeout)
            for severity in tested
        ]
        return run_trials(trials, [severity for severity in severities if severity not in tested])


@contextmanager
def open_pods(taken: Snapshot, private: Path) -> Iterator["Pods"]:
    """Connect to the API through its control plane, with a certificate of an hour. Raises HostRefused, RolloutError."""
    acting = acting_host(taken)
    with open_forwarder(acting) as way:
        answers = credential.answers(acting, SIGNED, credential.PROOF.exported)
        yield connect_api(answers, taken.inventory, way, private)


@contextmanager
def forward_part(host: Host, found: Access, local_port: int = 0) -> Iterator[tuple[PortForwarder, str, int]]:
    """Address and port that lead to a part of the monitoring. Raises HostRefused, RolloutError where the host lets
    nothing through, and UsageError where the local port cannot be had."""
    with open_forwarder(host) as way:
        address, number = forward(way, host, (found.service.address, found.port), found.part, local_port)
        yield way, address, number


@contextmanager
def forward_standalone(inventory: Inventory, part: Part) -> Iterator[tuple[str, int]]:
    """The same of the one host without Kubernetes that there is. Raises UsageError besides, where there are several or
    it has no such part."""
    ports = {**STANDALONE_PORTS, "exporter": inventory.spec.gpu.metrics.port}
    if part not in ports or len(inventory.hosts) != 1:
        several = "Each of these hosts has a Prometheus of its own, which listens on its loopback interface."
        why = several if part in ports else f"Hosts without Kubernetes have no {part}."
        raise UsageError("no-kubernetes", NO_CLUSTER, why, Command("gpustack", "explain", "no-kubernetes"))
    (host,) = inventory.hosts
    with open_forwarder(host) as way:
        yield forward(way, host, (LOOPBACK, ports[part]), part)


def forward(way: PortForwarder, host: Host, there: tuple[str, int], part: Part, local_port: int = 0) -> tuple[str, int]:
    try:
        return way.forward(*there, local_port)
    except ConnectionRefusedError as error:
        raise forwarding_refused(host.name, error) from error
    except OSError as error:
        reason, hint = f"127.0.0.1:{local_port}: {error.strerror or error}", Command("gpustack", "access", part)
        message = "The port cannot be opened on this machine."
        raise UsageError("access-port-taken", message, reason, hint) from error


def connect_api(answers: Mapping[str, Answer], inventory: Inventory, way: PortForwarder, private: Path) -> "Pods":
    """Log in with the client certificate of the answers to SIGNED. Raises RolloutError."""
    from gpustack.proof.pod import Pods, connect_client

    try:
        access = credential.parse_access(answers, inventory, credential.PROOF)
    except ValueError as error:
        message = "The control plane signed no certificate that can be used; nothing was created."
        raise RolloutError(
            "proof-no-certificate", message, str(error), Command("gpustack", "kubeconfig", "--out", "FILE")
        ) from error
    try:
        return Pods(connect_client(access, way, private))
    except OSError as error:
        raise forwarding_refused(answers[credential.CERTIFICATE.id].where, error) from error


def forwarding_refused(host: str, error: OSError) -> RolloutError:
    message = f"{host} lets no connection through; nothing was created."
    return RolloutError("forwarding-refused", message, str(error), Command("gpustack", "explain", "forwarding-refused"))


def connect_web(taken: Snapshot, way: PortForwarder, part: Part, login: tuple[str, str] | None = None) -> Web | str:
    """A part of the monitoring, or why it cannot be reached."""
    spec = taken.inventory.spec
    try:
        services = View(taken, CLUSTER)[SERVICES]
    except FactUnavailable as error:
        return f"the Services of the cluster are not known: {error}"
    if (service := find_service(part, services, spec)) is None:
        return (
            f"there is no Service with the label {'='.join(LABELS[part])} in the namespace {namespace_of(part, spec)}"
        )
    try:
        address, number = way.forward(service.address, main_port(service))
    except OSError as error:
        return f"{part.capitalize()} was not reached: {error}"
    return Web(part.capitalize(), address, number, login)


def connect_prometheus(taken: Snapshot, way: PortForwarder) -> Prometheus | str:
    web = connect_web(taken, way, "prometheus")
    if isinstance(web, str):
        return web
    return Prometheus(web, [node.name for node in View(taken, CLUSTER)[NODES]], locate_exporters(taken))


def connect_grafana(taken: Snapshot, way: PortForwarder, answer: Answer) -> Grafana | str:
    user = parse_login(answer)
    if isinstance(user, str):
        return f"the login of Grafana is not known: {user}"
    web = connect_web(taken, way, "grafana", user)
    return web if isinstance(web, str) else Grafana(web)
