"""GPUs for containers on a host without an operator: NVIDIA's container toolkit, and the files of containerd and CDI.

CDI, the Container Device Interface, describes devices in files
(https://github.com/cncf-tags/container-device-interface).
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.gpu.packages import NO_GPU, ONLY_WITH_GPU, parse_gpu_repository
from gpustack.probes.packages.software import build_repository_script
from gpustack.probes.sections import index_sections, split_sections

DROP_IN = "/etc/containerd/conf.d/gpustack-nvidia.toml"
# A GPU as nvidia-ctk names it beside its index; parts of one (MIG) begin otherwise.
DEVICE = re.compile(r"GPU-[0-9a-f-]{36}")


@dataclass(frozen=True)
class RuntimeFiles:
    """Hold the files of the runtime.

    `drop_in` is gpustack's file for containerd, parsed, empty where there is none; `parse_error` says why it is not
    TOML. `other_files` are further files of containerd's that define a runtime `nvidia`. `devices` are the GPUs that
    the toolkit's file for CDI names, by UUID.
    """

    drop_in: Mapping[str, Any]
    parse_error: str
    other_files: tuple[str, ...]
    devices: tuple[str, ...]


def parse_runtime_files(answer: Answer) -> RuntimeFiles:
    """Parse the files of the runtime. Raise ValueError or KeyError where the answer has another shape."""
    if answer.stdout == f"{NO_GPU}\n":
        return RuntimeFiles({}, "", (), ())
    parts = index_sections(split_sections(answer.stdout))
    devices = tuple(line for line in parts["devices"] if line)
    if unknown_lines := [line for line in devices if not DEVICE.fullmatch(line)]:
        raise ValueError(unknown_lines)
    drop_in, parse_error = {}, ""
    try:
        drop_in = tomllib.loads("\n".join(parts["drop-in"]))
    except tomllib.TOMLDecodeError as error:
        parse_error = str(error)
    return RuntimeFiles(
        drop_in, parse_error, tuple(line for line in parts["others"] if line), tuple(sorted(set(devices)))
    )


TOOLKIT_REPOSITORY = Probe(
    "gpu.toolkit-repository",
    Lines(ONLY_WITH_GPU + build_repository_script("toolkit")),
    parse_gpu_repository("toolkit"),
    manual_command="cat /etc/apt/sources.list.d/*.sources",
)
RUNTIME_FILES = Probe(
    "gpu.runtime-files",
    Lines(
        ONLY_WITH_GPU
        + rf"""echo '== drop-in'
[ ! -e {DROP_IN} ] || {{ cat {DROP_IN}; echo; }}
echo '== others'
set --
for file in /etc/containerd/config.toml /etc/containerd/conf.d/*.toml; do
  [ "$file" = {DROP_IN} ] || [ ! -e "$file" ] || set -- "$@" "$file"
done
[ $# -eq 0 ] || grep -lE "^[[:space:]]*\[.*runtimes\.[\"']?nvidia[\"']?[].]" "$@"
echo '== devices'
for file in /etc/cdi/nvidia.yaml /var/run/cdi/nvidia.yaml; do
  [ ! -e "$file" ] || sed -n 's/^ *-\{{0,1\}} *name: "\{{0,1\}}\(GPU-[^"]*\)"\{{0,1\}}$/\1/p' "$file"
done"""
    ),
    parse_runtime_files,
    manual_command="cat /etc/containerd/conf.d/*.toml; ls /etc/cdi /var/run/cdi",
)
