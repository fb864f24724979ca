"""kubelet, kubeadm and kubectl at the version of the spec, with crictl and the CNI plugins.

What it does: adds the apt repository of the minor version, whose key is trusted only by fingerprint; installs and holds
kubelet, kubeadm, kubectl, cri-tools and kubernetes-cni; configures crictl to use containerd; enables the kubelet at
boot. Until the host joins a cluster the kubelet exits and is restarted every ten seconds, which is what kubeadm
expects.

What it never does: it never changes an installed version. `gpustack explain upgrade-needed` shows how to do that by
hand.

Settings: `kubernetes.version`, `source`, `fingerprints`, `proxy`.

Sources: kubernetes.io install-kubeadm and releases/version-skew-policy.
"""

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.probes.containerd.daemon import CRICTL, SOCKET
from gpustack.probes.host.egress import DAEMONS, EGRESS
from gpustack.probes.host.system import OS
from gpustack.probes.host.units import UNITS
from gpustack.probes.packages.dpkg import SOURCES
from gpustack.probes.packages.software import PACKAGES, REPOSITORIES
from gpustack.steps.apt_repository import find_repository_mismatch
from gpustack.steps.egress_files import find_daemon_mismatch, find_file_mismatch
from gpustack.steps.kubernetes.versions import KUBERNETES_PACKAGES, find_foreign_packages, origin, versions
from gpustack.steps.step import Step

NAMES = (*KUBERNETES_PACKAGES, "cri-tools", "kubernetes-cni")


def repository(view: View) -> Result | None:
    """The apt repository of the minor version is configured with the expected key and no other."""
    return find_repository_mismatch(view, "kubernetes")


def packages_installed(view: View) -> Result | None:
    """The packages are all installed."""
    missing_packages = [name for name in NAMES if view[PACKAGES][name] is None]
    return Result("packages", "installed", f"missing: {format_value(missing_packages)}") if missing_packages else None


def packages_held(view: View) -> Result | None:
    """The packages are on hold, so that an upgrade of the host does not change them."""
    names = [name for name in NAMES if name not in find_foreign_packages(view)]
    unheld_packages = [name for name in names if (package := view[PACKAGES][name]) and not package.held]
    return Result("packages", "held", f"not held: {format_value(unheld_packages)}") if unheld_packages else None


def kubelet_at_boot(view: View) -> Result | None:
    """The kubelet is enabled at boot."""
    unit = view[UNITS].get("kubelet")
    if unit and unit.file == "enabled":
        return None
    return Result("kubelet.service", "enabled", unit.file or "not enabled" if unit else "no unit")


def crictl_endpoint(view: View) -> Result | None:
    """The configuration of crictl names containerd, so that it does not warn about guessed endpoints."""
    endpoints = view[CRICTL]
    differences = [
        f"{key}: {endpoints.get(key) or 'nothing'}"
        for key in ("runtime-endpoint", "image-endpoint")
        if endpoints.get(key) != SOCKET
    ]
    return Result("/etc/crictl.yaml", SOCKET, format_value(differences)) if differences else None


def egress(view: View) -> Result | None:
    """The unit of the kubelet has the proxy of the spec, if it has one."""
    return find_file_mismatch(view, "kubernetes")


def proxy(view: View) -> Result | None:
    """The running kubelet has the proxy of the spec, if it has one."""
    return find_daemon_mismatch(view, "kubelet")


STEP = Step(
    "kubernetes",
    scope="host",
    needs=("prereqs", "containerd"),
    probes=(PACKAGES, REPOSITORIES, SOURCES, OS, UNITS, CRICTL, EGRESS, DAEMONS),
    checks=(
        repository,
        origin,
        packages_installed,
        versions,
        packages_held,
        kubelet_at_boot,
        crictl_endpoint,
        egress,
        proxy,
    ),
    interrupts="the kubelet may restart; pods run on",
)
