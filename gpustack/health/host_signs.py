"""The signs of one GPU that hosts and the API have: Xids in the kernel log, the recovery action by nvidia-smi, the
kubelet's word on its device, and the record of the last proof."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gpustack.health.gpu_signs import describe_xid, limit_xid
from gpustack.health.sign import Sign, Verdict, find_rank
from gpustack.metrics.gpus import Gpu
from gpustack.vocabulary.xids import load_xids

if TYPE_CHECKING:
    from gpustack.probes.gpu.logs import XidLine
    from gpustack.probes.kubernetes.device_health import DeviceHealth
    from gpustack.probes.kubernetes.node_records import ProvenGpus

PROGRAM_SECONDS, LOG_SECONDS = 300, 86_400
"""The ages after which an Xid in the kernel log says nothing more: that of a program, and any other one."""
GPU_PREFIX = "GPU-"
NO_ACTION = "None"
RECOVERY_VERDICTS: Mapping[str, Verdict] = {
    "Reset": "reset", "Reboot": "reboot", "Drain P2P": "reset", "Drain and Reset": "reset",
}  # fmt: skip
"""Verdicts by the recovery action as nvidia-smi words it. Any other word is to be watched."""


def shorten_bus(bus: str) -> str:
    """Shorten DCGM's PCI address, `00000000:3B:00.0`, to the kernel log's, `0000:3b:00`."""
    domain, _, rest = bus.lower().partition(":")
    return f"{domain[-4:]}:{rest.partition('.')[0]}" if rest else ""


def list_log_signs(
    lines: "Iterable[XidLine]",
    known_xids: Collection[int],
    shared_xids: Collection[int],
    *,
    driver_asks_nothing: bool = False,
) -> list[Sign]:
    """List what Xids in the kernel log are signs of. The exporter has its Xids from the same driver, so these are no
    second source beside them, and those of `known_xids` add nothing. An Xid without a time may be of any age. The log
    keeps an Xid after the reset that resolved it: it is to be watched where the driver asks for nothing any more."""
    codes = dict.fromkeys(line.code for line in lines if is_recent(line))
    signs = [describe_xid(code) for code in codes if code not in known_xids]
    faults = [replace(sign, message=f"{sign.message}, in the kernel log") for sign in signs if sign.verdict != "ok"]
    faults = [limit_xid(sign, is_shared=True) if sign.xid in shared_xids else sign for sign in faults]
    return [limit_resolved(sign) if driver_asks_nothing else sign for sign in faults]


def limit_resolved(sign: Sign) -> Sign:
    if find_rank(sign.verdict) <= find_rank("unknown"):
        return sign
    return replace(sign, verdict="watch", message=f"{sign.message}; the driver asks for nothing now")


def is_recent(line: "XidLine") -> bool:
    xid = load_xids().get(line.code)
    limit = PROGRAM_SECONDS if xid is not None and xid.action == "RESTART_APP" else LOG_SECONDS
    return line.age is not None and line.age <= limit


def find_recovery_signs(gpu: Gpu, actions: Mapping[str, str]) -> Iterator[Sign]:
    """Find what the driver asks for by nvidia-smi. `actions` are those of the node by short PCI address. DCGM may not
    have read its field of the same since the driver set it (NVIDIA/DCGM#263), and both are one source."""
    action = actions.get(shorten_bus(gpu.bus), NO_ACTION)
    if action != NO_ACTION:
        verdict = RECOVERY_VERDICTS.get(action, "watch")
        yield Sign("driver", verdict, f"the driver asks by nvidia-smi: {action}")


def describe_device(device: "DeviceHealth") -> Sign:
    """Describe what the kubelet says of a device, which is what the device plugin told it last."""
    if device.health == "Healthy":
        return Sign("kubelet", "ok")
    detail = f": {device.message}" if device.message else ""
    if device.health == "Unhealthy":
        return Sign("kubelet", "reset", f"the kubelet says that its device is unhealthy{detail}")
    return Sign("kubelet", "unknown", f"the kubelet does not know the health of its device{detail}")


def find_proof_signs(gpu: Gpu, proven_gpus: "ProvenGpus | None") -> Iterator[Sign]:
    """Find whether a GPU is another one than those of the last proof of its node. MIG instances are not recorded."""
    if proven_gpus and gpu.uuid.startswith(GPU_PREFIX) and proven_gpus.find_unproven([gpu.uuid]):
        yield Sign("proof", "watch", f"it is not among the GPUs of the last proof, at {proven_gpus.moment}")


def select_lost_lines(
    gpu: Gpu, silent_gpus: Collection[str], present_gpus: Iterable[Gpu], lines: "Iterable[XidLine]"
) -> "list[XidLine]":
    """Select the lines about a GPU that sends nothing: by its address, or, where that is unknown, those of addresses
    that no other GPU has. The latter need it to be the only silent one, and the addresses of all others."""
    if gpu.bus:
        return [line for line in lines if line.address == shorten_bus(gpu.bus)]
    addresses = [shorten_bus(present.bus) for present in present_gpus]
    if len(silent_gpus) > 1 or not all(addresses):
        return []
    return [line for line in lines if line.address not in addresses]
