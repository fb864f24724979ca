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
    UNFINISHED_CONFIG,
)
from gpustack.probes.host.units import UNITS
from gpustack.steps.other_cluster import build_reset_command


def choose_cure(view: View) -> Cure:
    """Choose the cure: install repairs what is missing until kubeadm has finished, and starts a kubelet that does not
    run. Else it is for a person."""
    files = view[FILES]
    is_initialised = files.lacks(UNFINISHED_CONFIG) and not files.lacks(ADMIN)
    unit = view[UNITS]["kubelet"]
    return "operator" if is_initialised and unit and unit.active else "install"


def cluster_initialised(view: View) -> Result | None:
    """A complete control plane that kubeadm has created is on this host."""
    files = view[FILES]
    if not files.lacks(UNFINISHED_CONFIG):
        return Result("control plane", "initialised", "an interrupted initialisation")
    missing_files = files.lacks(*CONTROL_PLANE, KUBELET_CONF)
    if not missing_files:
        return None
    if len(missing_files) == len(CONTROL_PLANE) + 1 and files.lacks(BOOTSTRAP):
        return Result("control plane", "initialised", "nothing")
    if set(missing_files) <= set(MANIFESTS):
        return build_manifest_result(missing_files)
    actual = f"parts of another or an incomplete cluster, without {', '.join(missing_files)}"
    hint = build_reset_command(view, note="removes what is left of the cluster that was on it")
    return Result("control plane", "initialised", actual, cure="operator", hint=hint)


def build_manifest_result(lacking: Collection[str]) -> Result:
    """Build the Result for missing manifests. All that makes it this cluster's control plane is there: it is never
    reset."""
    phases = [Command("kubeadm", "init", "phase", *name_phase(path), "--config", CONFIG) for path in lacking]
    hint = join_hints(*phases, separator=" && ", note="writes it anew; if it was moved away, move it back instead")
    actual = f"no {', '.join(lacking)}"
    return Result("control plane", "initialised", actual, "operator", fault="control-plane-manifest-missing", hint=hint)


def name_phase(manifest: str) -> tuple[str, str]:
    """Return the words of the phase of `kubeadm init` that writes the manifest."""
    name = Path(manifest).stem
    return ("etcd", "local") if name == "etcd" else ("control-plane", name.removeprefix("kube-"))


def kubelet(view: View) -> Result | None:
    """The kubelet, which runs the pods of the control plane, is running."""
    unit = view[UNITS]["kubelet"]
    return expect("kubelet", "active", "active" if unit and unit.active else "not active" if unit else "not installed")


def certificates(view: View) -> Result | None:
    """The certificates of the control plane are valid for at least 30 days."""
    deadline, all_certificates = view.started_at + timedelta(days=30), view[CERTIFICATES]
    if not all_certificates and not view[FILES].lacks(ADMIN):
        hint = Command("kubeadm", "init", "phase", "certs", "apiserver", "--config", CONFIG)
        return Result("certificates of the control plane", "present", "none", cure="operator", hint=hint)
    expiry_times = {
        certificate.subject: certificate.expires for certificate in all_certificates if certificate.expires < deadline
    }
    if not expiry_times:
        return None
    dates = ", ".join(
        f"{subject} until {expiry_time:%Y-%m-%d}" for subject, expiry_time in sorted(expiry_times.items())
    )
    hint = Command("kubeadm", "certs", "renew", "all", note="then restart the four static pods")
    is_latent = all(expiry_time > view.started_at for expiry_time in expiry_times.values())
    return Result(
        "certificates of the control plane",
        "valid for at least 30 days",
        dates,
        cure="operator",
        hint=hint,
        latent=is_latent,
    )


def credentials(view: View) -> Result | None:
    """The file admin.conf can be read by root only, and root's kubectl has a kubeconfig."""
    modes = view[FILES].modes
    if modes.get(ADMIN, "600") != "600":
        return Result(ADMIN, "mode 600", f"mode {modes[ADMIN]}")
    return None if ROOTS in modes else Result(ROOTS, "a copy of admin.conf", "nothing")


CHECKS: tuple[Check, ...] = (cluster_initialised, kubelet, certificates, credentials)
