"""Operations of host engines: dcgmi's words for each, and the notes that a person reads before the confirmation.

Words: DCGM 4.6.0, dcgmi/CommandLineParser.cpp (ProcessGroupCommandLine and its neighbours). They were never seen live.
"""

import re
from collections.abc import Mapping, Sequence

from gpustack.engines.change import Line, Operation
from gpustack.engines.diagnostic import TIMES, build_options
from gpustack.engines.listings import ALL_GPUS, ECC_MODE, MEMORY_CLOCK, POWER_LIMIT, SM_CLOCK, Group, Listing
from gpustack.engines.policies import build_policy_options, format_policy
from gpustack.errors import InputError
from gpustack.probes.gpu import temporary_changes

# A group and a job end up in a command line of dcgmi; a job has 64 characters at most (ProcessStats.cpp).
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ENDS_WITH_ENGINE = "It is in the memory of the host engine, and gone when its pod or service restarts."
REPLACES = "It replaces the policy of all GPUs of a node."
NOTHING_DONE = "Violations are only reported: DCGM's own action, a reset of the GPU, is deprecated and not offered."
LOAD_NOTE = "It loads these GPUs fully: their power and heat rise to what they can be."
LOAD_PODS_NOTE = (
    "Pods ask for the GPUs, so that only free ones are loaded, and end by themselves. Alerts of heat, power and Xids "
    "of programs are silenced for these nodes meanwhile."
)
BLIND_NOTE = "gpustack does not stop the load when GPUs get too hot; only the GPUs protect themselves."
DIAG_NOTES = {
    1: "It looks at driver, libraries and settings, for seconds, and puts no load on GPUs.",
    2: "It loads memory and PCIe for some 2 minutes.",
    3: "It loads GPUs fully, for some 15 minutes: power and heat of the host rise to what they can be.",
    4: "It loads GPUs fully, for one to two hours: power and heat of the host rise to what they can be.",
}
"""Times are those of dcgmi's own help and of NVIDIA's documentation of the diagnostic."""
HOLD_NOTE = (
    "Pods keep all GPUs of these nodes meanwhile, and alerts of heat, power, missing metrics and Xids of programs are "
    "silenced."
)
PAUSE_NOTE = (
    "While paused, the exporter has no DCGM_FI_PROF_* metrics: their panels are empty and their alerts unknown. That "
    "they are missing is silenced for these nodes until the deadline. Other tools (nsys, ncu) can use the counters."
)
WATCHES = "The watches stay until the host engine restarts: dcgmi cannot end them (ProcessStats.cpp, DisableWatches)."
RESET_NEEDED = "ECC is pending until the GPU is reset or the host restarts; DCGM resets none (DcgmConfigManager.cpp)."
# NVML, nvmlDeviceSetPowerManagementLimit and nvmlDeviceSetApplicationsClocks (DCGM 4.6.0, sdk/nvidia/nvml/dcgm_nvml.h).
LASTS = "It stays until it is set again; a reboot, or a driver that is loaded anew, ends it, the host engine does not."
ENDS_EARLIER = "A reboot, or a driver that is loaded anew, ends it earlier; the host engine does not."
RESET_CLOCKS = "0,0"
"""The GPU's own clocks (CommandLineParser.cpp passes it on, DcgmConfigManager.cpp, HelperSetPerfState)."""
CLOCKS_NOTE = "Application clocks are not offered by every GPU: look at what is in force afterwards."


def require_name(text: str) -> str:
    """Require a name of a group or job. Raise InputError for another text."""
    if not NAME.fullmatch(text):
        reason = "A name has letters, digits, '.', '_' and '-', at most 64."
        raise InputError("gpu-bad-name", f"{text!r} is no name of a group or job.", reason)
    return text


def create_group(name: str, gpus: Sequence[str]) -> Operation:
    if bad_indices := [gpu for gpu in gpus if not gpu.isdecimal()]:
        message = f"GPUs of a group are named by their indices, such as 0,1, not {', '.join(map(repr, bad_indices))}."
        raise InputError("gpu-bad-name", message, "DCGM counts the GPUs of each node from 0.")
    members = ("--add", ",".join(gpus)) if gpus else ("--default",)
    return Operation(
        f"create group {name}", (("group", "--create", require_name(name), *members),), (ENDS_WITH_ENGINE,)
    )


def delete_group(name: str, listing: Listing) -> Operation:
    """Build the deletion of a group, whose number differs in each engine. Raise InputError where no engine has it, or
    it is DCGM's own."""
    ids = [(row.node, row.id) for row in listing.rows if isinstance(row, Group) and row.name == name]
    if not ids or name.startswith("DCGM_ALL_"):
        reason = f"{ALL_GPUS} and its like are DCGM's own." if ids else "No host engine has a group of that name."
        raise InputError("gpu-bad-name", f"The group {name} cannot be deleted.", reason)
    by_node = dict[str, tuple[Line, ...]]()
    for node, id in ids:
        by_node[node] = (*by_node.get(node, ()), ("group", "--delete", str(id)))
    return Operation(f"delete group {name}", by_node=by_node)


def set_policy(limits: Mapping[str, bool | int | None], keep: float = 0.0) -> Operation:
    """Build a policy. `limits` are by the names of policies.py; `keep` is in seconds, 0 for a policy that stays. Raise
    InputError where there is nothing to watch for."""
    policy = format_policy(limits)
    if not policy:
        raise InputError("gpu-nothing-named", "No violation to watch for is named.")
    notes = (f"{REPLACES} {NOTHING_DONE}", ENDS_WITH_ENGINE)
    return Operation(
        "set policy", (build_policy_options(policy),), notes, kinds={temporary_changes.POLICY: policy}, keep=keep
    )


def clear_policy() -> Operation:
    return Operation("clear policy", (build_policy_options(""),), (REPLACES,), kinds={temporary_changes.POLICY: ""})


def set_config(power: int | None, clocks: str, *, ecc: bool | None, keep: float = 0.0) -> Operation:
    """Build a change of power limit, clocks (`MEMORY,SM` in MHz) and ECC. `keep` is in seconds, 0 for settings
    that stay. Raise InputError where there is nothing to set, or a value cannot be reverted."""
    clocks = ",".join(str(int(clock)) for clock in clocks.split(",")) if clocks else ""
    if keep and (ecc is not None or clocks == RESET_CLOCKS):
        subject = "ECC" if ecc is not None else f"Clocks of {RESET_CLOCKS}"
        reason = "ECC changes with a reset of the GPU or a reboot, and so it would change back."
        reason = reason if ecc is not None else "These are the GPU's own clocks: what they are is not known before."
        raise InputError("gpu-no-deadline", f"{subject} cannot be set for a time.", reason)
    memory, _, sm = clocks.partition(",") if clocks != RESET_CLOCKS else ("", "", "")
    settings = {POWER_LIMIT: str(power or ""), MEMORY_CLOCK: memory, SM_CLOCK: sm}
    kinds = {temporary_changes.POWER_LIMIT: str(power or ""), temporary_changes.CLOCKS: clocks}
    words = ["--powerlimit", str(power)] if power else []
    words += ["--appclocks", clocks] if clocks else []
    words += ["--eccmode", str(int(ecc))] if ecc is not None else []
    if not words:
        raise InputError("gpu-nothing-named", "Nothing to set is named.")
    notes = ["On all GPUs of a node, also those in use."]
    notes += [ENDS_EARLIER if keep else LASTS] if power or clocks else []
    notes += [CLOCKS_NOTE] if clocks else []
    notes += [RESET_NEEDED] if ecc is not None else []
    expected = {setting: value for setting, value in settings.items() if value}
    expected |= {ECC_MODE: ""} if ecc is not None else {}
    kinds = {kind: value for kind, value in kinds.items() if value}
    line = ("config", "--set", *words)
    return Operation("set configuration", (line,), tuple(notes), kinds=kinds, keep=keep, expected_settings=expected)


def pause_profiling(seconds: float) -> Operation:
    line = ("profile", "--pause")
    return Operation("pause profiling", (line,), (PAUSE_NOTE,), kinds={temporary_changes.PROFILING: ""}, keep=seconds)


def resume_profiling() -> Operation:
    return Operation("resume profiling", (("profile", "--resume"),), kinds={temporary_changes.PROFILING: ""})


def start_job(job: str, interval: float, keep: float) -> Operation:
    """Build the start of a job's statistics. `interval` is that of the measurements and `keep` the time for which they
    are kept, in seconds."""
    watch = ("stats", "--enable", "--update-interval", str(round(interval * 1000)), "--max-keep-age", str(round(keep)))
    lines = (watch, ("stats", "--jstart", require_name(job)))
    return Operation(f"start statistics of {job}", lines, (WATCHES, ENDS_WITH_ENGINE))


def stop_job(job: str) -> Operation:
    return Operation(f"stop statistics of {job}", (("stats", "--jstop", require_name(job)),))


def diagnose(level: int) -> Operation:
    notes = (DIAG_NOTES[level], HOLD_NOTE) if level > 1 else (DIAG_NOTES[level],)
    return Operation(
        f"run diagnostic level {level}", (build_options(level),), notes, limit=TIMES[level], stoppable=True
    )


def load_gpus(load_name: str, pods: str, seconds: float, *, blind: bool) -> Operation:
    """Build a load. `pods` names the program that each pod runs, `seconds` is the limit of the whole run."""
    notes = (LOAD_NOTE, LOAD_PODS_NOTE, *((BLIND_NOTE,) if blind else ()))
    return Operation(
        f"load GPUs: {load_name}", notes=notes, pods=pods, kinds={temporary_changes.LOAD: ""}, keep=seconds
    )
