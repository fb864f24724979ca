"""The endpoint of the Kubernetes API."""

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory

API_PORT = 6443


def resolve_endpoint(inventory: "Inventory") -> str:
    """Resolve name:port of the API. Without one in the spec, it is the address of the first control plane, or the name
    in `ansible_host`, which step prereqs compares with the addresses of that host; it is empty where no host is to have
    Kubernetes. An IPv6 address is in brackets."""
    if inventory.spec.kubernetes.endpoint:
        return inventory.spec.kubernetes.endpoint
    if not inventory.control_planes:
        return ""
    first = inventory.control_planes[0]
    name = first.node_address or first.address
    return f"{f'[{name}]' if ':' in name else name}:{API_PORT}"


def extract_name(endpoint: str) -> str:
    """Extract the name or address of an endpoint, without the brackets of IPv6."""
    return endpoint.rpartition(":")[0].strip("[]")


def detect_address() -> str:
    """Detect the address of this machine's default route. Connecting a datagram socket sends nothing; 192.0.2.1 is for
    documentation (RFC 5737)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
