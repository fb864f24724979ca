"""Connections to the API, Prometheus and Grafana of a cluster, through its control plane."""

from pathlib import Path
from typing import TYPE_CHECKING

from gpustack.ask.probe import CLUSTER, Answer, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.transport.forward import PortForwarder
from gpustack.ask.view import View
from gpustack.errors import RolloutError
from gpustack.probes.proof import NODES
from gpustack.proof.credential import login, why
from gpustack.proof.grafana import Grafana
from gpustack.proof.http import Web
from gpustack.proof.inventory import exporters, services
from gpustack.proof.prometheus import Prometheus
from gpustack.proof.services import LABELS, Part, find, names, port

if TYPE_CHECKING:
    from gpustack.proof.pod import Pods


def connect_api(answer: Answer, way: PortForwarder, private: Path) -> "Pods":
    """With the client certificate of `answer`. Raises RolloutError."""
    from gpustack.proof.pod import Pods, client

    if wrong := why(answer):
        message = "The control plane signed no certificate; nothing was created."
        raise RolloutError("proof-no-certificate", message, wrong, "gpustack verify --only control-plane")
    try:
        return Pods(client(answer.out, way, private))
    except OSError as error:
        raise forwarding_refused(answer.where, error) from error
    except (ValueError, LookupError, TypeError) as error:
        message = "What the control plane signed is no kubeconfig; nothing was created."
        raise RolloutError(
            "proof-no-certificate", message, type(error).__name__, "gpustack kubeconfig --out FILE"
        ) from error


def forwarding_refused(host: str, error: OSError) -> RolloutError:
    message = f"{host} lets no connection through; nothing was created."
    return RolloutError("forwarding-refused", message, str(error), "gpustack explain forwarding-refused")


def connect_web(taken: Snapshot, way: PortForwarder, part: Part, login: tuple[str, str] | None = None) -> Web | str:
    """A part of the monitoring, or why it cannot be reached."""
    where = names(taken.inventory.spec)
    try:
        service = find(part, services(taken), where)
    except FactUnavailable as error:
        return f"the Services of the cluster are not known: {error}"
    if service is None:
        return f"there is no Service with the label {'='.join(LABELS[part])} in the namespace {where.of(part)}"
    try:
        address, number = way.forward(service.address, port(service))
    except OSError as error:
        return f"{part.capitalize()} was not reached: {error}"
    return Web(part.capitalize(), address, number, login)


def connect_prometheus(taken: Snapshot, way: PortForwarder) -> Prometheus | str:
    web = connect_web(taken, way, "prometheus")
    if isinstance(web, str):
        return web
    return Prometheus(web, [node.name for node in View(taken, CLUSTER)[NODES]], exporters(taken))


def connect_grafana(taken: Snapshot, way: PortForwarder, answer: Answer) -> Grafana | str:
    user = login(answer)
    if isinstance(user, str):
        return f"the login of Grafana is not known: {user}"
    web = connect_web(taken, way, "grafana", user)
    return web if isinstance(web, str) else Grafana(web)
