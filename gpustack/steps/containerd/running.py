"""Checks of step containerd: the running daemon."""

from dataclasses import replace

from gpustack.ask.judge import Result, as_text, expect
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.probes.containerd.daemon import CONFIGURATION, FOLDER, RUNTIME
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubelet.kubelet import CGROUPS
from gpustack.steps.egress_files import daemon_mismatch

SILENT = "unknown: containerd does not respond"


def running(here: View) -> Result | None:
    """The daemon is running and enabled at boot."""
    unit = here[UNITS].get("containerd")
    state = "no unit" if unit is None else f"{'active' if unit.active else 'not active'}, {unit.file}"
    return expect("containerd.service", "active, enabled", state)


def cri(here: View) -> Result | None:
    """The running daemon responds to CRI v1."""
    return None if here[RUNTIME] else Result("CRI v1 of the running daemon", "responding", "not responding")


def cgroups(here: View) -> Result | None:
    """The running daemon and the kubelet use the systemd cgroup driver: the kubelet asks the daemon when it starts, and
    keeps that driver if the daemon changes later."""
    what, found = "cgroup driver of the running daemon", here[RUNTIME]
    if found is None:
        return Result(what, "systemd", SILENT)
    driver = "systemd" if found.systemd_cgroup else "cgroupfs: runc's SystemdCgroup is false"
    if driver == "systemd" and here[CGROUPS] == "cgroupfs":
        taken = "cgroupfs, as reported by containerd when the kubelet started"
        return Result("cgroup driver of the running kubelet", "systemd", taken, fault="containerd-cgroup-driver")
    if driver == "systemd":
        return None
    wrong = Result(what, "systemd", driver, fault="containerd-cgroup-driver")
    if other := here[CONFIGURATION].last_without_systemd:
        restart = Command("systemctl", "restart", "containerd")
        hint = Prose("take SystemdCgroup = false out of {}; then: {}", f"{FOLDER}{other}", restart)
        return replace(wrong, cure="operator", hint=hint)
    return wrong


def settings(here: View) -> Result | None:
    """The running daemon finds the CNI plugins, and lowers oom_score_adj unless the spec forbids it."""
    found, restricted = here[RUNTIME], here.spec.containerd.restrict_oom_score_adj
    if found is None:
        return Result("settings of the running daemon", "gpustack's", SILENT)
    if found.bin_dirs != ("/opt/cni/bin",):
        return Result("CNI plugins in the running daemon", "/opt/cni/bin", as_text(found.bin_dirs))
    return expect("restrict_oom_score_adj in the running daemon", restricted, found.restrict_oom_score_adj)


def up_to_date(here: View) -> Result | None:
    """The running daemon has loaded its files: it started after the last change of them."""
    unit, newest = here[UNITS].get("containerd"), here[CONFIGURATION].newest
    if unit is None or not unit.active or unit.since is None or unit.since >= newest:
        return None
    return Result("start of containerd", "after its files were written", f"{newest - unit.since} s before")


def proxy(here: View) -> Result | None:
    """The running daemon pulls images through the proxy of the spec, if it has one."""
    found = daemon_mismatch(here, "containerd")
    return replace(found, fault="containerd-proxy-missing") if found else None


CHECKS = (running, cri, cgroups, settings, up_to_date, proxy)
