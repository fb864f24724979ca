"""The NVIDIA driver on a host: the loaded module, the libraries beside it, obstacles to it, and whether nvidia-smi gets
an answer.

A host without a display controller of NVIDIA's is asked nothing: it says so, and every fact is empty.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.gpu.packages import NO_GPU, ONLY_WITH_GPU
from gpustack.probes.parsing import parse_integer

VERSION = re.compile(r"\d{3}\.\d{2,3}(?:\.\d{2})?(?![.\d])")
# "NVIDIA UNIX Open Kernel Module for x86_64  595.91.07 ..." and "NVIDIA UNIX x86_64 Kernel Module  550.163.01 ...".
KIND = re.compile(r"NVIDIA UNIX (Open )?(?:\w+ )?Kernel Module")
LIBRARY = re.compile(r"libnvidia-ml\.so\.(\d{3}\.\d{2,3}(?:\.\d{2})?)")
# Recordings of before have the address alone.
GPU_ROW = re.compile(
    r"(?P<address>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])(?:, *(?P<mode>[\w\[][\w/\] ]{0,40}))?"
)
COMPUTE_MODES = ("Default", "Exclusive_Thread", "Exclusive_Process", "Prohibited")
# By driver a yes is 1 or Yes.
ROWS = re.compile(
    r"([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]), *(?P<pending>0|1|No|Yes), *(?P<failure>0|1|No|Yes)"
)
YES_VALUES = ("1", "Yes")
RECOVERY_ROW = re.compile(
    r"([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]), *(?P<action>[A-Z][A-Za-z0-9 ]{1,40})"
)
WORDS = ("nouveau-loaded", "nouveau-blacklisted", "secure-boot", "key-enrolled", "uninstaller")
VALUES = {"module", "library", "persistence"}
OPTIONAL = {"key", "installer"}
INSTALLERS = ("gpustack", "others", "")
PATH = re.compile(r"/[\w.+/-]+")
PERSISTENCE = ("none", "active", "inactive")


@dataclass(frozen=True)
class GpuDriver:
    """Describe the driver.

    `module` is the version of the loaded nvidia module, `library` that of libnvidia-ml on the host; empty for none.
    `installer` says by the record of the host who installed the packages; recordings of before do not.
    `kind` is the type of the loaded module, empty where there is none or it does not say so.
    `secure_boot`: the firmware starts only signed code; `key_enrolled`: it accepts the key that DKMS signs with, whose
    certificate is the file `key` (empty without Secure Boot). `uninstaller`: NVIDIA's .run installer was used.
    `persistence` is the state of nvidia-persistenced.
    """

    module: str = ""
    library: str = ""
    nouveau_loaded: bool = False
    nouveau_blacklisted: bool = False
    secure_boot: bool = False
    key_enrolled: bool = False
    uninstaller: bool = False
    persistence: Literal["none", "active", "inactive"] = "none"
    key: str = ""
    installer: Literal["gpustack", "others", ""] = ""
    kind: Literal["open", "proprietary", ""] = ""


@dataclass(frozen=True)
class Smi:
    """Describe how nvidia-smi ended.

    `rc` is -1 unless it ended; `hangs`: not even KILL ends it. `gpus` are the PCI addresses it shows; `message` is the
    first line that is not one of these. `rows`: GPUs with rows of memory to replace, each as `ADDRESS: pending` (until
    a reset) or `ADDRESS: failure` (no spare row is left); None where nvidia-smi does not report it. `modes` are the
    compute modes of `gpus`, empty where nvidia-smi does not report them all. `recovery_actions` are the words of
    nvidia-smi for what the driver asks for (`None`, `Reset`), by address; GPUs without one are absent.
    """

    state: Literal["absent", "hangs", "ended"]
    rc: int = -1
    gpus: tuple[str, ...] = ()
    message: str = ""
    rows: tuple[str, ...] | None = None
    modes: tuple[str, ...] = ()
    recovery_actions: Mapping[str, str] = field(default_factory=dict)


def parse_gpu_driver(answer: Answer) -> GpuDriver:
    """Parse lines `NAME VALUE`; a name alone is a yes. Raise ValueError or KeyError where the answer has another
    shape."""
    if answer.stdout == f"{NO_GPU}\n":
        return GpuDriver()
    lines = [line.partition(" ") for line in answer.stdout.splitlines()]
    values = {name: value for name, _, value in lines}
    words = {name for name, gap, _ in lines if not gap}
    if len(values) < len(lines) or words - set(WORDS) or set(values) - words - OPTIONAL != VALUES:
        raise ValueError(answer.stdout[:80])
    module, library = values["module"], values["library"]
    module_match, library_match = VERSION.search(module), LIBRARY.fullmatch(library)
    if (
        (module != "-" and not module_match)
        or (library != "-" and not library_match)
        or values["persistence"] not in PERSISTENCE
    ):
        raise ValueError(answer.stdout[:80])
    if (key := values.get("key", "")) and not PATH.fullmatch(key):
        raise ValueError(key)
    if (installer := values.get("installer", "")) not in INSTALLERS:
        raise ValueError(installer)
    has_nouveau, is_blacklisted, has_secure_boot, is_enrolled, has_uninstaller = (word in words for word in WORDS)
    return GpuDriver(
        module_match[0] if module_match else "", library_match[1] if library_match else "",
        has_nouveau, is_blacklisted, has_secure_boot, is_enrolled, has_uninstaller,
        values["persistence"], key, installer, parse_kind(module),  # type: ignore[arg-type]
    )  # fmt: skip


def parse_kind(module: str) -> Literal["open", "proprietary", ""]:
    """Parse the type of a module from the line by which it describes itself."""
    match = KIND.search(module)
    return "" if match is None else "open" if match[1] else "proprietary"


def parse_smi(answer: Answer) -> Smi:
    """Parse the end of nvidia-smi. The last line is the probe's: `absent`, `hangs` or `rc N`. Raise ValueError where it
    is another."""
    if answer.stdout == f"{NO_GPU}\n":
        return Smi("absent")
    *lines, status_line = [line for line in answer.stdout.splitlines() if line.strip()]
    if status_line in ("absent", "hangs"):
        return Smi("absent" if status_line == "absent" else "hangs")
    word, _, rc = status_line.partition(" ")
    if word != "rc":
        raise ValueError(status_line[:80])
    other_lines, recovery_lines = split_lines(lines, "recovery")
    output_lines, remapping_lines = split_lines(other_lines, "rows")
    matches = [match for line in output_lines if (match := GPU_ROW.fullmatch(line))]
    gpus = tuple(match["address"].lower()[4:] for match in matches)
    modes = tuple(match["mode"] for match in matches if match["mode"] in COMPUTE_MODES)
    messages = [line for line in output_lines if not GPU_ROW.fullmatch(line)]
    message = shorten_message(messages[0]) if messages else ""
    all_modes = modes if len(modes) == len(gpus) else ()
    recovery_matches = [match for line in recovery_lines if (match := RECOVERY_ROW.fullmatch(line))]
    recovery_actions = {match[1].lower()[4:]: match["action"] for match in recovery_matches}
    return Smi("ended", parse_integer(rc), gpus, message, parse_rows(remapping_lines), all_modes, recovery_actions)


def split_lines(lines: Sequence[str], heading: str) -> tuple[list[str], list[str]]:
    """Split lines, without blanks around them, at the line of a heading, which a recording may lack."""
    stripped_lines = [line.strip() for line in lines]
    end = stripped_lines.index(heading) if heading in stripped_lines else len(stripped_lines)
    return stripped_lines[:end], stripped_lines[end + 1 :]


def parse_rows(lines: Sequence[str]) -> tuple[str, ...] | None:
    """Parse lines `ADDRESS, pending, failure`. GPUs before Ampere replace pages, not rows, and report [N/A]."""
    row_matches = [ROWS.fullmatch(line.strip()) for line in lines]
    matches = [match for match in row_matches if match]
    if not matches or len(matches) < len(row_matches):
        return None
    words = (
        (match[1].lower()[4:], kind)
        for match in matches
        for kind in ("pending", "failure")
        if match[kind] in YES_VALUES
    )
    return tuple(f"{address}: {kind}" for address, kind in words)


# The first line of the file in /proc names module, platform and version. The firmware's variable has four bytes of
# attributes before its value; containers and machines without UEFI have none. DKMS signs with mok_certificate of its
# settings, else with /var/lib/dkms/mok.pub, and on Ubuntu with the key of shim-signed (dkms 3.0.10 of Debian 12,
# /usr/sbin/dkms lines 938 to 972).
GPU_DRIVER = Probe(
    "gpu.driver",
    Lines(ONLY_WITH_GPU + read_script(__file__, "driver.sh")),
    parse_gpu_driver,
    manual_command="cat /proc/driver/nvidia/version; modinfo nvidia",
)
# A process that the driver does not let go (state D) cannot be killed, and would be waited for for ever. So it runs
# beside the shell, which goes on without it. One that `timeout` can end is only slow, and that is no answer. Without
# nvidia-persistenced (of the host or of a driver container; the kernel keeps 15 letters of a name) each program starts
# every GPU anew, which takes seconds for each of eight: NVIDIA's "Driver Persistence".
GPU_SMI = Probe(
    "gpu.smi", Lines(ONLY_WITH_GPU + read_script(__file__, "smi.sh")), parse_smi, limit=30, manual_command="nvidia-smi"
)
