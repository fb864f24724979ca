"""What of ours is on a host, by step: what `gpustack reset` takes away, and asks for again afterwards.

Each answer has a line `KIND NAME` per thing. What a role makes and what its tasks/reset.yml removes stands here too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.config.egress import PATHS
from gpustack.probes.control_plane.kubeadm import CONFIG, UNFINISHED

KUBECONFIGS = ("admin", "super-admin", "kubelet", "controller-manager", "scheduler")
STANDALONE = "/etc/gpustack-cluster/standalone"
SYSTEM = "/etc/systemd/system"
FILES = {
    "standalone-monitoring": (
        f"{SYSTEM}/prometheus.service.d/gpustack.conf", f"{SYSTEM}/prometheus-alertmanager.service.d/gpustack.conf",
        f"{STANDALONE}/prometheus-*", f"{STANDALONE}/rules-*", f"{STANDALONE}/alertmanager-*",
        f"{STANDALONE}/receivers/*",
    ),
    "standalone-exporters": (
        f"{SYSTEM}/nvidia-dcgm-exporter.service.d/gpustack.conf",
        f"{SYSTEM}/prometheus-node-exporter.service.d/gpustack.conf", f"{STANDALONE}/counters-*",
    ),
    "gpu-operator": (
        "/etc/containerd/conf.d/99-nvidia.toml", "/usr/local/nvidia/toolkit", "/run/nvidia/validations",
        "/run/nvidia/toolkit",
    ),
    "gpu-runtime": (
        "/etc/containerd/conf.d/gpustack-nvidia.toml", "/etc/apt/sources.list.d/gpustack-toolkit.sources",
        "/etc/apt/keyrings/gpustack-toolkit.gpg",
        "/etc/apt/preferences.d/gpustack-toolkit.pref",
    ),
    "gpu-driver": (
        "/etc/apt/sources.list.d/gpustack-nvidia.sources", "/etc/apt/keyrings/gpustack-nvidia.gpg",
        "/etc/apt/apt.conf.d/52gpustack-nvidia-driver", "/etc/modprobe.d/gpustack-nouveau.conf",
    ),
    "storage": ("/etc/kubernetes/gpustack-storage/*",),
    "helm": ("/usr/local/lib/gpustack/helm", "/var/lib/gpustack-cluster/charts/*"),
    "workers": ("/run/gpustack-join.yaml", "/etc/kubernetes/bootstrap-kubelet.conf"),
    "flannel": (
        "/etc/cni/net.d/10-flannel.conflist", "/run/flannel", "/var/lib/cni/flannel", "/var/lib/cni/networks/cbr0",
        "/etc/kubernetes/gpustack-flannel/*",
    ),
    "control-plane": (
        *(f"/etc/kubernetes/{name}.conf" for name in KUBECONFIGS), "/etc/kubernetes/pki", "/etc/kubernetes/tmp",
        CONFIG, UNFINISHED,
        "/var/lib/etcd/member", "/var/log/pods", "/var/log/containers",
    ),
    "kubernetes": (
        "/etc/apt/sources.list.d/gpustack-kubernetes.sources", "/etc/apt/keyrings/gpustack-kubernetes.gpg",
        "/etc/apt/preferences.d/gpustack-kubernetes.pref",
    ),
    "containerd": (
        "/etc/containerd/conf.d/gpustack.toml", "/etc/apt/sources.list.d/gpustack-containerd.sources",
        "/etc/apt/keyrings/gpustack-containerd.gpg", "/etc/apt/preferences.d/gpustack-containerd.pref",
        "/etc/gpustack-cluster/images",
        "/opt/containerd/image-verifier/bin/gpustack",
    ),
    "firewall": (
        "/usr/share/netfilter-persistent/plugins.d/50-gpustack", "/usr/local/lib/gpustack/firewall-nftables",
        "/etc/systemd/system/nftables.service.d/gpustack.conf", "/etc/firewalld/policies/gpustack-in.xml",
        "/etc/firewalld/policies/gpustack-forward.xml", "/etc/firewalld/policies/gpustack-out.xml",
        "/usr/local/lib/gpustack/firewall-metrics", "/etc/systemd/system/gpustack-firewall-metrics.service",
        "/etc/systemd/system/nftables.service.d/gpustack-metrics.conf",
    ),
    # The last ones are of `gpustack doctor --fix`.
    "prereqs": (
        "/etc/modules-load.d/gpustack.conf", "/etc/sysctl.d/90-gpustack.conf", "/etc/sysctl.d/zzz-gpustack.conf",
        "/etc/NetworkManager/conf.d/gpustack.conf", "/etc/systemd/network/10-flannel.link",
        "/var/lib/gpustack-cluster/fixes", "/var/lib/gpustack-cluster/masked-swap",
    ),
}  # fmt: skip

KINDS = {"file", "link", "route", "chains", "chain", "table", "rules", "source", "containers", "unit", "change", "line"}


@dataclass(frozen=True)
class Trace:
    """`kind` is file, link, chains, …; `name` says which, as people write it."""

    kind: str
    name: str

    def __str__(self) -> str:
        return self.name if self.kind == "file" else f"{self.kind} {self.name}"


def traces(answer: Answer) -> tuple[Trace, ...]:
    """Raises ValueError for a line that is none of these."""
    found = tuple(Trace(*line.split(" ", 1)) for line in answer.out.splitlines())
    if odd := next((trace for trace in found if trace.kind not in KINDS), None):
        raise ValueError(str(odd))
    return found


def files(paths: Iterable[str]) -> str:
    return f"""set -- {" ".join(paths)}
for path; do
  [ ! -e "$path" ] || echo "file $path"
done
"""


def chains(prefix: str) -> str:
    """Both kernel interfaces may have some; the older one is asked only where it has tables."""
    return f"""for tool in iptables ip6tables; do
  command -v "$tool-save" >/dev/null || continue
  others=
  if [ -s "/proc/net/${{tool%tables}}_tables_names" ]; then
    case $("$tool" -V) in *nf_tables*) others=$tool-legacy ;; esac
  fi
  for one in $tool $others; do
    rules=$("$one-save") || exit
    found=$(printf '%s\\n' "$rules" | grep -c '^:{prefix}') || continue
    echo "chains {prefix}* of $one ($found)"
  done
done
"""


def probe(step: str, more: str = "") -> Probe[tuple[Trace, ...]]:
    return Probe(f"owned.{step}", Lines(f"{files((*FILES[step], *PATHS.get(step, ())))}{more}exit 0"), traces)


STANDALONE_MONITORING = probe("standalone-monitoring")
STANDALONE_EXPORTERS = probe("standalone-exporters")
# Its operands leave them, and nobody else's; device descriptions are made anew by whoever needs them.
GPU_OPERATOR = probe("gpu-operator")
GPU_RUNTIME = probe("gpu-runtime")
GPU_DRIVER = probe("gpu-driver")
STORAGE = probe("storage")
HELM = probe("helm")
WORKERS = probe("workers")
FLANNEL = probe(
    "flannel",
    r"""plugin=/opt/cni/bin/flannel
[ ! -e $plugin ] || dpkg -S $plugin >/dev/null 2>&1 || echo "file $plugin"
network=$(sed -n 's/^FLANNEL_NETWORK=//p' /run/flannel/subnet.env 2>/dev/null)
network=${network:-$POD_CIDR}
[ -z "$(ip -4 -o addr show dev cni0 to "$network" 2>/dev/null)" ] || echo 'link cni0'
[ ! -e /sys/class/net/flannel.1 ] || echo 'link flannel.1'
routes=$(ip -4 route show root "$network") || exit
printf '%s\n' "$routes" | sed -n '/flannel\.1/!s/^\([0-9./]* via .*\)/route \1/p'
"""
    + chains("FLANNEL-"),
)
CONTROL_PLANE = probe(
    "control-plane",
    r"""for folder in /etc/kubernetes/manifests /var/lib/kubelet; do
  [ -z "$(ls -A "$folder" 2>/dev/null)" ] || echo "file $folder"
done
containers=$(find /run/containerd/io.containerd.runtime.v2.task/k8s.io -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)
if command -v ctr >/dev/null && systemctl -q is-active containerd; then
  containers=$(ctr -n k8s.io containers ls -q) || exit
  containers=$(printf '%s' "$containers" | grep -c .)
fi
[ "$containers" = 0 ] || echo "containers of Kubernetes ($containers)"
if command -v nft >/dev/null; then
  tables=$(nft list tables) || exit
  printf '%s\n' "$tables" | sed -n 's/^table \(ip6\? kube-proxy\)$/table \1/p'
fi
"""
    + chains("KUBE-"),
)
KUBERNETES = probe(
    "kubernetes",
    r"""! systemctl -q is-active kubepods.slice || echo 'unit kubepods.slice'
[ -e /etc/apt/sources.list.d/gpustack-kubernetes.sources ] || exit 0
case $(systemctl show -p ActiveState --value kubelet.service) in
  active | activating | reloading) echo 'unit kubelet.service (runs)' ;;
esac
! systemctl -q is-enabled kubelet.service 2>/dev/null || echo 'unit kubelet.service (starts at boot)'
""",
)
CONTAINERD = probe(
    "containerd",
    r"""cd /etc/containerd 2>/dev/null || exit 0
for file in certs.d/*/hosts.toml; do
  ! head -n 1 "$file" 2>/dev/null | grep -q '^# Written by gpustack' || echo "file /etc/containerd/$file"
done
""",
)
FIREWALL = probe(
    "firewall",
    read_script(__file__, "owned_firewall.sh") + chains("GPUSTACK-"),
)
PREREQS = probe("prereqs")

# By step, the last step first.
OURS: Mapping[str, Probe[tuple[Trace, ...]]] = {
    "workers": WORKERS,
    "standalone-monitoring": STANDALONE_MONITORING,
    "standalone-exporters": STANDALONE_EXPORTERS,
    "gpu-operator": GPU_OPERATOR,
    "gpu-runtime": GPU_RUNTIME,
    "gpu-driver": GPU_DRIVER,
    "storage": STORAGE,
    "helm": HELM,
    "flannel": FLANNEL,
    "control-plane": CONTROL_PLANE,
    "kubernetes": KUBERNETES,
    "containerd": CONTAINERD,
    "firewall": FIREWALL,
    "prereqs": PREREQS,
}
