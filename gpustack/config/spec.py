"""The cluster spec: what the operator may say under `gpustack:` in group_vars/all/gpustack.yml.

This is the only place of defaults. Roles receive the resolved spec and have none of their own. Keys that Kubernetes
itself names (`failCgroupV1`) keep its spelling; all others are snake_case.
"""

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gpustack.config.versions import KNOWN_SETS, kubernetes_version

Fingerprint = Annotated[str, Field(pattern=r"^[0-9A-F]{40}$"), BeforeValidator(lambda text: _bare(text))]
HostPort = Annotated[str, Field(pattern=r"^[A-Za-z0-9.-]+:[0-9]{1,5}$")]
KubernetesVersion = Annotated[str, AfterValidator(kubernetes_version)]


def _bare(text: object) -> object:
    return text.replace(" ", "").upper() if isinstance(text, str) else text


def _off(value: object) -> object:
    """YAML 1.1 reads a bare `off` as false."""
    return "off" if value is False else value


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Mirror(Section):
    """One address that serves packages, images and files under the official paths, and signs with its own key."""

    mirror: Annotated[str, Field(pattern=r"^https?://[^/\s]+$", description="http(s)://HOST:PORT, no path")]
    fingerprint: Annotated[Fingerprint, Field(description="of the key that the mirror signs its packages with")]


class Conntrack(Section):
    max_per_core: Annotated[int, Field(ge=0, description="0 leaves the kernel's limit alone")] = 32768
    min: Annotated[int, Field(ge=0)] = 131072


class Kubernetes(Section):
    version: Annotated[KubernetesVersion | None, Field(description="full version; default: that of the version set")] = None
    endpoint: Annotated[
        HostPort | None,
        Field(description="name:port of the API, burnt into certificates; default: the first control plane's address"),
    ] = None
    cert_sans: Annotated[tuple[str, ...], Field(description="more names and addresses for the API's certificate")] = ()
    pod_cidr: IPv4Network = IPv4Network("10.244.0.0/16")
    service_cidr: IPv4Network = IPv4Network("10.96.0.0/12")
    dns_domain: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")] = "cluster.local"
    ignore_preflight: Annotated[
        tuple[str, ...], Field(description="kubeadm preflight checks that may fail, by kubeadm's names")
    ] = ()
    metrics_bind: Annotated[
        Literal["0.0.0.0", "127.0.0.1"],  # noqa: S104 - monitoring must reach the control plane's metrics
        Field(description="where controller-manager, scheduler, etcd metrics and kube-proxy listen"),
    ] = "0.0.0.0"  # noqa: S104


class Kubelet(Section):
    fail_cgroup_v1: Annotated[
        bool, Field(alias="failCgroupV1", description="false lets the kubelet run on a cgroup v1 host (KEP-5573)")
    ] = True


class KubeProxy(Section):
    mode: Literal["iptables", "nftables"] = "iptables"
    conntrack: Conntrack = Conntrack()


class Containerd(Section):
    version: Annotated[str | None, Field(pattern=r"^2\.\d+\.\d+$", description="default: that of the version set")] = None
    restrict_oom_score_adj: Annotated[
        bool, Field(description="true where the host may not lower oom_score_adj (nested and rootless hosts)")
    ] = False


class Flannel(Section):
    backend: Literal["vxlan", "host-gw"] = "vxlan"
    port: Annotated[int, Field(ge=1, le=65535, description="UDP port of vxlan")] = 8472


class Firewall(Section):
    manage: Annotated[
        bool, Field(description="false: say which flows are needed and leave the rules to the operator")
    ] = True


class Minimum(Section):
    """What a host must have at least. kubeadm asks for 2 CPUs and 1700 MB."""

    cpus: Annotated[int, Field(ge=1)] = 2
    memory_mib: Annotated[int, Field(ge=512)] = 1700
    disk_gib: Annotated[int, Field(ge=1, description="free space below /var")] = 10


class Spec(Section):
    cluster_name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")] = "gpustack"
    versions: Annotated[str, Field(description="the version set")] = KNOWN_SETS[-1]
    source: Literal["official"] | Mirror = "official"
    kubernetes: Kubernetes = Kubernetes()
    kubelet: Kubelet = Kubelet()
    kube_proxy: KubeProxy = KubeProxy()
    containerd: Containerd = Containerd()
    flannel: Flannel = Flannel()
    firewall: Firewall = Firewall()
    minimum: Minimum = Minimum()
    swap: Annotated[
        Literal["off", "keep"],
        BeforeValidator(_off),
        Field(description="off: turned off and kept off; keep: the kubelet runs beside it and pods do not use it"),
    ] = "off"
    time_sync: Annotated[
        Literal["managed", "external"], Field(description="external: somebody else keeps the clocks right")
    ] = "managed"

    @model_validator(mode="after")
    def networks_apart(self) -> Self:
        pods, services = self.kubernetes.pod_cidr, self.kubernetes.service_cidr
        if pods.overlaps(services):
            raise ValueError(f"kubernetes.pod_cidr {pods} and kubernetes.service_cidr {services} overlap")
        if pods.prefixlen > 22:
            raise ValueError(f"kubernetes.pod_cidr {pods} is smaller than /22: every node takes a /24 of it")
        return self

    @model_validator(mode="after")
    def known_set(self) -> Self:
        if self.versions not in KNOWN_SETS:
            raise ValueError(f"versions: found {self.versions}, allowed: {', '.join(KNOWN_SETS)}")
        return self


def schema() -> dict[str, Any]:
    """The JSON Schema of group_vars/all/gpustack.yml, for editors."""

    class GroupVars(BaseModel):
        model_config = ConfigDict(extra="allow", title="group_vars/all/gpustack.yml")
        gpustack: Spec

    return GroupVars.model_json_schema(by_alias=True)

