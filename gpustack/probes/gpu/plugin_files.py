"""What the GPU stack leaves on a host as it comes up: the operator's word of each part, the device plugin's sockets,
switches between GPUs, and CDI's descriptions.

Marks in /run/nvidia/validations: NVIDIA/gpu-operator cmd/nvidia-validator. Sockets: the kubelet makes its own anew when
it starts, and a plugin its own when it registers (https://kubernetes.io/docs/concepts/extend-kubernetes/device-plugins).
"""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.gpu.packages import NO_GPU, ONLY_WITH_GPU
from gpustack.probes.parsing import number
from gpustack.probes.sections import named, sections

MARKS = ("driver-ready", "toolkit-ready", "plugin-ready", "cuda-ready")
UNIT = ("none", "active", "inactive", "failed")


@dataclass(frozen=True)
class PluginFiles:
    """`marks` are those that are there. Times are seconds of the epoch: `kubelet` when the kubelet's socket was made, 0
    without one, `plugin` when the newest of NVIDIA's was. `switches` counts NVSwitches, `fabric_manager` is the state
    of its unit. `devices` are kinds (vendor.com/class) that CDI knows."""

    marks: tuple[str, ...]
    kubelet: int
    plugin: int
    switches: int
    fabric_manager: str
    devices: tuple[str, ...]


@dataclass(frozen=True)
class Watchers:
    """inotify instances that root has, and how many a user may have (inotify(7)). The device plugin needs one."""

    used: int
    limit: int


def watchers(answer: Answer) -> Watchers | None:
    """None on a host without a GPU."""
    if answer.out == f"{NO_GPU}\n":
        return None
    used, limit = answer.out.split()
    return Watchers(number(used), number(limit))


def plugin_files(answer: Answer) -> PluginFiles | None:
    """None on a host without a GPU. Raises ValueError or KeyError for another shape."""
    if answer.out == f"{NO_GPU}\n":
        return None
    parts = named(sections(answer.out))
    marks = tuple(line for line in parts["marks"] if line in MARKS)
    times = [line.split(" ") for line in parts["sockets"]]
    made = {kind: max([number(time) for name, time in times if (name == "kubelet.sock") == own] or [0])
            for kind, own in (("kubelet", True), ("plugin", False))}  # fmt: skip
    switches, unit = parts["fabric"]
    if unit not in UNIT:
        raise ValueError(unit[:40])
    kinds = tuple(sorted({line for line in parts["devices"] if line}))
    return PluginFiles(marks, made["kubelet"], made["plugin"], number(switches), unit, kinds)


PLUGIN_FILES = Probe(
    "gpu.plugin-files",
    Lines(ONLY_WITH_GPU + read_script(__file__, "plugin_files.sh")),
    plugin_files,
    like="systemctl status nvidia-fabricmanager; ls /run/nvidia/validations",
)
WATCHERS = Probe(
    "gpu.inotify",
    Lines(
        ONLY_WITH_GPU
        + r"""limit=$(cat /proc/sys/fs/inotify/max_user_instances) || exit
used=$(find /proc/[0-9]*/fd -lname anon_inode:inotify -user root -printf x 2>/dev/null)
echo "${#used} $limit" """
    ),
    watchers,
    like="sysctl fs.inotify.max_user_instances",
)
