"""Changes on a host within a day: actions of apt, the last boot, and files of its settings."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.packages.software import PACKAGE
from gpustack.probes.parsing import parse_integer
from gpustack.probes.sections import parse_sections

VERBS = ("install", "reinstall", "upgrade", "downgrade", "remove", "purge")
# Settings that faults are about; what is not there is passed over.
PLACES = (
    "apt", "cni/net.d", "containerd", "default", "environment", "firewalld", "fstab", "hostname", "hosts", "iptables",
    "kubernetes", "modprobe.d", "modules", "modules-load.d", "netplan", "network", "nftables.conf", "nftables.d",
    "resolv.conf", "sysctl.conf", "sysctl.d", "systemd", "ufw",
)  # fmt: skip


@dataclass(frozen=True)
class AptAction:
    """Describe an action of apt, `seconds_ago` before the question. `action` is one of VERBS."""

    seconds_ago: int
    action: str
    packages: tuple[str, ...]


@dataclass(frozen=True)
class FileTimes:
    """Hold times in seconds of the epoch by the host's own clock: `current_time`, and `booted_at`, None where systemd
    does not report it. `modified_files` are the newest files with theirs."""

    current_time: int
    booted_at: int | None
    modified_files: tuple[tuple[str, int], ...]


def parse_apt_actions(answer: Answer) -> tuple[AptAction, ...]:
    """Parse the actions, the oldest first. An action in the future, of a clock that was put back, counts as one of now.

    Raise ValueError where a line has another shape.
    """
    apt_actions = []
    for line in answer.stdout.splitlines():
        seconds_ago, action, *names = line.split()
        if action not in VERBS or not names or not all(map(PACKAGE.fullmatch, names)):
            raise ValueError(line)
        apt_actions.append(
            AptAction(0 if seconds_ago.startswith("-") else parse_integer(seconds_ago), action, tuple(names))
        )
    return tuple(apt_actions)


def parse_file_times(answer: Answer) -> FileTimes:
    (clock,), boot_lines, files = parse_sections(answer.stdout, "now", "booted", "files")
    stamp = boot_lines[0].removeprefix("@") if boot_lines else ""
    modified_files = []
    for line in files:
        modified_at, path = line.split(" ", 1)
        if not path.startswith("/"):
            raise ValueError(line)
        modified_files.append((path, parse_integer(modified_at.partition(".")[0])))
    return FileTimes(parse_integer(clock), parse_integer(stamp) if stamp else None, tuple(modified_files))


# apt writes the host's local time, which is compared with the same; only what is new is made a number of.
PACKAGES = Probe(
    "recent.packages",
    Lines(read_script(__file__, "recent_packages.sh")),
    parse_apt_actions,
    manual_command="cat /var/log/apt/history.log",
)
TIMES = Probe(
    "recent.files",
    Lines(rf"""boot_time=$(TZ=UTC systemctl show -p UserspaceTimestamp --value)
times=$(printf '%s\n' now ${{boot_time:+"$boot_time"}} | date -f - +@%s)
current_time=${{times%%
*}}
printf '== now\n%s\n== booted%s\n' "${{current_time#@}}" "${{times#"$current_time"}}"
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
    parse_file_times,
    manual_command="uptime -s; find /etc -type f -mtime -1",
)
