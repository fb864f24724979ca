"""The reset of GPUs on their host, by nvidia-smi while nothing has them open.

A taint makes the pods of DaemonSets that have GPUs open leave, and come back anew: the exporter without the Xids of
before, the device plugin with all GPUs. Pods that tolerate every taint stay. No real GPU was ever reset by this.
nvidia-smi(1) on --gpu-reset: it needs root, and no process may use the GPUs; without -i it resets all of them, as those
behind NVSwitches may need it.
"""

import shlex
from collections.abc import Collection

from gpustack.ask.api import ADMIN
from gpustack.ask.script_file import read_script
from gpustack.probes.standalone.units import ENGINE, GPU_EXPORTER

TAINT = "gpustack.io/reset"
RESET_LIMIT = 240
"""Seconds for the reset with its stops, on the host."""
PRESENCE = """
command -v nvidia-smi >/dev/null || { echo 'nvidia-smi is not on the host' >&2; exit 1; }
uuid_list=$(nvidia-smi --query-gpu=uuid --format=csv,noheader) ||
  { echo "nvidia-smi lists no GPU: $uuid_list" >&2; exit 1; }
for uuid in $uuids; do
  case $uuid_list in *"$uuid"*) ;; *) echo "the host has no GPU $uuid" >&2; exit 1 ;; esac
done
"""
UNITS = ("nvidia-persistenced", GPU_EXPORTER, ENGINE)
FABRIC_UNIT = "nvidia-fabricmanager"
UNTAINT = """
reply=$(kubectl {options} {taint}- 2>&1) && exit
case $reply in *'not found'*) ;; *) echo "$reply" >&2; exit 1 ;; esac
"""


def build_taint_command(node: str) -> str:
    """Build the command that makes the pods of a node leave which do not tolerate every taint."""
    return f"kubectl {build_options(node)} {TAINT}=:NoExecute --overwrite"


def build_untaint_script(node: str) -> str:
    """Build the script that lets the pods come again. It succeeds also where the taint is gone already."""
    return UNTAINT.format(options=build_options(node), taint=TAINT)


def build_presence_script(uuids: Collection[str]) -> str:
    """Build the script that fails where the host does not have these GPUs: it may be another machine than before."""
    return f"uuids={shlex.quote(' '.join(sorted(uuids)))}{PRESENCE}"


def build_options(node: str) -> str:
    return f"{ADMIN} --request-timeout=20s taint node {shlex.quote(node)}"


def build_reset_script(uuids: Collection[str], *, whole_baseboard: bool, rounds: int) -> str:
    """Build the script that resets GPUs, all of the host where `whole_baseboard` is set, and prints the UUIDs of all
    that answer afterwards. It waits `rounds` times 2 s for processes to leave."""
    selection = "" if whole_baseboard else f"-i {','.join(sorted(uuids))}"
    words = {
        "units": " ".join((*UNITS, FABRIC_UNIT) if whole_baseboard else UNITS),
        "selection": selection,
        "rounds": str(rounds),
    }
    lines = [f"{name}={shlex.quote(word)}" for name, word in words.items()]
    return "\n".join([*lines, read_script(__file__, "reset.sh")])
