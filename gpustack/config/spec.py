"""The cluster spec: the keys below `gpustack:` in group_vars/all/gpustack.yml.

This is the only place of defaults. Roles receive the resolved spec and have none of their own. Keys that Kubernetes
names (`failCgroupV1`) keep its spelling; all others are snake_case. `gpustack init` writes descriptions and examples.
"""

from collections.abc import Callable, Mapping
from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from gpustack.config.addresses import ClusterNetwork, Network, validate_certificate_name, validate_endpoint
from gpustack.config.form import Form
from gpustack.config.sections.autoscaling import Autoscaling
from gpustack.config.sections.care import Care
from gpustack.config.sections.gpu import Gpu
from gpustack.config.sections.minimum import Minimum
from gpustack.config.sections.monitoring import Alerts, Dashboards, Monitoring, Storage
from gpustack.config.sections.section import Section
from gpustack.config.sections.serve import Serve
from gpustack.config.sections.sources import Fingerprints, Mirror, Proxy
from gpustack.config.sections.usage import Capacity, Cost
from gpustack.config.versions import KNOWN_SETS, parse_kubernetes_version
from gpustack.times import parse_duration


def convert_false(value: object) -> object:
    """Convert false to `off`, as which YAML 1.1 reads it."""
    return "off" if value is False else value


def convert_duration(value: object) -> object:
    """Convert a duration, as `5m`, to whole seconds. Raise ValueError for another text."""
    if not isinstance(value, str) or value.isdecimal():
        return value
    try:
        return round(parse_duration(value))
    except ValueError:
        raise ValueError("a duration, such as 5m") from None


def validate_version_set(name: str) -> str:
    if name not in KNOWN_SETS:
        raise ValueError(f"one of {', '.join(KNOWN_SETS)}")
    return name


def build_size_validator(widest: int, narrowest: int, reason: str) -> Callable[[IPv4Network], IPv4Network]:
    def validate_size(network: IPv4Network) -> IPv4Network:
        if not widest <= network.prefixlen <= narrowest:
            nearest = IPv4Network(
                (network.network_address, min(max(network.prefixlen, widest), narrowest)), strict=False
            )
            raise ValueError(f"a network of /{widest} to /{narrowest}, such as {nearest}: {reason}")
        return network

    return validate_size


HostPort = Annotated[
    str,
    Form(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}", "name:port", "kube.example.com:6443"),
    AfterValidator(validate_endpoint),
]
ClusterName = Annotated[
    str,
    Form(
        r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
        "at most 63 small letters, digits and dashes, with no dash first or last",
        "gpu-cluster-1",
    ),
]
Domain = Annotated[str, Form(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", "a domain of DNS in small letters", "cluster.local")]
ContainerdVersion = Annotated[
    str, Form(r"2\.[0-9]+(\.[0-9]+)?", "a full version of a 2.x line or the line alone, in quotes", "2.3")
]
KubernetesVersion = Annotated[str, AfterValidator(parse_kubernetes_version)]
# kubeadm's limits for IPv4 (its package `validation`): 16 bits between the network and a node's /24, 20 of Services.
PodNetwork = Annotated[ClusterNetwork, AfterValidator(build_size_validator(8, 22, "every node takes a /24 of it"))]
ServiceNetwork = Annotated[ClusterNetwork, AfterValidator(build_size_validator(12, 28, "kubeadm takes no other"))]


class Conntrack(Section):
    max_per_core: Annotated[
        int, Field(ge=0, description="tracked connections per CPU core; 0 keeps the kernel's limit")
    ] = 32768
    min: Annotated[int, Field(ge=0, description="lower bound, unless max_per_core is 0")] = 131072


class Kubernetes(Section):
    version: Annotated[
        KubernetesVersion | None, Field(description="full version; default: that of the version set")
    ] = None
    endpoint: Annotated[
        HostPort | None,
        Field(
            description="name:port of the API, part of its certificates; default: the address of the control plane",
            examples=["kube.example.com:6443"],
        ),
    ] = None
    cert_sans: Annotated[
        tuple[Annotated[str, AfterValidator(validate_certificate_name)], ...],
        Field(description="more names and addresses in the API's certificate"),
    ] = ()
    pod_cidr: Annotated[PodNetwork, Field(description="addresses of pods; every node gets a /24 of it")] = IPv4Network(
        "10.244.0.0/16"
    )
    service_cidr: Annotated[ServiceNetwork, Field(description="addresses of Services")] = IPv4Network("10.96.0.0/12")
    dns_domain: Annotated[Domain, Field(description="DNS domain of Services")] = "cluster.local"
    ignore_preflight: Annotated[
        tuple[str, ...], Field(description="kubeadm preflight checks to ignore, by kubeadm's names")
    ] = ()
    metrics_bind: Annotated[
        Literal["0.0.0.0", "127.0.0.1"],  # noqa: S104 - monitoring must reach the control plane's metrics
        Field(description="where controller-manager, scheduler, etcd and kube-proxy serve their metrics"),
    ] = "0.0.0.0"  # noqa: S104


class Kubelet(Section):
    fail_cgroup_v1: Annotated[
        bool, Field(alias="failCgroupV1", description="false lets the kubelet run on a cgroup v1 host (KEP-5573)")
    ] = True


class KubeProxy(Section):
    mode: Annotated[Literal["iptables", "nftables"], Field(description="how Services are balanced")] = "iptables"
    conntrack: Annotated[Conntrack, Field(description="limits of connection tracking")] = Conntrack()


class Containerd(Section):
    version: Annotated[
        ContainerdVersion | None,
        Field(
            description="full version of a 2.x line, or a line as '2.3' for any of its patches; default: that of the "
            "version set, or an installed one that supports this Kubernetes",
        ),
    ] = None
    verify_images: Annotated[
        bool, Field(description="pull images only with the digest that the mirror or the version set lists")
    ] = True
    restrict_oom_score_adj: Annotated[
        bool, Field(description="true if the host may not lower oom_score_adj (nested and rootless hosts)")
    ] = False


class Flannel(Section):
    backend: Annotated[
        Literal["vxlan", "host-gw"],
        Field(description="transport of pod packets; host-gw needs all nodes in one network segment"),
    ] = "vxlan"
    port: Annotated[int, Field(ge=1, le=65535, description="UDP port of vxlan")] = 8472


class Firewall(Section):
    manage: Annotated[
        bool, Field(description="add rules for the cluster's traffic; with false the plan only lists what is blocked")
    ] = True
    sources: Annotated[
        tuple[Network, ...] | None,
        Field(
            description="clients outside the cluster, such as [192.0.2.0/24]: for the API, and for NodePorts "
            "where a Service has one; default: where gpustack connects from, for the API alone",
        ),
    ] = None


def select_source_tag(value: object) -> str:
    return "(mirror)" if isinstance(value, (Mapping, Mirror)) else "(official)"


# The tags are in brackets, as no key of the operator's is: they stand in the paths of pydantic's errors.
Source = Annotated[
    Annotated[Literal["official"], Tag("(official)")] | Annotated[Mirror, Tag("(mirror)")],
    Discriminator(select_source_tag),
]


class Spec(Section):
    cluster_name: Annotated[ClusterName, Field(description="name of the cluster in kubeconfigs")] = "gpustack"
    versions: Annotated[
        str, AfterValidator(validate_version_set), Field(description="the version set: versions that belong together")
    ] = KNOWN_SETS[-1]
    source: Annotated[Source, Field(description="where packages and images come from: `official`, or a mirror")] = (
        "official"
    )
    proxy: Annotated[Proxy | None, Field(description="HTTP proxy, if hosts do not reach `source` directly")] = None
    fingerprints: Annotated[Fingerprints, Field(description="keys that sign packages, with `source: official`")] = (
        Fingerprints()
    )
    kubernetes: Annotated[Kubernetes, Field(description="the control plane and the cluster's networks")] = Kubernetes()
    kubelet: Annotated[Kubelet, Field(description="the agent on every node")] = Kubelet()
    kube_proxy: Annotated[KubeProxy, Field(description="load balancing of Services on every node")] = KubeProxy()
    containerd: Annotated[Containerd, Field(description="the container runtime")] = Containerd()
    flannel: Annotated[Flannel, Field(description="the pod network")] = Flannel()
    firewall: Annotated[Firewall, Field(description="the firewall of the hosts")] = Firewall()
    storage: Annotated[Storage, Field(description="volumes, for components that keep data")] = Storage()
    monitoring: Annotated[
        Monitoring, Field(description="Prometheus, Alertmanager and Grafana: the chart kube-prometheus-stack")
    ] = Monitoring()
    gpu: Annotated[Gpu, Field(description="drivers, runtime and metrics of GPUs, on hosts with GPUs")] = Gpu()
    dashboards: Annotated[Dashboards, Field(description="our dashboards in Grafana")] = Dashboards()
    alerts: Annotated[Alerts, Field(description="our GPU alerts, and their receiver")] = Alerts()
    serve: Annotated[Serve, Field(description="`gpustack serve` in the cluster, for autoscalers and scripts")] = Serve()
    autoscaling: Annotated[Autoscaling, Field(description="replicas by the load of GPUs: the chart keda")] = (
        Autoscaling()
    )
    care: Annotated[Care, Field(description="a daily diagnostic of idle GPUs")] = Care()
    capacity: Annotated[Capacity, Field(description="teams and pools in reports of capacity and cost")] = Capacity()
    cost: Annotated[Cost, Field(description="what GPUs cost, and what namespaces may spend")] = Cost()
    minimum: Annotated[Minimum, Field(description="minimum resources of a host")] = Minimum()
    swap: Annotated[
        Literal["off", "keep"],
        BeforeValidator(convert_false),
        Field(description="whether hosts use swap; keep: the kubelet tolerates it and pods do not use it"),
    ] = "off"
    time_sync: Annotated[
        Literal["managed", "external"],
        Field(description="clock synchronisation: managed keeps a time service running, external leaves it to you"),
    ] = "managed"
    timeout_factor: Annotated[
        int,
        Field(
            strict=True,
            ge=1,
            le=20,
            description="the time limits of docs/limits.md are multiplied by it: for slow hosts",
        ),
    ] = 1
    apt_lock_wait: Annotated[
        int,
        BeforeValidator(convert_duration, json_schema_input_type=int | str),
        Field(ge=0, description="time to wait for another apt process on a host, such as 5m; a number is in seconds"),
    ] = 300


def build_schema() -> dict[str, Any]:
    """Build the JSON Schema of group_vars/all/gpustack.yml, for editors."""

    class GroupVars(BaseModel):
        model_config = ConfigDict(extra="allow", title="group_vars/all/gpustack.yml")
        gpustack: Spec

    return GroupVars.model_json_schema(by_alias=True)
