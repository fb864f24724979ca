"""Xids, the error codes of NVIDIA's driver about a GPU. The table is gpustack/versions/xid.csv."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpustack.config.versions import read_rows

SOURCE = "https://docs.nvidia.com/deploy/xid-errors/index.html"
# Actions by NVIDIA's words.
ACTIONS = {
    "": "NVIDIA publishes no action.",
    "CHECK_MECHANICALS": "Check cables and seat of the board.",
    "CHECK_UVM": "Look for faults of unified memory beside it.",
    "CONTACT_SUPPORT": "Not expected on GPUs of today: collect nvidia-bug-report.sh and ask NVIDIA's support.",
    "IGNORE": "Nothing now.",
    "RESET_GPU": "Drain the node and reset the GPU.",
    "RESTART_APP": "Restart the program. When it comes again, ask NVIDIA's support.",
    "RESTART_BM": "Drain the node and reboot the host.",
    "RESTART_VM": "Restart the virtual machine.",
    "UPDATE_SWFW": "Give host and guest the same version of the driver.",
    "WORKFLOW_NVLINK5_ERR": "Read the sub-code in the kernel's log.",
    "WORKFLOW_NVLINK_ERR": "Drain the node and look at the NVLinks.",
    "WORKFLOW_XID_45": "Act on what came before it.",
    "WORKFLOW_XID_48": "Drain the node, and reset or reboot.",
    "XID_154": "Do what the driver asks for.",
}


@dataclass(frozen=True)
class Xid:
    """Describe an Xid. `name` and `action` are NVIDIA's words; `kind` (application, memory, nvlink, …), `severity` and
    `note` are those of gpustack."""

    code: int
    name: str
    kind: str
    severity: str
    action: str
    note: str


@cache
def load_xids() -> Mapping[int, Xid]:
    return {int(code): Xid(int(code), *columns) for code, *columns in read_rows("xid.csv")}
