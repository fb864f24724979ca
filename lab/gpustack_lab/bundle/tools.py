"""The Go programs of a bundle and the options of their compilation. modules/<tool>/go.mod has packages and versions."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Tool:
    """Describe a program. `module` gives the version stamp its date; `stamps` are linker variables, with {version}
    {major} {minor} {date}; `names` renames what Go names after the last word of a package path. `c_linker` are flags of
    the C linker, for a tool with parts in C: without any, no C is compiled. `seconds` is about how much processor time
    its compilation takes, after the tools before it have left common packages in Go's cache."""

    name: str
    module: str
    seconds: int
    stamps: tuple[str, ...] = ()
    c_linker: str = ""
    tags: str = ""
    names: dict[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()


STATIC = "-static"
# NVML is no library of the building machine: its symbols are looked up when they are called, in what is opened by then.
NVML = "-Wl,--export-dynamic -Wl,--unresolved-symbols=ignore-in-object-files -Wl,-z,lazy"

_KUBERNETES_STAMPS = tuple(
    f"{package}.{variable}"
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    for variable in (
        "gitVersion=v{version}",
        "gitMajor={major}",
        "gitMinor={minor}",
        "gitTreeState=clean",
        "gitCommit=",
        "buildDate={date}",
    )
)

# All programs of the Prometheus project ask one module for their version.
_PROMETHEUS_STAMPS = (
    "github.com/prometheus/common/version.Version={version}",
    "github.com/prometheus/common/version.BuildDate={date}",
)

_CLUSTER = (
    Tool("kubernetes", "k8s.io/kubernetes", 590, _KUBERNETES_STAMPS),
    Tool(
        "containerd",
        "github.com/containerd/containerd/v2",
        100,
        ("github.com/containerd/containerd/v2/version.Version=v{version}",),
    ),
    Tool(
        "runc",
        "github.com/opencontainers/runc",
        20,
        ("main.version={version}",),
        c_linker=STATIC,
        tags="seccomp netgo osusergo",
        libraries=("libseccomp-dev",),
    ),
    Tool(
        "cni-plugins",
        "github.com/containernetworking/plugins",
        15,
        ("github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=v{version}",),
    ),
    # cgo: Flannel's udp backend has a part in C
    Tool(
        "flannel",
        "github.com/flannel-io/flannel",
        105,
        ("github.com/flannel-io/flannel/pkg/version.Version=v{version}",),
        c_linker=STATIC,
        tags="netgo osusergo",
        names={"flannel": "flanneld", "install_conf": "install-conf"},
    ),
    Tool(
        "flannel-cni-plugin",
        "github.com/containernetworking/plugins",
        2,
        ("github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=v{version}",),
    ),
    Tool("etcd", "go.etcd.io/etcd/server/v3", 65, names={"server": "etcd"}),
    Tool("coredns", "github.com/coredns/coredns", 145),
    Tool("crictl", "sigs.k8s.io/cri-tools", 50, ("sigs.k8s.io/cri-tools/pkg/version.Version=v{version}",)),
    Tool("helm", "helm.sh/helm/v4", 180, ("helm.sh/helm/v4/internal/version.version=v{version}",)),
    Tool(
        "mirror",
        "github.com/distribution/distribution/v3",
        45,
        ("github.com/distribution/distribution/v3/version.version=v{version}",),
    ),
)

_MONITORING = (
    Tool(
        "prometheus",
        "github.com/prometheus/prometheus",
        190,
        _PROMETHEUS_STAMPS,
        # Of service discovery only Kubernetes, besides files and HTTP, which always are: no SDKs of thirty clouds.
        tags="netgo,remove_all_sd,enable_kubernetes_sd",
    ),
    Tool("alertmanager", "github.com/prometheus/alertmanager", 40, _PROMETHEUS_STAMPS, tags="netgo"),
    # Names the image of the reloader after its own version.
    Tool("prometheus-operator", "github.com/prometheus-operator/prometheus-operator", 190, _PROMETHEUS_STAMPS),
    Tool("node-exporter", "github.com/prometheus/node_exporter", 15, _PROMETHEUS_STAMPS),
    Tool(
        "kube-state-metrics",
        "k8s.io/kube-state-metrics/v2",
        200,
        ("github.com/prometheus/common/version.Version=v{version}", _PROMETHEUS_STAMPS[1]),
    ),
    Tool("controller-tools", "sigs.k8s.io/controller-tools", 55),
    Tool(
        "local-path-provisioner",
        "github.com/rancher/local-path-provisioner",
        170,
        ("main.VERSION=v{version}",),
    ),
)

_GPU = (
    Tool(
        "node-feature-discovery",
        "sigs.k8s.io/node-feature-discovery",
        350,
        (
            "sigs.k8s.io/node-feature-discovery/pkg/version.version=v{version}",
            # Where its pods mount /sys and /boot of the host; without it the worker silently reads the container's own.
            "sigs.k8s.io/node-feature-discovery/pkg/utils/hostpath.pathPrefix=/host-",
        ),
    ),
    Tool(
        "k8s-device-plugin",
        "github.com/NVIDIA/k8s-device-plugin",
        140,
        ("github.com/NVIDIA/k8s-device-plugin/internal/info.version=v{version}",),
        c_linker=NVML,
    ),
    Tool(
        "nvidia-container-toolkit",
        "github.com/NVIDIA/nvidia-container-toolkit",
        80,
        ("github.com/NVIDIA/nvidia-container-toolkit/internal/info.version={version}",),
        c_linker=NVML,
    ),
)

_AUTOSCALING = (
    Tool(
        "keda",
        "github.com/kedacore/keda/v2",
        400,
        ("github.com/kedacore/keda/v2/version.Version={version}",),
        # As its Makefile names them.
        names={"operator": "keda", "adapter": "keda-adapter", "webhooks": "keda-admission-webhooks"},
    ),
)

TOOLS = _CLUSTER + _MONITORING + _GPU + _AUTOSCALING
