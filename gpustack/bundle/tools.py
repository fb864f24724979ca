"""The Go programs of a bundle: how each is compiled. Which packages and versions stands in modules/<tool>/go.mod."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Tool:
    """`module` gives the version stamp its date; `stamps` are linker variables, with {version} {major} {minor} {date};
    `names` renames what Go names after the last word of a package path."""

    name: str
    module: str
    stamps: tuple[str, ...] = ()
    cgo: bool = False
    tags: str = ""
    names: dict[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()


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

TOOLS = (
    Tool("kubernetes", "k8s.io/kubernetes", _KUBERNETES_STAMPS),
    Tool(
        "containerd",
        "github.com/containerd/containerd/v2",
        ("github.com/containerd/containerd/v2/version.Version=v{version}",),
    ),
    Tool(
        "runc",
        "github.com/opencontainers/runc",
        ("main.version={version}",),
        cgo=True,
        tags="seccomp netgo osusergo",
        libraries=("libseccomp-dev",),
    ),
    Tool(
        "cni-plugins",
        "github.com/containernetworking/plugins",
        ("github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=v{version}",),
    ),
    # cgo: Flannel's udp backend has a part in C
    Tool(
        "flannel",
        "github.com/flannel-io/flannel",
        ("github.com/flannel-io/flannel/pkg/version.Version=v{version}",),
        cgo=True,
        tags="netgo osusergo",
        names={"flannel": "flanneld", "install_conf": "install-conf"},
    ),
    Tool(
        "flannel-cni-plugin",
        "github.com/containernetworking/plugins",
        ("github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=v{version}",),
    ),
    Tool("etcd", "go.etcd.io/etcd/server/v3", names={"server": "etcd"}),
    Tool("coredns", "github.com/coredns/coredns"),
    Tool("crictl", "sigs.k8s.io/cri-tools", ("sigs.k8s.io/cri-tools/pkg/version.Version=v{version}",)),
    Tool("helm", "helm.sh/helm/v4", ("helm.sh/helm/v4/internal/version.version=v{version}",)),
    Tool(
        "mirror",
        "github.com/distribution/distribution/v3",
        ("github.com/distribution/distribution/v3/version.version=v{version}",),
    ),
)
