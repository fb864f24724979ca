"""Copies of what a fix may touch, on the host itself: made before it, reduced to what it changed after it, brought back
by the undo. The host has them, so that any operator's machine can take a fix back. What runs there is copies.sh.

A fix begins on each host with `begin` and ends with `finish`; what was broken off in between is finished by `last`.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from gpustack.ask.transport.execute import run
from gpustack.ask.transport.refusal import HostRefused
from gpustack.config.host import Host
from gpustack.config.resources import playbooks
from gpustack.errors import RolloutError

SCRIPT, LIMITS = Path(__file__).parent / "copies.sh", playbooks() / "files" / "limits.sh"
LIMIT = 180
DONE = "done"
# Below /. What daemons write there at any time is left out by the script.
PLACES = (
    "etc", "usr/local/lib/gpustack", "usr/share/netfilter-persistent/plugins.d", "var/lib/kubelet/config.yaml",
    "var/lib/kubelet/kubeadm-flags.env",
)  # fmt: skip
UNITS = (
    "containerd", "kubelet", "ufw", "firewalld", "nftables", "netfilter-persistent", "NetworkManager",
    "nvidia-persistenced", "systemd-timesyncd", "chrony",
)  # fmt: skip
KEYS = (
    "net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables",
    "fs.inotify.max_user_instances", "fs.inotify.max_user_watches",
)  # fmt: skip
# Of the cluster. No Secrets: they are not to be copied.
KINDS = (
    "configmaps", "services", "serviceaccounts", "deployments", "daemonsets", "statefulsets", "clusterroles",
    "clusterrolebindings", "roles", "rolebindings", "storageclasses",
)  # fmt: skip
CUSTOM = (
    "prometheuses.monitoring.coreos.com", "alertmanagers.monitoring.coreos.com",
    "prometheusrules.monitoring.coreos.com", "servicemonitors.monitoring.coreos.com",
    "podmonitors.monitoring.coreos.com", "clusterpolicies.nvidia.com",
)  # fmt: skip

Run = Callable[..., Iterator[str]]
"""`run(host, script, limit=…, last=…)`, as gpustack/ask/transport/execute.py has it."""


@dataclass(frozen=True)
class Kept:
    """What a fix did to a host. `files` are paths below /; `units` and `keys` are `name before -> after`; `moved` are
    paths that are another now than the fix left them; `unfinished`: it was broken off in the middle."""

    host: str
    id: str
    about: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    unfinished: bool = False

    @property
    def fault(self) -> str:
        return self.value("fault")

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(self.value("hosts").split())

    def value(self, word: str) -> str:
        return next((line.partition(" ")[2] for line in self.about if line.startswith(f"{word} ")), "")


@dataclass
class Copies:
    """Talks to hosts. Raises RolloutError where a host does not do what it was asked."""

    hosts: Sequence[Host]
    run: Run = field(default=run)

    def begin(self, id: str, fault: str, names: Sequence[str], keys: Iterable[str], kinds: Sequence[str]) -> None:
        """On all hosts, before anything is changed. `kinds` are those of the cluster's objects, on the first of them.
        Where one cannot keep copies, none does."""
        about = f"fault {fault}\nhosts {' '.join(names)}"
        wanted = " ".join(dict.fromkeys((*KEYS, *keys)))
        for number, name in enumerate(names):
            some = " ".join(kinds) if number == 0 else ""
            variables = {
                "ABOUT": about,
                "PLACES": " ".join(PLACES),
                "UNITS": " ".join(UNITS),
                "KEYS": wanted,
                "KINDS": some,
            }
            try:
                self.call(name, "begin", id, variables)
            except RolloutError:
                for earlier in names[: number + 1]:
                    with suppress(RolloutError):
                        self.forget(earlier, id)
                raise

    def finish(self, id: str, names: Sequence[str]) -> tuple[Kept, ...]:
        return tuple(parse_kept(name, [f"id {id}", *self.call(name, "finish", id)]) for name in names)

    def last(self, name: str) -> Kept | None:
        """The newest fix of a host, if it has one. What was broken off is finished."""
        lines = self.call(name, "last", "")
        return parse_kept(name, lines) if lines else None

    def objects(self, name: str, id: str) -> list[str]:
        """Three documents of JSON: before, as the fix left it, and now. Or nothing."""
        return [line for line in self.call(name, "objects", id) if line]

    def replace(self, name: str, back: Mapping[str, str]) -> list[str]:
        """The output of kubectl. `back` comes from undo.build_replacements."""
        return self.call(name, "replace", "", back)

    def undo(self, name: str, id: str) -> list[str]:
        """What was put back, in words."""
        return self.call(name, "undo", id)

    def forget(self, name: str, id: str) -> None:
        self.call(name, "forget", id)

    def call(self, name: str, do: str, id: str, variables: Mapping[str, str] = MappingProxyType({})) -> list[str]:
        (host,) = (host for host in self.hosts if host.name == name)
        words = {"DO": do, "ID": id, "TIMEOUT_FACTOR": str(host.timeout_factor), **variables}
        given = "\n".join(f"{key}={shlex.quote(value)}" for key, value in words.items())
        try:
            lines = list(self.run(host, f"{given}\n{LIMITS.read_text()}\n{SCRIPT.read_text()}", limit=LIMIT))
        except HostRefused as refused:
            raise RolloutError("fix-copies", f"{name} could not be asked.", refused.reach.why, "") from refused
        if DONE not in lines:
            why = "\n".join(line for line in lines if line.strip())[-600:] or "no output"
            raise RolloutError("fix-copies", f"The copies on {name} could not be used ({do}).", why, "df -h /var/lib")
        return lines[: lines.index(DONE)]


def parse_kept(host: str, lines: Iterable[str]) -> Kept:
    found: dict[str, list[str]] = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        found.setdefault(word, []).append(rest)

    def of(word: str) -> tuple[str, ...]:
        return tuple(found.get(word, ()))

    return Kept(
        host, of("id")[0], of("about"), of("file"), of("unit"), of("key"), of("moved"), unfinished="unfinished" in found
    )
