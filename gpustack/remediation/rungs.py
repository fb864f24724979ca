"""The rungs of the ladder, in the words of its commands, output and records."""

from typing import Literal

from gpustack.health.sign import Verdict

ActId = Literal["cordon", "drain", "reset", "device-plugin", "reboot"]
RungId = Literal["cordon", "drain", "reset", "device-plugin", "reboot", "hand-over", "diag", "prove", "uncordon"]

ACTS: tuple[ActId, ...] = ("cordon", "drain", "reset", "device-plugin", "reboot")
"""The rungs that gpustack takes. A person takes the others by their own commands."""
RUNGS_BY_VERDICT: dict[Verdict, tuple[RungId, ...]] = {
    "reset": ("cordon", "drain", "reset", "reboot", "hand-over"),
    "reboot": ("cordon", "drain", "reboot", "hand-over"),
    "replace": ("cordon", "drain", "hand-over"),
}
"""The rungs by the verdict that asks for them. A reset that does not help is followed by a reboot."""
RETURN: tuple[RungId, ...] = ("diag", "prove", "uncordon")
"""The only way back to service."""
NEEDS: dict[RungId, str] = {
    "cordon": "nothing ends; new pods go elsewhere",
    "drain": "budgets that allow each eviction; a name for each pod that nobody makes anew",
    "reset": "a drained node, and no process on /dev/nvidia*; pods of DaemonSets leave meanwhile",
    "device-plugin": "a GPU that is well again; GPU pods go on",
    "reboot": "a drained node; its host reboots, and the node stays cordoned",
    "hand-over": "evidence for the vendor",
    "diag": "the diagnostic of DCGM passes",
    "prove": "every GPU of the node is proven",
    "uncordon": "both have passed; then the node takes pods",
}
