"""Settings of the kernel, judged by effect: file systems, sysctls and swap as they are now, and as a boot would set
them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.sections import split_sections

SYSCTLS = ("net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables")
# Two names of one switch: Documentation/networking/ip-sysctl.rst, "conf/all/forwarding".
ALIASES = {"net.ipv4.conf.all.forwarding": "net.ipv4.ip_forward"}


@dataclass(frozen=True)
class Modules:
    """Hold modules: `working` ones show their effect now, `at_boot` ones are named in gpustack's file of
    modules-load.d."""

    working: frozenset[str]
    at_boot: frozenset[str]
    apparmor: bool


@dataclass(frozen=True)
class Setting:
    """Hold a value, and the file that sets it at boot."""

    file: str
    value: str


@dataclass(frozen=True)
class Sysctls:
    """Hold sysctls: `live` has None for a key that the kernel does not have; `at_boot` lists the settings of a key, of
    which the last one wins."""

    live: Mapping[str, str | None]
    at_boot: Mapping[str, tuple[Setting, ...]]


@dataclass(frozen=True)
class Swap:
    """Describe the swap of a host: `active` are devices and files in use; `fstab` lines and `units` would enable swap
    at boot."""

    active: tuple[str, ...]
    fstab: tuple[str, ...]
    units: tuple[str, ...]


def parse_answer_sections(answer: Answer, *names: str) -> list[list[str]]:
    """Parse the lines below each `== NAME` line, in order. Raise ValueError where these names are not all there."""
    sections = split_sections(answer.stdout)
    if [name for name, _ in sections] != list(names):
        raise ValueError(f"expected the parts {names}")
    return [lines for _, lines in sections]


def parse_modules(answer: Answer) -> Modules:
    working, at_boot, apparmor = parse_answer_sections(answer, "working", "boot", "apparmor")
    if unknown_modules := set(working) - KERNEL_MODULES:
        raise ValueError(f"unknown values: {sorted(unknown_modules)}")
    module_names = {line.strip() for line in at_boot if line.strip() and line.strip()[0] not in "#;"}
    return Modules(frozenset(working), frozenset(module_names), apparmor == ["Y"])


def parse_sysctls(answer: Answer) -> Sysctls:
    """Parse the sysctls. At boot systemd-sysctl applies its configuration, then ufw its own file, if it is on."""
    live, files, ufw = parse_answer_sections(answer, "live", "boot", "ufw")
    pairs = (line.replace("/", ".").split(" ", 1) for line in live)
    values = {key: None if value == "-" else value for key, value in pairs}
    if set(values) != set(SYSCTLS):
        raise ValueError(f"unknown values: {sorted(values)}")
    settings: dict[str, list[Setting]] = {key: [] for key in SYSCTLS}
    file = ""
    for line in [*files, "# /etc/ufw/sysctl.conf", *ufw]:
        if header := re.fullmatch(r"# (/\S+)", line):
            file = header[1]
        elif "=" in line and not line.lstrip().startswith(("#", ";")):
            name, value = (part.strip() for part in line.split("=", 1))
            dotted_name = name.lstrip("-").replace("/", ".")
            key = ALIASES.get(dotted_name, dotted_name)
            if key in settings:
                settings[key].append(Setting(file, value))
    return Sysctls(values, {key: tuple(setting) for key, setting in settings.items()})


def parse_swap(answer: Answer) -> Swap:
    active, fstab, units = parse_answer_sections(answer, "active", "fstab", "units")
    if not active or not active[0].startswith("Filename"):
        raise ValueError("not the format of /proc/swaps")
    fields = [line.split() for line in fstab]
    fstab_lines = [line for line, words in zip(fstab, fields, strict=True) if len(words) > 2 and words[2] == "swap"]
    swap_units = [words for line in units if len(words := line.split()) > 1 and words[0] != "swap.target"]
    return Swap(
        tuple(line.split()[0] for line in active[1:]),
        tuple(line for line in fstab_lines if not line.lstrip().startswith("#")),
        tuple(words[0] for words in swap_units if words[1] in ENABLED_STATES),
    )


# States of `systemctl list-unit-files` in which a boot may start the unit. A generated one comes from fstab, from a
# GPT swap partition or from zram-generator.
# What containerd and Flannel need of the kernel.
KERNEL_MODULES = frozenset({"overlay", "br_netfilter"})
ENABLED_STATES = ("enabled", "enabled-runtime", "generated", "static", "linked", "linked-runtime", "alias", "indirect")

MODULES = Probe(
    "kernel.modules",
    Lines(r"""echo '== working'
! grep -qw overlay /proc/filesystems || echo overlay
[ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || echo br_netfilter
echo '== boot'
[ ! -e /etc/modules-load.d/gpustack.conf ] || { cat /etc/modules-load.d/gpustack.conf; echo; }
echo '== apparmor'
[ ! -e /sys/module/apparmor/parameters/enabled ] || cat /sys/module/apparmor/parameters/enabled"""),
    parse_modules,
    manual_command="lsmod; cat /etc/modules-load.d/*",
)
SYSCTL = Probe(
    "kernel.sysctls",
    Lines(r"""echo '== live'
cd /proc/sys || exit
for key in net/ipv4/ip_forward net/bridge/bridge-nf-call-iptables net/bridge/bridge-nf-call-ip6tables; do
  value=-
  [ ! -r "$key" ] || read -r value <"$key"
  echo "$key $value"
done
echo '== boot'
for tool in /usr/lib/systemd/systemd-sysctl /lib/systemd/systemd-sysctl; do
  [ ! -x "$tool" ] || { "$tool" --cat-config || exit; echo; break; }
done
echo '== ufw'
[ ! -e /etc/ufw/ufw.conf ] || ! grep -qi '^ENABLED=yes' /etc/ufw/ufw.conf || { cat /etc/ufw/sysctl.conf && echo; }"""),
    parse_sysctls,
    manual_command="sysctl -a; systemd-analyze cat-config sysctl.d",
)
SWAP = Probe(
    "kernel.swap",
    Lines(r"""echo '== active'
if [ -e /proc/swaps ]; then cat /proc/swaps; else echo Filename; fi
echo '== fstab'
[ ! -e /etc/fstab ] || awk '/^[ \t]*#/ { next } $3 == "swap" { sub(/[ \t]#.*/, ""); print }' /etc/fstab
echo '== units'
systemctl list-unit-files --no-legend --plain swap.target '*.swap' zramswap.service"""),
    parse_swap,
    manual_command="swapon --show; grep swap /etc/fstab",
)
