"""Control plane: what kubeadm created on the host, and the kubelet that runs it."""

from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

from gpustack.ask.judge import Check, Cure, Result, expect
from gpustack.ask.view import View
from gpustack.command import Command, join_hints
from gpustack.probes.control_plane.kubeadm import (
    ADMIN,
    BOOTSTRAP,
    CERTIFICATES,
    CONFIG,
    CONTROL_PLANE,
    FILES,
    KUBELET_CONF,
    MANIFESTS,
    ROOTS,
    UNFINISHED,
)
from gpustack.probes.host.units import UNITS
from gpustack.steps.other_cluster import reset_of


def cure(here: View) -> Cure:
    """Install mends what is missing until kubeadm has finished here, and starts a kubelet that does not run. Else
    it is for a person."""
    files = here[FILES]
    settled = files.lacks(UNFINISHED) and not files.lacks(ADMIN)
    unit = here[UNITS]["kubelet"]
    return "operator" if settled and unit and unit.active else "install"


def initialised(here: View) -> Result | None:
    """kubeadm has created a complete control plane on this host."""
    files = here[FILES]
    if not files.lacks(UNFINISHED):
        return Result("control plane", "initialised", "an interrupted initialisation")
    lacking = files.lacks(*CONTROL_PLANE, KUBELET_CONF)
    if not lacking:
        return None
    if len(lacking) == len(CONTROL_PLANE) + 1 and files.lacks(BOOTSTRAP):
        return Result("control plane", "initialised", "nothing")
    if set(lacking) <= set(MANIFESTS):
        return stopped(lacking)
    found = f"parts of another or an incomplete cluster, without {', '.join(lacking)}"
    hint = reset_of(here, note="removes what is left of the cluster that was on it")
    return Result("control plane", "initialised", found, cure="operator", hint=hint)


def stopped(lacking: Collection[str]) -> Result:
    """All that makes it this cluster's control plane is there: never one to reset."""
    phases = [Command("kubeadm", "init", "phase", *name_phase(path), "--config", CONFIG) for path in lacking]
    hint = join_hints(*phases, by=" && ", note="writes it anew; if it was moved away, move it back instead")
    found = f"no {', '.join(lacking)}"
    return Result("control plane", "initialised", found, "operator", fault="control-plane-manifest-missing", hint=hint)


def name_phase(manifest: str) -> tuple[str, str]:
    """Return the words of the phase of `kubeadm init` that writes the manifest."""
    name = Path(manifest).stem
    return ("etcd", "local") if name == "etcd" else ("control-plane", name.removeprefix("kube-"))


def kubelet(here: View) -> Result | None:
    """The kubelet, which runs the pods of the control plane, is running."""
    unit = here[UNITS]["kubelet"]
    return expect("kubelet", "active", "active" if unit and unit.active else "not active" if unit else "not installed")


def certificates(here: View) -> Result | None:
    """No certificate of the control plane expires within 30 days."""
    soon, known = here.taken + timedelta(days=30), here[CERTIFICATES]
    if not known and not here[FILES].lacks(ADMIN):
        hint = Command("kubeadm", "init", "phase", "certs", "apiserver", "--config", CONFIG)
        return Result("certificates of the control plane", "present", "none", cure="operator", hint=hint)
    ending = {found.subject: found.expires for found in known if found.expires < soon}
    if not ending:
        return None
    dates = ", ".join(f"{subject} until {until:%Y-%m-%d}" for subject, until in sorted(ending.items()))
    hint = Command("kubeadm", "certs", "renew", "all", note="then restart the four static pods")
    return Result("certificates of the control plane", "valid for at least 30 days", dates, cure="operator", hint=hint)


def credentials(here: View) -> Result | None:
    """Only root can read admin.conf, and root's kubectl has a kubeconfig."""
    modes = here[FILES].modes
    if modes.get(ADMIN, "600") != "600":
        return Result(ADMIN, "mode 600", f"mode {modes[ADMIN]}")
    return None if ROOTS in modes else Result(ROOTS, "a copy of admin.conf", "nothing")


CHECKS: tuple[Check, ...] = (initialised, kubelet, certificates, credentials)
