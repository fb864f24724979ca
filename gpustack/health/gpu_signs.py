"""The signs that the readings of one GPU are: what the driver asks for, its Xids, and DCGM's health watches."""

from collections.abc import Collection, Iterable, Iterator
from typing import cast

from gpustack.gpus.device import XID, is_serious
from gpustack.gpus.fleet import ACTION, FAILURE_FLAGS, PENDING_FLAGS, describe_action
from gpustack.health.sign import Sign, Source, Verdict
from gpustack.metrics.readings import Reading
from gpustack.vocabulary.health_codes import FAILURE_VALUE, PASS_VALUE, load_health_codes
from gpustack.vocabulary.xids import load_xids

STATUS = "DCGM_EXP_GPU_HEALTH_STATUS"
RECENT_XIDS = "DCGM_EXP_XID_ERRORS_COUNT"
FIELDS = (ACTION, *FAILURE_FLAGS, *PENDING_FLAGS, XID, RECENT_XIDS, STATUS)
ACTION_VERDICTS: dict[int, Verdict] = {
    1: "reset", 2: "reboot", 3: "reset", 4: "reset", 5: "watch", 6: "reset", 7: "reboot",
}  # fmt: skip
"""Verdicts by the driver's recovery action. After 3, a drain of peer-to-peer traffic, the driver names another one
(NVIDIA, GPU memory error management, "Recovery action flag")."""
XID_VERDICTS: dict[str, Verdict] = {
    "RESET_GPU": "reset",
    "RESTART_APP": "restart-app",
    "RESTART_BM": "reboot",
    "RESTART_VM": "reboot",
    "WORKFLOW_NVLINK_ERR": "reset",
    "WORKFLOW_XID_48": "reset",
}
"""Verdicts on an Xid by NVIDIA's word for its action. Any other one is to be watched."""


def list_signs(readings: Iterable[Reading], *, has_instances: bool, shared_xids: Collection[int]) -> list[Sign]:
    """List the signs of a GPU. `shared_xids` are codes that several nodes had at once: neither they nor a health watch
    that repeats an Xid ask for more than to watch. Nor do Xids with MIG instances, which may be of another GPU."""
    signs, has_shared_xid = [], False
    for reading in readings:
        name = reading.field.name
        has_shared_xid |= any(code in shared_xids for code in list_xids(reading))
        if name in (ACTION, *FAILURE_FLAGS, *PENDING_FLAGS):
            signs.append(read_driver(name, int(reading.value)))
        elif name == XID:
            signs.append(read_last_xid(int(reading.value)))
        elif name == RECENT_XIDS:
            signs.extend(read_recent_xid(reading))
        elif name == STATUS:
            signs.append(read_watch(reading))
    return [
        limit_xid(sign, is_shared=is_shared) if has_instances or is_shared else sign
        for sign in signs
        for is_shared in [sign.xid in shared_xids or (sign.xid is None and has_shared_xid)]
    ]


def list_xids(reading: Reading) -> list[int]:
    """List the codes that a reading has: the last Xid, or one that is counted and occurred."""
    if reading.field.name == XID:
        return [int(reading.value)]
    is_counted = reading.field.name == RECENT_XIDS and reading.value > 0
    return [int(part) for part in reading.part if part.isdecimal()] if is_counted else []


def read_driver(name: str, value: int) -> Sign:
    """Read what the driver says by its recovery action, or by a flag of its memory."""
    if not value:
        return Sign("driver", "ok")
    if name == ACTION:
        return Sign("driver", ACTION_VERDICTS.get(value, "watch"), describe_action(value))
    return Sign("driver", "replace" if name in FAILURE_FLAGS else "reset", {**FAILURE_FLAGS, **PENDING_FLAGS}[name])


def read_last_xid(code: int) -> Sign:
    """Read the last Xid since the exporter or the driver was started. A code that is not serious may be weeks old."""
    return describe_xid(code) if is_serious(code) else Sign("xid", "ok")


def read_recent_xid(reading: Reading) -> Iterator[Sign]:
    """Read the count of an Xid within the last minutes. A count without a code says nothing."""
    code = next((int(part) for part in reading.part if part.isdecimal()), None)
    if code:
        yield describe_xid(code) if reading.value > 0 else Sign("xid", "ok")


def describe_xid(code: int) -> Sign:
    xid = load_xids().get(code)
    if xid is None:
        return Sign("xid", "watch", f"Xid {code}, which is not known here", code)
    verdict = XID_VERDICTS.get(xid.action, "watch")
    if xid.severity == "info" and verdict != "restart-app":
        return Sign("xid", "ok")
    return Sign("xid", verdict, f"Xid {code}: {xid.name}", code)


def read_watch(reading: Reading) -> Sign:
    """Read a health watch. A warning asks for nothing more than to watch, whatever its code. A code that DCGM takes
    from the driver or from an Xid is no second source."""
    if reading.value <= PASS_VALUE:
        return Sign("dcgm", "ok")
    code = next((part for part in reading.part if part.startswith("DCGM_FR_")), "")
    entry = load_health_codes().get(code)
    if entry is None:
        return Sign("dcgm", "watch", f"a health watch of DCGM: {code or 'no code'}, which is not known here")
    if not entry.verdict:
        return Sign("dcgm", "ok")
    if reading.value < FAILURE_VALUE:
        return Sign(cast(Source, entry.origin), "watch", f"a health watch of DCGM warns: {code}")
    return Sign(cast(Source, entry.origin), cast(Verdict, entry.verdict), f"a health watch of DCGM fails: {code}")


def limit_xid(sign: Sign, *, is_shared: bool) -> Sign:
    """Limit a sign of an Xid to be watched, with the reason. Other signs stay."""
    if sign.source != "xid" or sign.verdict == "ok":
        return sign
    reason = "several nodes had it at once" if is_shared else "it may be of another GPU of the node"
    return Sign("xid", "watch", f"{sign.message}; {reason}", sign.xid)
