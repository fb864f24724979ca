"""The processes of a host that have one of NVIDIA's device files open, in pods and outside of them.

While there is one, the driver cannot be unloaded. The pod is that of the cgroup, whose name has the uid of the pod, by
the systemd driver with underscores (kubernetes/kubernetes pkg/kubelet/cm/pod_container_manager_linux.go).
"""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.parsing import parse_integer


@dataclass(frozen=True)
class DeviceHolder:
    """Describe a process. `pod_uid` is empty outside of pods; `command` is its program and a first word."""

    pid: int
    user: str
    pod_uid: str
    command: str


def parse_device_holders(answer: Answer) -> tuple[DeviceHolder, ...]:
    """Parse the processes. Raise ValueError for a line of another shape."""
    return tuple(map(parse_device_holder, answer.stdout.splitlines()))


def parse_device_holder(line: str) -> DeviceHolder:
    pid, user, pod_uid, command = line.split("\t")
    return DeviceHolder(parse_integer(pid), user, "" if pod_uid == "-" else pod_uid, command)


DEVICE_HOLDERS = Probe(
    "gpu.device-holders",
    Lines(read_script(__file__, "device_holders.sh")),
    parse_device_holders,
    limit=15,
    manual_command="find /proc/[0-9]*/fd -lname '/dev/nvidia*'",
)
