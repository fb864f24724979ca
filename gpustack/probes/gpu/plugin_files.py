"""Files that the GPU stack writes on a host as it comes up: the operator's mark of each part, the device plugin's
sockets, switches between GPUs, and CDI's descriptions.

Marks in /run/nvidia/validations: NVIDIA/gpu-operator cmd/nvidia-validator. Sockets: the kubelet makes its own anew when
it starts, and a plugin its own when it registers
(https://kubernetes.io/docs/concepts/extend-kubernetes/device-plugins).
"""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.gpu.packages import NO_GPU, ONLY_WITH_GPU
from gpustack.probes.parsing import parse_integer
from gpustack.probes.sections import index_sections, split_sections

MARKS = ("driver-ready", "toolkit-ready", "plugin-ready", "cuda-ready")
UNIT = ("none", "active", "inactive", "failed")


@dataclass(frozen=True)
class PluginFiles:
    """Hold the files of the GPU stack.

    `marks` are those that exist. Times are seconds of the epoch: `kubelet` when the kubelet's socket was made, 0
    without one, `plugin` when the newest of NVIDIA's was. `switches` counts NVSwitches, `fabric_manager` is the state
    of its unit. `devices` are kinds (vendor.com/class) that CDI knows.
    """

    marks: tuple[str, ...]
    kubelet: int
    plugin: int
    switches: int
    fabric_manager: str
    devices: tuple[str, ...]


@dataclass(frozen=True)
class Watchers:
    """Count the inotify instances that root uses, and the limit of a user (inotify(7)). The device plugin needs one."""

    used_instances: int
    limit: int


def parse_watchers(answer: Answer) -> Watchers | None:
    """Parse the inotify instances, or None on a host without a GPU."""
    if answer.stdout == f"{NO_GPU}\n":
        return None
    used_instances, limit = answer.stdout.split()
    return Watchers(parse_integer(used_instances), parse_integer(limit))


def parse_plugin_files(answer: Answer) -> PluginFiles | None:
    """Parse the files of the GPU stack, or None on a host without a GPU. Raise ValueError or KeyError where the answer
    has another shape."""
    if answer.stdout == f"{NO_GPU}\n":
        return None
    parts = index_sections(split_sections(answer.stdout))
    marks = tuple(line for line in parts["marks"] if line in MARKS)
    times = [line.split(" ") for line in parts["sockets"]]
    newest_times = {
        kind: max([parse_integer(time) for name, time in times if (name == "kubelet.sock") == is_own] or [0])
        for kind, is_own in (("kubelet", True), ("plugin", False))
    }
    switches, unit = parts["fabric"]
    if unit not in UNIT:
        raise ValueError(unit[:40])
    kinds = tuple(sorted({line for line in parts["devices"] if line}))
    return PluginFiles(marks, newest_times["kubelet"], newest_times["plugin"], parse_integer(switches), unit, kinds)


PLUGIN_FILES = Probe(
    "gpu.plugin-files",
    Lines(ONLY_WITH_GPU + read_script(__file__, "plugin_files.sh")),
    parse_plugin_files,
    manual_command="systemctl status nvidia-fabricmanager; ls /run/nvidia/validations",
)
WATCHERS = Probe(
    "gpu.inotify",
    Lines(
        ONLY_WITH_GPU
        + r"""limit=$(cat /proc/sys/fs/inotify/max_user_instances) || exit
instances=$(find /proc/[0-9]*/fd -lname anon_inode:inotify -user root -printf x 2>/dev/null)
echo "${#instances} $limit" """
    ),
    parse_watchers,
    manual_command="sysctl fs.inotify.max_user_instances",
)
