"""Errors of NVIDIA's programs in the logs of a host: the kernel's module, and the containers of the stack.

Their texts are constants of their sources: open-gpu-kernel-modules src/nvidia (NVRM), dcgm-exporter internal/pkg,
k8s-device-plugin cmd, gpu-driver-container, gpu-operator cmd/nvidia-validator. Only lines with one of these leave the
host.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.gpu.packages import NO_GPU, ONLY_WITH_GPU
from gpustack.probes.host.disk import build_space_test
from gpustack.probes.log_lines import strip_prefix
from gpustack.probes.parsing import parse_integer

# With MIG the instances follow the address (open-gpu-kernel-modules src/nvidia/src/kernel/gpu/rc/kernel_rc.c).
XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)(?: GPU-I:\d+)?(?: GPU-CI:\d+)?\): (\d{1,4})\b")
# A message of several lines, of which only the first has a time and an address (NVIDIA/NVSentinel#155), or of one.
SUBJECT = re.compile(r"NVRM: (?:The NVIDIA )?GPU (?:at )?(?:PCI:)?([0-9a-fA-F:.]+[0-9a-fA-F])")
OFF_THE_BUS, OFF_THE_BUS_XID = "fallen off the bus", 79
UPTIME = re.compile(r"\[ *(\d+)\.\d+\]")
PATTERNS = {
    "no-profiling": "Not collecting DCP metrics|Profiling is not supported for this group",
    "profiling-taken": "[Pp]rofiling module returned an unrecoverable error",
    "engine-version": "API version mismatch|connection to the host engine is not valid",
    # Not "Attempting to connect to remote hostengine", which an exporter says that finds its engine
    # (dcgm-exporter 4.5.3-4.8.2 internal/pkg/dcgmprovider/dcgm.go); older ones said the failure behind it.
    "engine-away": "Failed to connect to remote hostengine|remote hostengine.*Encountered a failure|"
    "Error connecting to nv-hostengine",
    "counters": "[Cc]ould not find DCGM field|malformed CSV record",
    "no-nvml": "ERROR_LIBRARY_NOT_FOUND|No devices found. Waiting indefinitely|Incompatible strategy detected auto|"
    "only supported on NVML-based systems",
    "no-headers": "Could not resolve Linux kernel version|Unable to locate package linux-headers",
    "no-mirror": "Temporary failure resolving|Could not connect to .*(http|:80|:443)|Failed to fetch http",
    "cuda": "Failed to allocate device vector",
    "api-timeout": "dial tcp [0-9.]*:443: i/o timeout",
    "xid": "XidCriticalError: Xid=[0-9]",
    "plugin-restarted": "Received SIGHUP, restarting",  # k8s-device-plugin v0.20.0 cmd/nvidia-device-plugin/main.go
}


@dataclass(frozen=True)
class LogLine:
    """Hold a line of a container's present log. `kind` is a key of PATTERNS."""

    pod: str
    container: str
    kind: str
    line: str


@dataclass(frozen=True)
class XidLine:
    """Describe an Xid in the kernel's log: the PCI address of the GPU, the code, and how many seconds before the answer
    it was logged, None where the log or the answer does not say."""

    address: str
    code: int
    age: int | None = None


@dataclass(frozen=True)
class KernelLog:
    """Hold lines of the kernel's log: `xid_lines` are those since the last boot, in order, also of a GPU that has
    fallen off the bus without an Xid; `module_rejection` is the line about a module that was not loaded, `adapter` that
    about a GPU that did not start."""

    xid_lines: tuple[XidLine, ...] = ()
    module_rejection: str = ""
    adapter: str = ""

    @property
    def xids(self) -> tuple[tuple[str, int], ...]:
        """Return each PCI address with each of its codes once, in order."""
        return tuple(dict.fromkeys((line.address, line.code) for line in self.xid_lines))


def parse_logs(answer: Answer) -> tuple[LogLine, ...]:
    """Parse lines `POD CONTAINER LINE`. Raise ValueError where a line has another shape."""
    if answer.stdout == f"{NO_GPU}\n":
        return ()
    first, *lines = answer.stdout.splitlines()
    if first != "== logs":
        raise ValueError(first[:80])
    log_lines = []
    for text in lines:
        pod, container, line = text.split(" ", 2)
        kind = next((name for name, pattern in PATTERNS.items() if re.search(pattern, line)), None)
        if kind is None:
            raise ValueError(text[:80])
        log_lines.append(LogLine(pod, container, kind, shorten_message(strip_prefix(line.strip()))))
    return tuple(dict.fromkeys(log_lines))


def parse_kernel_log(answer: Answer) -> KernelLog:
    if answer.stdout == f"{NO_GPU}\n":
        return KernelLog()
    first, *lines = answer.stdout.splitlines()
    heading, _, uptime = first.partition("kernel")
    if heading != "== " or (uptime and not re.fullmatch(r" \d+", uptime)):
        raise ValueError(first[:80])
    xid_lines = parse_xid_lines(lines, parse_integer(uptime[1:]) if uptime else None)
    rejections = [line for line in lines if re.search(MODULE_REFUSAL, line)]
    adapter = [line for line in lines if re.search(ADAPTER, line)]
    return KernelLog(tuple(dict.fromkeys(xid_lines)), select_last_line(rejections), select_last_line(adapter))


def parse_xid_lines(lines: Sequence[str], uptime: int | None) -> Iterator[XidLine]:
    """Parse the Xids, and GPUs that have fallen off the bus, which is Xid 79."""
    address, age = "", None
    for line in lines:
        time = UPTIME.match(line)
        # Continued lines have no time of their own. A clock that ran backwards gives no age.
        line_age = None if time is None or uptime is None else uptime - parse_integer(time[1])
        line_age = None if line_age is not None and line_age < 0 else line_age
        if match := XID.search(line):
            yield XidLine(match[1].lower(), parse_integer(match[2]), line_age)
            continue
        if subject := SUBJECT.search(line):
            address, age = subject[1].lower().split(".")[0], line_age
        if OFF_THE_BUS in line and address:
            yield XidLine(address, OFF_THE_BUS_XID, age)
            address = ""


def select_last_line(lines: list[str]) -> str:
    return shorten_message(lines[-1].strip()) if lines else ""


MODULE_REFUSAL = "Loading of .*module.* rejected|Key was rejected by service"
ADAPTER = "RmInitAdapter failed|Cannot initialize GSP firmware"
ALL_PATTERNS = "|".join(PATTERNS.values())
# A container's runs are files 0.log, 1.log, …; the newest is the present one, or the last that failed. Where no block
# is free, nothing is logged any more: that no log says something is no answer.
LOGS = Probe(
    "gpu.logs",
    Lines(
        ONLY_WITH_GPU
        + read_script(__file__, "logs.sh").replace("PATTERNS", ALL_PATTERNS).replace("WRITABLE", build_space_test("."))
    ),
    parse_logs,
    manual_command="tail /var/log/pods/gpu-operator_*/*/*.log",
)
KERNEL_LOG = Probe(
    "gpu.kernel-log",
    Lines(
        ONLY_WITH_GPU
        + rf"""read -r uptime _ </proc/uptime || exit
echo "== kernel ${{uptime%.*}}"
output=$(dmesg) || exit
output=$(printf '%s\n' "$output" | grep -aE 'NVRM: Xid|NVRM: The NVIDIA GPU|{OFF_THE_BUS}|{MODULE_REFUSAL}|{ADAPTER}')
[ -z "$output" ] || printf '%s\n' "$output" | tr -cd '\11\12\40-\176' | tail -n 100
exit 0"""
    ),
    parse_kernel_log,
    manual_command="journalctl -k | grep NVRM",
)
