"""What became different on a host within a day: what apt did, when it was booted, and files of its settings."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.parsing import number
from gpustack.probes.sections import read_sections

VERBS = ("install", "reinstall", "upgrade", "downgrade", "remove", "purge")
# Debian Policy 5.6.1.
PACKAGE = re.compile("[a-z0-9][a-z0-9+.-]+")
# Settings that faults are about; what is not there is passed over.
PLACES = (
    "apt", "cni/net.d", "containerd", "default", "environment", "firewalld", "fstab", "hostname", "hosts", "iptables",
    "kubernetes", "modprobe.d", "modules", "modules-load.d", "netplan", "network", "nftables.conf", "nftables.d",
    "resolv.conf", "sysctl.conf", "sysctl.d", "systemd", "ufw",
)  # fmt: skip


@dataclass(frozen=True)
class AptAction:
    """What apt did, `ago` seconds before it was asked. `how` is one of VERBS."""

    ago: int
    how: str
    packages: tuple[str, ...]


@dataclass(frozen=True)
class FileTimes:
    """`now` and `booted` are seconds of the epoch by the host's own clock, `booted` None where systemd does not say;
    `written` are the newest files with theirs."""

    now: int
    booted: int | None
    written: tuple[tuple[str, int], ...]


def read_packages(answer: Answer) -> tuple[AptAction, ...]:
    """The oldest first; what a clock that was put back makes of the future is now. Raises ValueError for a line of
    another shape."""
    found = []
    for line in answer.out.splitlines():
        ago, how, *names = line.split()
        if how not in VERBS or not names or not all(map(PACKAGE.fullmatch, names)):
            raise ValueError(line)
        found.append(AptAction(0 if ago.startswith("-") else number(ago), how, tuple(names)))
    return tuple(found)


def read_times(answer: Answer) -> FileTimes:
    (now,), booted, files = read_sections(answer.out, "now", "booted", "files")
    stamp = booted[0].removeprefix("@") if booted else ""
    written = []
    for line in files:
        at, path = line.split(" ", 1)
        if not path.startswith("/"):
            raise ValueError(line)
        written.append((path, number(at.partition(".")[0])))
    return FileTimes(number(now), number(stamp) if stamp else None, tuple(written))


# apt writes the host's local time, which is compared with the same; only what is new is made a number of.
PACKAGES = Probe(
    "recent.packages",
    Lines(read_script(__file__, "recent_packages.sh")),
    read_packages,
    like="cat /var/log/apt/history.log",
)
TIMES = Probe(
    "recent.files",
    Lines(rf"""booted=$(TZ=UTC systemctl show -p UserspaceTimestamp --value)
times=$(printf '%s\n' now ${{booted:+"$booted"}} | date -f - +@%s)
now=${{times%%
*}}
printf '== now\n%s\n== booted%s\n' "${{now#@}}" "${{times#"$now"}}"
echo '== files'
cd /etc || exit
set --
for place in {" ".join(PLACES)}; do
  [ ! -e "$place" ] || set -- "$@" "/etc/$place"
done
[ $# -eq 0 ] || find "$@" -maxdepth 3 ! -type d -mmin -1440 -printf '%T@ %p\n' 2>/dev/null | sort -rn | head -n 40
set --
for file in /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env; do
  [ ! -e "$file" ] || set -- "$@" "$file"
done
[ $# -eq 0 ] || find "$@" -mmin -1440 -printf '%T@ %p\n'"""),
    read_times,
    like="uptime -s; find /etc -type f -mtime -1",
)
