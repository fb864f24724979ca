"""Upgrades of the node's programs by apt, as its own history has them."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe

NAMES = ("containerd.io", "containerd", "kubelet", "kubeadm", "kubectl", "runc")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class Upgrade:
    """Describe an upgrade. `started_at` is apt's own date and time, local to the host."""

    started_at: str
    packages: tuple[str, ...]


def parse_upgrades(answer: Answer) -> tuple[Upgrade, ...]:
    """Parse the last upgrades. Raise ValueError where a line has another shape."""
    upgrades = []
    for line in answer.stdout.splitlines():
        date, time, *packages = line.split()
        if not DATE.fullmatch(date) or not set(packages) <= set(NAMES):
            raise ValueError(line)
        upgrades.append(Upgrade(f"{date} {time}", tuple(packages)))
    return tuple(upgrades)


UPGRADES = Probe(
    "packages.upgrades",
    Lines(rf"""[ -r /var/log/apt/history.log ] || exit 0
awk '/^Start-Date:/ {{ when = $2 " " $3 }}
/^Upgrade:/ {{
  found = ""
  n = split("{" ".join(NAMES)}", names, " ")
  for (i = 1; i <= n; i++) if (index($0, " " names[i] ":")) found = found " " names[i]
  if (found != "") line[many++] = when found
}}
END {{ for (i = many < 5 ? 0 : many - 5; i < many; i++) print line[i] }}' /var/log/apt/history.log"""),
    parse_upgrades,
    manual_command="cat /var/log/apt/history.log",
)
