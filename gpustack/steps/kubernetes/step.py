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

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.probes.containerd.daemon import CRICTL, SOCKET
from gpustack.probes.host.egress import DAEMONS, EGRESS
from gpustack.probes.host.system import OS
from gpustack.probes.host.units import UNITS
from gpustack.probes.packages.dpkg import SOURCES
from gpustack.probes.packages.software import PACKAGES, REPOSITORIES
from gpustack.steps.apt_repository import repository_mismatch
from gpustack.steps.egress_files import daemon_mismatch, files_mismatch
from gpustack.steps.kubernetes.versions import VERSIONED, foreign_packages, origin, versions
from gpustack.steps.step import Step

NAMES = (*VERSIONED, "cri-tools", "kubernetes-cni")


def repository(here: View) -> Result | None:
    """The apt repository of the minor version is configured with the expected key and no other."""
    return repository_mismatch(here, "kubernetes")


def installed(here: View) -> Result | None:
    """All packages are installed."""
    missing = [name for name in NAMES if here[PACKAGES][name] is None]
    return Result("packages", "installed", f"missing: {as_text(missing)}") if missing else None


def held(here: View) -> Result | None:
    """The packages are on hold, so that an upgrade of the host does not change them."""
    ours = [name for name in NAMES if name not in foreign_packages(here)]
    loose = [name for name in ours if (found := here[PACKAGES][name]) and not found.held]
    return Result("packages", "held", f"not held: {as_text(loose)}") if loose else None


def kubelet_at_boot(here: View) -> Result | None:
    """The kubelet is enabled at boot."""
    unit = here[UNITS].get("kubelet")
    if unit and unit.file == "enabled":
        return None
    return Result("kubelet.service", "enabled", unit.file or "not enabled" if unit else "no unit")


def crictl_endpoint(here: View) -> Result | None:
    """crictl is configured to use containerd, so that it does not warn about guessed endpoints."""
    found = here[CRICTL]
    wrong = [
        f"{key}: {found.get(key) or 'nothing'}"
        for key in ("runtime-endpoint", "image-endpoint")
        if found.get(key) != SOCKET
    ]
    return Result("/etc/crictl.yaml", SOCKET, as_text(wrong)) if wrong else None


def egress(here: View) -> Result | None:
    """systemd has the proxy of the spec for the kubelet, if it has one."""
    return files_mismatch(here, "kubernetes")


def proxy(here: View) -> Result | None:
    """The running kubelet has the proxy of the spec, if it has one."""
    return daemon_mismatch(here, "kubelet")


STEP = Step(
    "kubernetes",
    scope="host",
    needs=("prereqs", "containerd"),
    probes=(PACKAGES, REPOSITORIES, SOURCES, OS, UNITS, CRICTL, EGRESS, DAEMONS),
    checks=(repository, origin, installed, versions, held, kubelet_at_boot, crictl_endpoint, egress, proxy),
    interrupts="the kubelet may restart; pods run on",
)
