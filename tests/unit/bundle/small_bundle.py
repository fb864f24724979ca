"""Programs of a bundle in miniature: what each tool would make, as shell scripts and plain text."""

from pathlib import Path

from gpustack_lab.bundle.cache import Part, digest

KUBERNETES = (
    "kubeadm",
    "kubelet",
    "kubectl",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
)
TOOLKIT = (
    "nvidia-ctk",
    "nvidia-cdi-hook",
    "nvidia-container-runtime",
    "nvidia-container-runtime-hook",
    "nvidia-ctk-installer",
)
DRIVER = ("libnvidia-ml.so", "libcuda.so", "nvidia-smi", "nvidia.ko")
OUTPUTS = {
    "containerd": ("containerd", "containerd-shim-runc-v2", "ctr"),
    "runc": ("runc",),
    "cni-plugins": ("bridge", "portmap"),
    "flannel": ("flanneld", "install-conf"),
    "flannel-cni-plugin": ("flannel",),
    "etcd": ("etcd", "etcdctl"),
    "coredns": ("coredns",),
    "crictl": ("crictl",),
    "helm": ("helm",),
    "mirror": ("mirror",),
    "prometheus": ("prometheus", "promtool"),
    "alertmanager": ("alertmanager", "amtool"),
    "prometheus-operator": ("operator", "prometheus-config-reloader"),
    "node-exporter": ("node_exporter",),
    "kube-state-metrics": ("kube-state-metrics",),
    "controller-tools": ("controller-gen",),
    "local-path-provisioner": ("local-path-provisioner",),
    "node-feature-discovery": ("nfd-master", "nfd-worker", "nfd-gc"),
    "k8s-device-plugin": ("nvidia-device-plugin", "gpu-feature-discovery", "config-manager"),
    "nvidia-container-toolkit": TOOLKIT,
}
KUBEADM = """#!/bin/sh
for name in apiserver controller-manager scheduler proxy; do echo "registry.k8s.io/kube-$name:v{version}"; done
echo registry.k8s.io/coredns/coredns:v1.14.2
echo registry.k8s.io/pause:3.10.2
echo registry.k8s.io/etcd:3.6.8-0
"""
# Answers as the mirror does, and ends with its parent as the mirror does.
MIRROR = """#!/bin/sh
echo "listening on 127.0.0.1:65000"
case "$*" in *-attached*) exec cat >/dev/null ;; esac
exec sleep 60
"""
MANIFESTS = {
    "flannel": (
        "kube-flannel.yml",
        "image: ghcr.io/flannel-io/flannel:v0.28.9\nimage: ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel3\n",
    ),
    "local-path-provisioner": (
        "local-path-storage.yaml",
        "image: rancher/local-path-provisioner:v0.0.30\nimage: busybox\n",
    ),
}
CRDS = {"prometheus-crds": "crd-prometheuses.yaml", "nfd-crds": "nfd-api-crds.yaml"}
SIMULATED_PARTS = ("dcgm", "dcgm-exporter", "gpu-operator", "grafana", "vectoradd", "etc/default-counters.csv")


def make_scripts(name: str, contents: dict[str, str]) -> Part:
    """Make a part whose programs are shell scripts or plain text."""

    def make(folder: Path) -> None:
        for path, content in contents.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)
            (folder / path).chmod(0o755)

    return Part(name, digest(name, contents), make)


def make_texts(name: str, paths: tuple[str, ...]) -> Part:
    return make_scripts(name, {path: f"{path} of {name}" for path in paths})


def make_parts(_versions: object, kubernetes: tuple[str, ...]) -> list[Part]:
    names = []
    for version in kubernetes:
        contents = {name: f"{name} {version}" for name in KUBERNETES} | {
            "kubeadm": KUBEADM.replace("{version}", version)
        }
        names.append(make_scripts(f"kubernetes-{version}", contents))
    for tool, outputs in OUTPUTS.items():
        names.append(
            make_scripts(tool, {name: MIRROR if name == "mirror" else f"{name} of {tool}" for name in outputs})
        )
    return names


def make_charts(directory: Path) -> Path:
    """Make folders of charts, of the version set's versions."""
    description = {
        "kube-prometheus-stack": "name: kube-prometheus-stack\nversion: 88.5.3\n",
        "kube-prometheus-stack/charts/crds": "name: crds\nversion: 0.0.0\n",
        "gpu-operator": "name: gpu-operator\nversion: v26.7.0\n",
    }
    for folder, text in description.items():
        (directory / folder / "templates").mkdir(parents=True)
        (directory / folder / "Chart.yaml").write_text(text)
        (directory / folder / "templates" / "config.yaml").write_text("kind: ConfigMap\n")
    return directory


# What `go version -m` says of two programs, after Go 1.26.8; the number is that of the parts.
BUILT_FROM = """runc/runc: go1.26.8
\tpath\tgithub.com/opencontainers/runc
\tmod\tgithub.com/opencontainers/runc\tv1.4.3\th1:/bq84roxG30xEICkFodXzMEVQFs7kzo4lCiZME1uKxI=
\tdep\tgithub.com/BurntSushi/toml\tv1.4.0\th1:kuoIxZQy2WRRk1pttg9asf+WVv6tWQuBNVmK8+nqPr0=
\tbuild\t-trimpath=true
flannel/flanneld: go1.26.8, one of {}
\tpath\tgithub.com/flannel-io/flannel
\tmod\tgpustack.local/bundle/flannel\t(devel)\t
\tdep\tgithub.com/BurntSushi/toml\tv1.4.0\th1:kuoIxZQy2WRRk1pttg9asf+WVv6tWQuBNVmK8+nqPr0=
\tdep\tgithub.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/vpc\tv1.3.149
\t=>\t./cloud-sdk/vpc\t(devel)\t
\tdep\tk8s.io/api\tv0.0.0
\t=>\tk8s.io/api\tv0.36.4\th1:x
"""


def make_module_cache(place: Path) -> Path:
    """Make a module cache as Go lays modules down; one has a licence below it, and files that are none."""
    texts = {
        "github.com/opencontainers/runc@v1.4.3": {"LICENSE": "runc", "NOTICE": "to runc", "license.go": "code"},
        "github.com/!burnt!sushi/toml@v1.4.0": {"COPYING": "toml", "testdata/LICENSE": "of a test"},
        "k8s.io/api@v0.36.4": {"LICENSE": "api", "third_party/json/LICENSE-MIT.txt": "json", "licensing.md": "talk"},
    }
    for module, files in texts.items():
        for name, text in files.items():
            (place / module / name).parent.mkdir(parents=True, exist_ok=True)
            (place / module / name).write_text(text)
    return place
