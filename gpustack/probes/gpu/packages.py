"""Packages of the NVIDIA driver, the kernels they are built for, and the settings that keep both together.

A host without a display controller of NVIDIA's is asked nothing: it says so, and every fact is empty.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.packages.software import (
    Package,
    Repositories,
    build_repository_script,
    parse_repositories,
    parse_upstream_version,
)
from gpustack.probes.parsing import FLAGS

NO_GPU = "no GPU"
# Any function of NVIDIA's will do; whether it is a GPU is asked by gpu.devices.
ONLY_WITH_GPU = f"""gpus=
for file in /sys/bus/pci/devices/*/vendor; do
  read -r vendor 2>/dev/null <"$file" || continue
  [ "$vendor" != 0x10de ] || {{ gpus=some; break; }}
done
[ -n "$gpus" ] || {{ echo '{NO_GPU}'; exit 0; }}
"""
PATTERNS = ("nvidia-*", "libnvidia-*", "libcuda1", "cuda-drivers*", "linux-image-*", "linux-headers-*")
BLACKLIST = "Unattended-Upgrade::Package-Blacklist"
MODULE_VERSION = re.compile(r"\d{3}\.\d{2,3}(\.\d{2})?")
UNKNOWN = "unknown "
NAME = re.compile(r"[a-z0-9][a-z0-9+.-]*")
RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+~_-]*")


@dataclass(frozen=True)
class Kernel:
    """Describe an installed kernel. `module` is the version of the nvidia module that modprobe would load, empty for
    none."""

    release: str
    headers: bool
    module: str


@dataclass(frozen=True)
class Kernels:
    """Hold the kernels of a host.

    `running` is as uname says; `installed_kernels` are those of /boot. A container has none, and runs the kernel of its
    host. `unknown` are packages that would bring headers of each new kernel, but that no repository of apt has.
    """

    running: Kernel
    installed_kernels: tuple[Kernel, ...]
    unknown: tuple[str, ...] = ()

    @property
    def next(self) -> Kernel | None:
        """The newest kernel of /boot, which a boot loader takes unless configured otherwise."""
        return max(self.installed_kernels, key=lambda kernel: build_sort_key(kernel.release), default=None)


def build_sort_key(release: str) -> list[tuple[int, str]]:
    """Build the key that sorts 6.1.0-28-amd64 behind 6.1.0-9-amd64."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|[^\d.~+_-]+", release)]


def parse_gpu_packages(answer: Answer) -> Mapping[str, Package]:
    """Parse installed packages by name. Without any, dpkg-query ends with 1 and names the patterns."""
    if answer.stdout == f"{NO_GPU}\n":
        return {}
    lines = answer.stdout.splitlines()
    if not lines and "no packages found" not in answer.stderr:
        raise ValueError("no line")
    packages = {}
    for line in lines:
        name, want, status, version = line.split(" ")
        if not NAME.fullmatch(name):
            raise ValueError(line)
        if status == "installed":
            packages[name] = Package(parse_upstream_version(version), held=want == "hold")
    return packages


def parse_gpu_repository(name: str) -> Callable[[Answer], Repositories]:
    """Return a parser of a repository that only hosts with a GPU have."""

    def parse(answer: Answer) -> Repositories:
        is_absent = answer.stdout == f"{NO_GPU}\n"
        return Repositories({name: None}) if is_absent else parse_repositories(name)(answer)

    return parse


def parse_kernels(answer: Answer) -> Kernels:
    """Parse the kernels. The first line is the running one; lines `unknown PACKAGE` come last."""
    if answer.stdout == f"{NO_GPU}\n":
        return Kernels(Kernel("", headers=False, module=""), ())
    lines = answer.stdout.splitlines()
    unknown_names = [line.removeprefix(UNKNOWN) for line in lines if line.startswith(UNKNOWN)]
    if invalid_names := [name for name in unknown_names if not NAME.fullmatch(name)]:
        raise ValueError(invalid_names[0])
    running_kernel, *installed_kernels = (parse_kernel(line) for line in lines if not line.startswith(UNKNOWN))
    return Kernels(running_kernel, tuple(installed_kernels), tuple(unknown_names))


def parse_kernel(line: str) -> Kernel:
    release, headers, module = line.split(" ")
    if not RELEASE.fullmatch(release) or (module != "-" and not MODULE_VERSION.fullmatch(module)):
        raise ValueError(line)
    return Kernel(release, FLAGS[headers], "" if module == "-" else module)


def parse_upgrade_blacklist(answer: Answer) -> tuple[str, ...]:
    """Parse the packages that unattended upgrades leave alone, by all of apt's configuration."""
    if answer.stdout == f"{NO_GPU}\n":
        return ()
    first, *lines = answer.stdout.splitlines()
    matches = [re.fullmatch(rf'{BLACKLIST}(?:::\S*)? "(.*)";', line) for line in lines]
    if first != "== guard" or not all(matches):
        raise ValueError(answer.stdout[:80])
    return tuple(match[1] for match in matches if match and match[1])


def parse_unattended(answer: Answer) -> bool:
    """Parse whether unattended upgrades run. Raise KeyError for another word."""
    return {NO_GPU: False, "no": False, "yes": True}[answer.stdout.strip()]


GPU_PACKAGES = Probe(
    "gpu.packages",
    Lines(
        ONLY_WITH_GPU
        + r"dpkg-query -Wf '${Package} ${db:Status-Want} ${db:Status-Status} ${Version}\n' "
        + " ".join(f"'{pattern}'" for pattern in PATTERNS)
    ),
    parse_gpu_packages,
    exit_codes=(0, 1),
    manual_command="dpkg -l | grep -i nvidia",
)
GPU_REPOSITORY = Probe(
    "gpu.repository",
    Lines(ONLY_WITH_GPU + build_repository_script("nvidia")),
    parse_gpu_repository("nvidia"),
    manual_command="cat /etc/apt/sources.list.d/*.sources",
)
# Headers are where DKMS looks for them. apt-cache madison names what is in lists of repositories, not what is installed
# alone (apt-cache(8)); whether there are lists is seen by apt itself, which every distribution has. It does not write
# the two files of its cache.
GPU_KERNELS = Probe(
    "gpu.kernels",
    Lines(ONLY_WITH_GPU + read_script(__file__, "kernels.sh")),
    parse_kernels,
    manual_command="dkms status; ls /lib/modules",
)
# Whether unattended-upgrades is installed and runs by itself, for which apt.systemd.daily needs both settings.
UNATTENDED_UPGRADES = Probe(
    "gpu.unattended-upgrades",
    Lines(
        f"""{ONLY_WITH_GPU}periodic=1 interval=0
eval "$(apt-config shell periodic APT::Periodic::Enable interval APT::Periodic::Unattended-Upgrade)" || exit
[ -x /usr/bin/unattended-upgrade ] && [ "$periodic" != 0 ] && [ "$interval" != 0 ] && echo yes || echo no"""
    ),
    parse_unattended,
    manual_command="apt-config dump APT::Periodic::Unattended-Upgrade",
)
GPU_GUARD = Probe(
    "gpu.guard",
    Lines(f"{ONLY_WITH_GPU}echo '== guard'\napt-config -o APT::Architectures::=all dump {BLACKLIST}"),
    parse_upgrade_blacklist,
    manual_command="apt-config dump Unattended-Upgrade::Package-Blacklist",
)
