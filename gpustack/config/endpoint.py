"""The endpoint of the Kubernetes API."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory

API_PORT = 6443


def resolve_endpoint(inventory: "Inventory") -> str:
    """Resolve name:port of the API. Without one in the spec, it is the address of the first control plane; it is empty
    where no host is to have Kubernetes."""
    if inventory.spec.kubernetes.endpoint:
        return inventory.spec.kubernetes.endpoint
    if not inventory.control_planes:
        return ""
    first = inventory.control_planes[0]
    return f"{first.spec.gpustack_node_ip or first.address}:{API_PORT}"
