"""What the GPU stack leaves on a host as it comes up: the operator's word of each part, the device plugin's sockets,
switches between GPUs, and CDI's descriptions.

Marks in /run/nvidia/validations: NVIDIA/gpu-operator cmd/nvidia-validator. Sockets: the kubelet makes its own anew when
it starts, and a plugin its own when it registers (https://kubernetes.io/docs/concepts/extend-kubernetes/device-plugins).
"""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
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
    Lines(
        ONLY_WITH_GPU
        + r"""echo '== marks'
[ ! -d /run/nvidia/validations ] || ls /run/nvidia/validations
echo '== sockets'
for socket in /var/lib/kubelet/device-plugins/kubelet.sock /var/lib/kubelet/device-plugins/nvidia*.sock; do
  [ ! -S "$socket" ] || echo "${socket##*/} $(stat -c %Y "$socket")"
done
echo '== fabric'
switches=0
for device in /sys/bus/pci/devices/*; do
  read -r vendor 2>/dev/null <"$device/vendor" || continue
  read -r class <"$device/class" || continue
  case $vendor$class in 0x10de0x0680*) switches=$((switches + 1)) ;; esac
done
echo "$switches"
unit=$(systemctl show -p LoadState,ActiveState nvidia-fabricmanager.service) || exit
case $unit in
  *LoadState=not-found*) echo none ;;
  *ActiveState=active*) echo active ;;
  *ActiveState=failed*) echo failed ;;
  *) echo inactive ;;
esac
echo '== devices'
for file in /etc/cdi/* /var/run/cdi/*; do
  [ ! -f "$file" ] || grep -oE '"?kind"?: *"?[a-z0-9.-]+/[A-Za-z0-9_-]+' "$file" | sed 's/.*[ ":]//'
done
exit 0"""
    ),
    plugin_files,
    like="systemctl status nvidia-fabricmanager; ls /run/nvidia/validations",
)
WATCHERS = Probe(
    "gpu.inotify",
    Lines(
        ONLY_WITH_GPU
        + r"""limit=$(cat /proc/sys/fs/inotify/max_user_instances) || exit
used=$(find /proc/[0-9]*/fd -lname anon_inode:inotify -user root 2>/dev/null | wc -l)
echo "$used $limit" """
    ),
    watchers,
    like="sysctl fs.inotify.max_user_instances",
)
