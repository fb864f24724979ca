"""The variables that the scripts of probes read."""

from urllib.parse import urlsplit

from gpustack.ask.addresses import is_address
from gpustack.ask.egress import build_digests
from gpustack.ask.pod_egress import build_object_texts
from gpustack.config.endpoint import resolve_endpoint
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.resolution import (
    build_apt_repositories,
    list_chart_urls,
    resolve_containerd_version,
    resolve_kubernetes_version,
    resolve_mirror,
)
from gpustack.config.spec import Spec
from gpustack.config.versions import parse_minor

REGISTRY = "https://registry.k8s.io"


def build_name_variables(spec: Spec) -> dict[str, str]:
    """Build the variables of the paths that API probes read."""
    return {
        "MONITORING": spec.monitoring.namespace,
        "RELEASE": spec.monitoring.release,
        "GPU_NAMESPACE": spec.gpu.namespace,
        "GPU_RELEASE": spec.gpu.release,
        "KEDA": spec.autoscaling.namespace,
    }


def find_outside_name(spec: Spec) -> str:
    """Find the name of the registry or mirror from which images come, empty where the spec has its address."""
    name = urlsplit(resolve_mirror(spec) or REGISTRY).hostname or ""
    return "" if is_address(name) else name


def list_kubelets(inventory: Inventory) -> str:
    """List the hosts of the cluster as `name=address`, as far as the inventory has the addresses of their nodes."""
    return " ".join(f"{host.name}={host.node_address}" for host in inventory.cluster_hosts if host.node_address)


def build_probe_variables(inventory: Inventory, host: Host) -> dict[str, str]:
    """Build the variables that the probe scripts of a host may read."""
    kubernetes = inventory.spec.kubernetes
    return {
        "TIMEOUT_FACTOR": str(inventory.spec.timeout_factor),
        "API": resolve_endpoint(inventory),
        "POD_CIDR": str(kubernetes.pod_cidr),
        "SERVICE_CIDR": str(kubernetes.service_cidr),
        "DNS_DOMAIN": kubernetes.dns_domain,
        "MIRROR": resolve_mirror(inventory.spec),
        "OUTSIDE_NAME": find_outside_name(inventory.spec),
        "CONTAINERD": resolve_containerd_version(inventory.spec),
        "CONTAINERD_ROOT": build_apt_repositories(inventory.spec)["containerd"]["uri"],
        "CHARTS": " ".join(list_chart_urls(inventory.spec).values()),
        "GPU_EXPORTER_PORT": str(inventory.spec.gpu.metrics.port),
        "NODE_EXPORTER_PORT": str(inventory.spec.monitoring.node_exporter_port),
        "KUBELETS": list_kubelets(inventory) if host.control_plane else "",
        "KUBE_MINOR": parse_minor(resolve_kubernetes_version(inventory.spec)),
        **build_name_variables(inventory.spec),
        **build_digests(inventory, host, build_object_texts(inventory) if host.control_plane else {}),
    }
