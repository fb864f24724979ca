"""Descriptions of a remedy: the equivalent commands, and what it interrupts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpustack.ask.judge import format_value
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command, Hint, Prose, join_hints
from gpustack.doctor.entry import Apt, DropIn, Remedy, Rollout
from gpustack.probes.gpu.holding_pods import HOLDING_PODS

PODS_RUN_ON = "pods run on"
RESTARTS = {
    "containerd": f"containerd restarts; {PODS_RUN_ON}, and none starts for some seconds",
    "kubelet": f"the kubelet starts; {PODS_RUN_ON}",
}


def describe_interruption(remedy: Remedy) -> str:
    """Describe what a remedy interrupts, or return an empty text."""
    if remedy.unit:
        return RESTARTS.get(remedy.unit.name, "")
    if remedy.rollout:
        return f"pods of {remedy.rollout.namespace}/{remedy.rollout.name} are made anew"
    if remedy.drop_in and remedy.drop_in.restart:
        return f"pods of {remedy.drop_in.restart} are made anew"
    return ""


def describe_gpu_pods(snapshot: Snapshot, hosts: Iterable[str]) -> str:
    """Describe which pods hold GPUs on these hosts, and on which hosts that is not known. Return an empty text where no
    pod does."""
    texts = [describe_holders(View(snapshot, host)) for host in hosts]
    return "; ".join(filter(None, texts))


def describe_holders(view: View) -> str:
    if not view.has_fact(HOLDING_PODS):
        return f"{view.location}: not known"
    pods = view[HOLDING_PODS]
    return f"{view.location}: {format_value(pods)}" if pods else ""


def list_manual_commands(remedy: Remedy, variables: Mapping[str, Any]) -> Iterator[Hint]:
    """Yield equivalent commands. `variables` are those of the playbook."""
    yield from (Command("sysctl", "-w", f"{key}={value}") for key, value in remedy.sysctl.items())
    if unit := remedy.unit:
        if unit.enabled:
            yield Command("systemctl", "enable", unit.name)
        yield Command("systemctl", unit.state.removesuffix("ed"), unit.name)
    if remedy.rollout:
        yield build_restart_command(remedy.rollout, variables["nodes"])
    if remedy.drop_in:
        yield from list_drop_in_commands(remedy.drop_in)
    if remedy.apt:
        yield from list_apt_commands(remedy.apt)


def list_edit_commands(files: Iterable[str]) -> Iterator[Command]:
    """Yield commands for foreign files below /etc/containerd, which `install` would leave as they are."""
    yield from (Command("sudoedit", f"/etc/containerd/{file}") for file in sorted(files))
    yield Command("systemctl", "restart", "containerd")


def build_restart_command(workload: Rollout, nodes: Sequence[str]) -> Hint:
    kubectl, name = Command("kubectl", "-n", workload.namespace), f"{workload.kind}/{workload.name}"
    if not nodes:
        return kubectl.extend("rollout", "restart", name)
    return Prose("{} for each pod of {} on {}", kubectl.extend("delete", "pod", "POD"), name, Command(*nodes))


def list_drop_in_commands(file: DropIn) -> Iterator[Hint]:
    yield Prose("write {}", file.path)
    if file.reload:
        yield Command("systemctl", "reload", file.reload)
    if file.restart:
        namespace, _, name = file.restart.partition("/")
        yield Command("kubectl", "-n", namespace, "rollout", "restart", f"daemonset/{name}")


def list_apt_commands(packages: Apt) -> Iterator[Hint]:
    if packages.finish:
        yield join_hints(Command("dpkg", "--configure", "-a"), Command("apt-get", "--fix-broken", "install"))
    if packages.install:
        yield Command("apt-get", "install", *packages.install)
    if packages.reinstall:
        yield Command("apt-get", "install", "--reinstall", *packages.reinstall)
