"""Checks of step containerd: the running daemon."""

from dataclasses import replace

from gpustack.ask.judge import Result, expect, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.probes.containerd.daemon import CONFIGURATION, FOLDER, RUNTIME
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubelet.kubelet import CGROUPS
from gpustack.steps.egress_files import find_daemon_mismatch, find_root_mismatch

NO_RESPONSE = "unknown: containerd does not respond"


def running(view: View) -> Result | None:
    """The daemon is running and enabled at boot."""
    unit = view[UNITS].get("containerd")
    state = "no unit" if unit is None else f"{'active' if unit.active else 'not active'}, {unit.file}"
    return expect("containerd.service", "active, enabled", state)


def cri(view: View) -> Result | None:
    """The running daemon responds to CRI v1."""
    return None if view[RUNTIME] else Result("CRI v1 of the running daemon", "responding", "not responding")


def cgroups(view: View) -> Result | None:
    """The running daemon and the kubelet use the systemd cgroup driver: the kubelet asks the daemon when it starts, and
    keeps that driver if the daemon changes later."""
    subject, runtime = "cgroup driver of the running daemon", view[RUNTIME]
    if runtime is None:
        return Result(subject, "systemd", NO_RESPONSE)
    driver = "systemd" if runtime.systemd_cgroup else "cgroupfs: runc's SystemdCgroup is false"
    if driver == "systemd" and view[CGROUPS] == "cgroupfs":
        kubelet_driver = "cgroupfs, as reported by containerd when the kubelet started"
        return Result(
            "cgroup driver of the running kubelet", "systemd", kubelet_driver, fault="containerd-cgroup-driver"
        )
    if driver == "systemd":
        return None
    mismatch = Result(subject, "systemd", driver, fault="containerd-cgroup-driver")
    if overriding_file := view[CONFIGURATION].last_without_systemd:
        restart = Command("systemctl", "restart", "containerd")
        hint = Prose("take SystemdCgroup = false out of {}; then: {}", f"{FOLDER}{overriding_file}", restart)
        return replace(mismatch, cure="operator", hint=hint)
    return mismatch


def settings(view: View) -> Result | None:
    """The running daemon finds the CNI plugins, and lowers oom_score_adj unless the spec forbids it."""
    runtime, expected_restriction = view[RUNTIME], view.spec.containerd.restrict_oom_score_adj
    if runtime is None:
        return Result("settings of the running daemon", "gpustack's", NO_RESPONSE)
    if runtime.bin_dirs != ("/opt/cni/bin",):
        return Result("CNI plugins in the running daemon", "/opt/cni/bin", format_value(runtime.bin_dirs))
    return expect("restrict_oom_score_adj in the running daemon", expected_restriction, runtime.restrict_oom_score_adj)


def up_to_date(view: View) -> Result | None:
    """The running daemon has loaded its files: it started after the last change of them."""
    unit, newest_time = view[UNITS].get("containerd"), view[CONFIGURATION].newest
    if unit is None or not unit.active or unit.active_since is None or unit.active_since >= newest_time:
        return None
    return Result("start of containerd", "after its files were written", f"{newest_time - unit.active_since} s before")


def proxy(view: View) -> Result | None:
    """The running daemon pulls images through the proxy of the spec, if it has one."""
    return find_daemon_mismatch(view, "containerd")


def authorities(view: View) -> Result | None:
    """The running daemon trusts the CAs of the spec, if it has any: Go reads those of the host once, at the first
    connection with TLS (crypto/x509 root.go)."""
    unit = view[UNITS].get("containerd")
    return find_root_mismatch(view, unit.active_since if unit and unit.active else None)


CHECKS = (running, cri, cgroups, settings, up_to_date, proxy, authorities)
