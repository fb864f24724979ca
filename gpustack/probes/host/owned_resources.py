"""Resources of gpustack on a host, by step: those that `gpustack reset` removes, and asks for again afterwards.

Each answer has a line `KIND NAME` per resource. Files are those of the declaration; a resource that a role makes beside
them, and its tasks/reset.yml removes, is listed in this module too.
"""

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.host.declaration import read_declaration

# Folders in which everything is looked for, so that files that others put there are named when they stay.
SEARCHED_FOLDERS = (
    "/etc/kubernetes/pki", "/etc/kubernetes/gpustack-flannel/*", "/etc/kubernetes/gpustack-storage/*",
    "/var/lib/gpustack-cluster/charts/*", "/etc/gpustack-cluster/standalone/receivers/*",
)  # fmt: skip
# Paths that the scripts below look at more closely, paths that any person may have, and descriptions of devices, which
# are made anew by whoever needs them.
NO_TRACE = (
    "/var/lib/kubelet", "/etc/kubernetes/manifests/*", "/opt/cni/bin/flannel", "/etc/gpustack-cluster/firewalld-source",
    "/root/.kube/config", "/var/run/cdi/*",
)  # fmt: skip
RESET_STEPS = (
    "workers", "standalone-care", "standalone-monitoring", "standalone-exporters", "gpu-operator", "gpu-runtime",
    "gpu-driver", "storage", "helm", "flannel", "control-plane", "kubernetes", "containerd", "firewall", "prereqs",
)  # fmt: skip
"""The steps that have a reset, the last one first."""


def find_reset_step(step: str, kind: str, path: str) -> str:
    """Find the step whose reset removes a declared path: data of a cluster goes with the program that wrote it."""
    if kind == "data" and re.search("flannel|/cni/", path):
        return "flannel"
    if kind == "data":
        return "gpu-operator" if "nvidia" in path else "control-plane"
    if "/charts/" in path:
        return "helm"
    if "/gpustack-kubernetes." in path:
        return "kubernetes"
    return step if step in RESET_STEPS else "prereqs"


def list_traced_paths() -> Mapping[str, tuple[str, ...]]:
    """List the declared files, data and private folders by the step whose reset removes them. Data that matches a
    pattern is recorded together, and no single file of it by its name."""
    paths_by_step: dict[str, list[str]] = {step: [] for step in RESET_STEPS}
    declared_paths = (
        (step, kind, path)
        for step, kinds in read_declaration().items()
        for kind in ("file", "data", "private")
        for path in kinds.get(kind, ())
        if not (kind == "data" and "*" in path) and not any(fnmatch.fnmatchcase(path, name) for name in NO_TRACE)
    )
    for step, kind, path in declared_paths:
        folder = next((name for name in SEARCHED_FOLDERS if path.startswith(f"{name.removesuffix('/*')}/")), path)
        if not any(folder in paths for paths in paths_by_step.values()):
            paths_by_step[find_reset_step(step, kind, path)].append(folder)
    return {step: tuple(paths) for step, paths in paths_by_step.items()}


FILES = list_traced_paths()

KINDS = {"file", "link", "route", "chains", "chain", "table", "rules", "source", "containers", "unit", "change", "line"}


@dataclass(frozen=True)
class Trace:
    """Identify a resource. `kind` is file, link, chains, …; `name` says which one, as people write it."""

    kind: str
    name: str

    def __str__(self) -> str:
        return self.name if self.kind == "file" else f"{self.kind} {self.name}"


def parse_traces(answer: Answer) -> tuple[Trace, ...]:
    """Parse the resources. Raise ValueError where a line names none of these kinds."""
    traces = tuple(Trace(*line.split(" ", 1)) for line in answer.stdout.splitlines())
    if unknown_trace := next((trace for trace in traces if trace.kind not in KINDS), None):
        raise ValueError(str(unknown_trace))
    return traces


def build_files_script(paths: Iterable[str]) -> str:
    return f"""set -- {" ".join(paths)}
for path; do
  [ ! -e "$path" ] || echo "file $path"
done
"""


def build_chains_script(prefix: str) -> str:
    """Build a script that lists chains of both kernel interfaces; the older one is asked only where it has tables."""
    return f"""for tool in iptables ip6tables; do
  command -v "$tool-save" >/dev/null || continue
  other_tool=
  if [ -s "/proc/net/${{tool%tables}}_tables_names" ]; then
    case $("$tool" -V) in *nf_tables*) other_tool=$tool-legacy ;; esac
  fi
  for program in $tool $other_tool; do
    rules=$("$program-save") || exit
    chain_count=$(printf '%s\\n' "$rules" | grep -c '^:{prefix}') || continue
    echo "chains {prefix}* of $program ($chain_count)"
  done
done
"""


def build_probe(step: str, extra_script: str = "") -> Probe[tuple[Trace, ...]]:
    return Probe(f"owned.{step}", Lines(f"{build_files_script(FILES[step])}{extra_script}exit 0"), parse_traces)


STANDALONE_CARE = build_probe("standalone-care")
STANDALONE_MONITORING = build_probe("standalone-monitoring")
STANDALONE_EXPORTERS = build_probe("standalone-exporters")
# Its operands leave them, and nobody else's; device descriptions are made anew by whoever needs them.
GPU_OPERATOR = build_probe("gpu-operator")
GPU_RUNTIME = build_probe("gpu-runtime")
GPU_DRIVER = build_probe("gpu-driver")
STORAGE = build_probe("storage")
HELM = build_probe("helm")
WORKERS = build_probe("workers")
FLANNEL = build_probe(
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
    + build_chains_script("FLANNEL-"),
)
CONTROL_PLANE = build_probe(
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
    + build_chains_script("KUBE-"),
)
KUBERNETES = build_probe(
    "kubernetes",
    r"""! systemctl -q is-active kubepods.slice || echo 'unit kubepods.slice'
[ -e /etc/apt/sources.list.d/gpustack-kubernetes.sources ] || exit 0
case $(systemctl show -p ActiveState --value kubelet.service) in
  active | activating | reloading) echo 'unit kubelet.service (runs)' ;;
esac
! systemctl -q is-enabled kubelet.service 2>/dev/null || echo 'unit kubelet.service (starts at boot)'
""",
)
CONTAINERD = build_probe(
    "containerd",
    r"""cd /etc/containerd 2>/dev/null || exit 0
for file in certs.d/*/hosts.toml; do
  ! head -n 1 "$file" 2>/dev/null | grep -q '^# Written by gpustack' || echo "file /etc/containerd/$file"
done
""",
)
FIREWALL = build_probe("firewall", read_script(__file__, "owned_firewall.sh") + build_chains_script("GPUSTACK-"))
PREREQS = build_probe("prereqs")

# By step, the last step first.
RESOURCE_PROBES: Mapping[str, Probe[tuple[Trace, ...]]] = {
    "workers": WORKERS,
    "standalone-care": STANDALONE_CARE,
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
