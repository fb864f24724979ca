"""A remedy in words: the equivalent commands, and what it interrupts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpustack.doctor.entry import Apt, DropIn, Remedy, Rollout

PODS_RUN_ON = "pods run on"
RESTARTS = {
    "containerd": f"containerd restarts; {PODS_RUN_ON}, and none starts for some seconds",
    "kubelet": f"the kubelet starts; {PODS_RUN_ON}",
}


def describe_interruption(remedy: Remedy) -> str:
    """Empty for nothing."""
    if remedy.unit:
        return RESTARTS.get(remedy.unit.name, "")
    if remedy.rollout:
        return f"pods of {remedy.rollout.namespace}/{remedy.rollout.name} are made anew"
    if remedy.drop_in and remedy.drop_in.restart:
        return f"pods of {remedy.drop_in.restart} are made anew"
    return ""


def manual_commands(remedy: Remedy, variables: Mapping[str, Any]) -> Iterator[str]:
    """Equivalent commands. `variables` are those of the playbook."""
    yield from (f"sysctl -w {key}={value}" for key, value in remedy.sysctl.items())
    if unit := remedy.unit:
        if unit.enabled:
            yield f"systemctl enable {unit.name}"
        yield f"systemctl {unit.state.removesuffix('ed')} {unit.name}"
    if remedy.rollout:
        yield restart_command(remedy.rollout, variables["nodes"])
    if remedy.drop_in:
        yield from drop_in_commands(remedy.drop_in)
    if remedy.apt:
        yield from apt_commands(remedy.apt)


def edit_commands(files: Iterable[str]) -> Iterator[str]:
    """For foreign files below /etc/containerd, which `install` would leave as they are."""
    yield from (f"sudoedit /etc/containerd/{file}" for file in sorted(files))
    yield "systemctl restart containerd"


def restart_command(workload: Rollout, nodes: Sequence[str]) -> str:
    if not nodes:
        return f"kubectl -n {workload.namespace} rollout restart {workload.kind}/{workload.name}"
    return f"kubectl -n {workload.namespace} delete pod …    # of {workload.kind}/{workload.name} on {', '.join(nodes)}"


def drop_in_commands(file: DropIn) -> Iterator[str]:
    yield f"write {file.path}"
    if file.reload:
        yield f"systemctl reload {file.reload}"
    if file.restart:
        namespace, _, name = file.restart.partition("/")
        yield f"kubectl -n {namespace} rollout restart daemonset/{name}"


def apt_commands(packages: Apt) -> Iterator[str]:
    if packages.finish:
        yield "dpkg --configure -a; apt-get --fix-broken install"
    if packages.install:
        yield f"apt-get install {' '.join(packages.install)}"
    if packages.reinstall:
        yield f"apt-get install --reinstall {' '.join(packages.reinstall)}"
