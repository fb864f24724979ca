"""kubelet, kubeadm and kubectl at the version of the spec, with crictl and the CNI plugins.

What it does: adds the apt repository of the minor version, its key trusted only by fingerprint; installs and holds
kubelet, kubeadm, kubectl, cri-tools and kubernetes-cni; points crictl at containerd; lets the kubelet start at boot.
Until the host joins a cluster the kubelet ends and is started again every ten seconds, which is how kubeadm wants it.

What it never does: it never moves an installed version to another one. `gpustack explain upgrade-needed` says
how to do that by hand.

Settings: `kubernetes.version`, `source`, `fingerprints`, `proxy`.

Sources: kubernetes.io install-kubeadm and releases/version-skew-policy.
"""

from gpustack.ask.judge import Result, said
from gpustack.ask.view import View
from gpustack.probes.containerd import CRICTL, SOCKET
from gpustack.probes.dpkg import SOURCES
from gpustack.probes.egress import DAEMONS, EGRESS
from gpustack.probes.packages import PACKAGES, REPOSITORIES
from gpustack.probes.system import OS
from gpustack.probes.units import UNITS
from gpustack.steps.apt_repository import repository_mismatch
from gpustack.steps.egress_files import daemon_mismatch, files_mismatch
from gpustack.steps.kubernetes_versions import VERSIONED, foreign_packages, origin, versions
from gpustack.steps.step import Step

NAMES = (*VERSIONED, "cri-tools", "kubernetes-cni")


def repository(here: View) -> Result | None:
    """apt knows the repository of the minor version, and trusts the expected key and no other."""
    return repository_mismatch(here, "kubernetes")


def installed(here: View) -> Result | None:
    """All packages are there."""
    missing = [name for name in NAMES if here[PACKAGES][name] is None]
    return Result("packages", "installed", f"missing: {said(missing)}") if missing else None


def held(here: View) -> Result | None:
    """The packages are held, so that an upgrade of the host does not move them."""
    ours = [name for name in NAMES if name not in foreign_packages(here)]
    loose = [name for name in ours if (found := here[PACKAGES][name]) and not found.held]
    return Result("packages", "held", f"not held: {said(loose)}") if loose else None


def kubelet_at_boot(here: View) -> Result | None:
    """The kubelet starts at boot."""
    unit = here[UNITS].get("kubelet")
    if unit and unit.file == "enabled":
        return None
    return Result("kubelet.service", "enabled", unit.file or "not enabled" if unit else "no unit")


def crictl_endpoint(here: View) -> Result | None:
    """crictl asks containerd, without a warning about sockets it has to guess."""
    found = here[CRICTL]
    wrong = [
        f"{key}: {found.get(key) or 'nothing'}"
        for key in ("runtime-endpoint", "image-endpoint")
        if found.get(key) != SOCKET
    ]
    return Result("/etc/crictl.yaml", SOCKET, said(wrong)) if wrong else None


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
)
