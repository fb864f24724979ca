"""What can be done through host engines: dcgmi's words for it, and what a person is to know before the yes.

Words: DCGM 4.6.0, dcgmi/CommandLineParser.cpp (ProcessGroupCommandLine and its neighbours). Never seen live.
"""

import re
from collections.abc import Mapping, Sequence

from gpustack.errors import UsageError
from gpustack.gpus.engines.change import Line, Work
from gpustack.gpus.engines.diagnostic import TIMES, words
from gpustack.gpus.engines.listings import ALL_GPUS, ECC_MODE, MEMORY_CLOCK, POWER_LIMIT, SM_CLOCK, Group, Listing

# A group and a job end up in a command line of dcgmi; a job has 64 characters at most (ProcessStats.cpp).
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ENDS_WITH_ENGINE = "It is in the memory of the host engine, and gone when its pod or service restarts."
REPLACES = "It replaces the policy of all GPUs of a node."
NOTHING_DONE = "Violations are only reported: DCGM's own action, a reset of the GPU, is deprecated and not offered."
DIAG_NOTES = {
    1: "It looks at driver, libraries and settings, for seconds, and puts no load on GPUs.",
    2: "It loads memory and PCIe for some 2 minutes.",
    3: "It loads GPUs fully, for some 15 minutes: power and heat of the host rise to what they can be.",
    4: "It loads GPUs fully, for one to two hours: power and heat of the host rise to what they can be.",
}
"""Times are those of dcgmi's own help and of NVIDIA's documentation of the diagnostic."""
HOLD_NOTE = "Pods keep all GPUs of these nodes meanwhile, and alerts of heat, brakes and Xids of programs are silenced."
PAUSE_NOTE = (
    "While paused, the exporter has no DCGM_FI_PROF_* metrics: their panels are empty and their alerts unknown. Other "
    "tools (nsys, ncu) can use the counters."
)
WATCHES = "The watches stay until the host engine restarts: dcgmi cannot end them (ProcessStats.cpp, DisableWatches)."
RESET_NEEDED = "ECC is pending until the GPU is reset or the host restarts; DCGM resets none (DcgmConfigManager.cpp)."
STAYS = "It stays until it is set again or the driver is loaded anew, also when the host engine ends."
CLOCKS_NOTE = "Application clocks are not offered by every GPU: look at what is in force afterwards."


def require_name(text: str) -> str:
    """Raises UsageError."""
    if not NAME.fullmatch(text):
        why = "A name has letters, digits, '.', '_' and '-', at most 64."
        raise UsageError("gpu-bad-name", f"{text!r} is no name of a group or job.", why)
    return text


def create_group(name: str, gpus: Sequence[str]) -> Work:
    if odd := [gpu for gpu in gpus if not gpu.isdecimal()]:
        message = f"GPUs are numbers, as DCGM counts them on a node, not {', '.join(odd)}."
        raise UsageError("gpu-bad-name", message, "", "gpustack gpu group list")
    members = ("--add", ",".join(gpus)) if gpus else ("--default",)
    return Work(f"create group {name}", (("group", "--create", require_name(name), *members),), (ENDS_WITH_ENGINE,))


def delete_group(name: str, found: Listing) -> Work:
    """Its number is another one in each engine. Raises UsageError where no engine has it, or it is DCGM's own."""
    ids = [(one.node, one.id) for one in found.rows if isinstance(one, Group) and one.name == name]
    if not ids or name.startswith("DCGM_ALL_"):
        why = f"{ALL_GPUS} and its like are DCGM's own." if ids else "No host engine has a group of that name."
        raise UsageError("gpu-bad-name", f"The group {name} cannot be deleted.", why, "gpustack gpu group list")
    by_node = dict[str, tuple[Line, ...]]()
    for node, id in ids:
        by_node[node] = (*by_node.get(node, ()), ("group", "--delete", str(id)))
    return Work(f"delete group {name}", by_node=by_node)


def set_policy(flags: Sequence[str], limits: Mapping[str, int | None]) -> Work:
    """`flags` and `limits` are dcgmi's options. Raises UsageError where there is nothing to watch for."""
    given = [word for option, number in limits.items() if number is not None for word in (option, str(number))]
    if not flags and not given:
        message = "No violation to watch for is named."
        raise UsageError("gpu-nothing-named", message, "", "gpustack gpu policy set --help")
    line = ("policy", "--set", "0,0", *flags, *given)
    return Work("set policy", (line,), (f"{REPLACES} {NOTHING_DONE}", ENDS_WITH_ENGINE))


def clear_policy() -> Work:
    return Work("clear policy", (("policy", "--clear"),), (REPLACES,))


def set_config(power: int | None, clocks: str, *, ecc: bool | None) -> Work:
    """Raises UsageError where nothing is to be set."""
    if clocks and not re.fullmatch(r"\d{1,5},\d{1,5}", clocks):
        raise UsageError("gpu-nothing-named", f"--clocks takes MEMORY,SM in MHz, not {clocks}.", "", "--help")
    memory, _, sm = clocks.partition(",")
    wanted = {POWER_LIMIT: str(power or ""), MEMORY_CLOCK: memory, SM_CLOCK: sm}
    words = ["--powerlimit", str(power)] if power else []
    words += ["--appclocks", clocks] if clocks else []
    words += ["--eccmode", str(int(ecc))] if ecc is not None else []
    if not words:
        raise UsageError("gpu-nothing-named", "Nothing to set is named.", "", "gpustack gpu config set --help")
    notes = [f"On all GPUs of a node, also those in use. {STAYS}"]
    notes += [CLOCKS_NOTE] if clocks else []
    notes += [RESET_NEEDED] if ecc is not None else []
    expected = {setting: value for setting, value in wanted.items() if value}
    expected |= {ECC_MODE: ""} if ecc is not None else {}
    return Work("set configuration", (("config", "--set", *words),), tuple(notes), expected=expected)


def pause_profiling(seconds: float) -> Work:
    return Work("pause profiling", (("profile", "--pause"),), (PAUSE_NOTE,), what="profiling-paused", keep=seconds)


def resume_profiling() -> Work:
    return Work("resume profiling", (("profile", "--resume"),), ends="profiling-paused")


def start_job(job: str, every: float, keep: float) -> Work:
    """`every` and `keep` in seconds: how often is measured, and how long it is kept."""
    watch = ("stats", "--enable", "--update-interval", str(round(every * 1000)), "--max-keep-age", str(round(keep)))
    lines = (watch, ("stats", "--jstart", require_name(job)))
    return Work(f"start statistics of {job}", lines, (WATCHES, ENDS_WITH_ENGINE))


def stop_job(job: str) -> Work:
    return Work(f"stop statistics of {job}", (("stats", "--jstop", require_name(job)),))


def diagnose(level: int) -> Work:
    notes = (DIAG_NOTES[level], HOLD_NOTE) if level > 1 else (DIAG_NOTES[level],)
    return Work(f"run diagnostic level {level}", (words(level),), notes, limit=TIMES[level], stoppable=True)
