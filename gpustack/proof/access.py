"""Where a part of the monitoring is reached: an address that the inventory asked for, or a port here that leads to its
Service."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpustack.probes.proof import Ingress, Service
from gpustack.proof.services import Names, Part, find, node_port, port

SCHEME = "http"


@dataclass(frozen=True)
class Access:
    """`urls` are reachable without us: Ingress, load balancer, port on every node. Without any, a port is forwarded."""

    part: Part
    service: Service
    urls: tuple[str, ...]

    @property
    def port(self) -> int:
        return port(self.service)


def access(
    part: Part, services: Sequence[Service], ingresses: Sequence[Ingress], addresses: Sequence[str], where: Names
) -> Access | None:
    """`addresses` are those of nodes, for a port that all of them have open. None when there is no such Service."""
    found = find(part, services, where)
    if found is None:
        return None
    behind = [one for one in ingresses if one.namespace == found.namespace and found.name in one.services]
    urls = [url for one in behind for url in one.urls if "*" not in url]
    if found.kind == "LoadBalancer":
        urls += [f"{SCHEME}://{host}:{port(found)}" for host in found.outside]
    if found.kind in ("NodePort", "LoadBalancer") and (number := node_port(found)):
        urls += [f"{SCHEME}://{address}:{number}" for address in addresses[:1]]
    return Access(part, found, tuple(dict.fromkeys(urls)))
