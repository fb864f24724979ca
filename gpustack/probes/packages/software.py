"""Debian packages, and the apt repositories that the product adds."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.sections import named, sections

# What a host needs beside Kubernetes itself. `socat` and `conntrack`: port-forward and the clearing of UDP entries;
# apt and gpg for the repositories; the rest for what probes and kubeadm run.
HOST_PACKAGES = (
    "ca-certificates", "conntrack", "curl", "ethtool", "gpg", "iproute2", "ipset", "iptables", "kmod", "nftables",
    "procps", "socat",
)  # fmt: skip
FETCHING = ("ca-certificates", "curl", "gpg")
# Docker's own packages stand on containerd.io (docker-ce Depends: containerd.io), the very runtime that is wanted.
DOCKER_CE = "docker-ce"
# Runtimes of other origin: both own /usr/bin/containerd or the same socket.
DOCKER = ("docker.io", "docker-engine", "moby-engine")
FOREIGN_RUNTIMES = ("containerd", *DOCKER, "moby-containerd")
OURS = ("containerd.io", "cri-tools", "kubeadm", "kubectl", "kubelet", "kubernetes-cni")
MISSING = "dpkg-query: no packages found matching "
PACKAGE_NAMES = (*HOST_PACKAGES, "apparmor", DOCKER_CE, *FOREIGN_RUNTIMES, *OURS)


@dataclass(frozen=True)
class Package:
    """An installed package; `version` is the upstream part, without epoch and packaging revision."""

    version: str
    held: bool


@dataclass(frozen=True)
class Repository:
    """One deb822 file of ours; `fingerprints` are the primary keys of its keyring."""

    uri: str
    suite: str
    components: str
    keyring: str
    fingerprints: tuple[str, ...]


@dataclass(frozen=True)
class Repositories:
    """Ours by name, None for one that is not there."""

    ours: Mapping[str, Repository | None]


def packages(answer: Answer) -> Mapping[str, Package | None]:
    """By name; None for a package that is not, or not wholly, installed. dpkg-query ends with 1 when it misses one,
    and names it: a package of which nothing is said raises ValueError."""
    found: dict[str, Package | None] = dict.fromkeys(PACKAGE_NAMES)
    expected = set(PACKAGE_NAMES) - {line.removeprefix(MISSING) for line in answer.err.splitlines()}
    for line in answer.out.splitlines():
        name, want, status, version = line.split(" ")
        expected.discard(name)
        if name not in found:
            raise ValueError(line)
        if status == "installed":
            found[name] = Package(upstream(version), held=want == "hold")
    if expected:
        raise ValueError(f"no line for {sorted(expected)}")
    return found


def upstream(version: str) -> str:
    """`5:1.36.4-1.1` is upstream 1.36.4 (deb-version(7))."""
    return version.split(":", 1)[-1].rsplit("-", 1)[0]


def repositories(answer: Answer) -> Repositories:
    return read_repositories(answer, "containerd", "kubernetes")


def read_repositories(answer: Answer, *names: str) -> Repositories:
    """Parts `== NAME` hold a deb822 file, then what gpg says of its keyring; one more ends the answer. Raises KeyError
    or ValueError where a part is missing."""
    parts = named(sections(answer.out))
    if not set(parts) - set(names):
        raise ValueError("cut off")
    return Repositories({name: repository(parts[name]) for name in names})


def repository(lines: list[str]) -> Repository | None:
    """None where there is no file; what a damaged one lacks is empty."""
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    if not fields:
        return None
    uri, suite, components, keyring = (fields.get(key, "") for key in ("URIs", "Suites", "Components", "Signed-By"))
    return Repository(uri, suite, components, keyring, primary_keys(lines))


def primary_keys(lines: list[str]) -> tuple[str, ...]:
    """gpg's colon listing tells a primary key in a `pub` line and its fingerprint in the next `fpr` line."""
    found: list[str] = []
    primary = False
    for line in lines:
        kind, *fields = line.split(":")
        if kind == "fpr" and primary:
            found.append(fields[8])
        primary = kind == "pub" or (primary and kind != "fpr")
    return tuple(found)


# The options keep gpg from making a directory and a trust database of its own. Of a key that has ended it wants that
# database, and says nothing: then it is asked as of the newest date in the file, that of the last signature. The end is
# in its answer all the same.
SHOW_KEYS = r"""run_gpg() {
  gpg --homedir /nonexistent --no-options --no-keyring --trust-model always --batch "$@" 2>/dev/null
}
show_keys() {
  run_gpg --with-colons --show-keys "$1" && return
  newest=$(run_gpg --list-packets "$1" | sed -n 's/.*created \([0-9]*\).*/\1/p' | sort -n | tail -n 1)
  [ -z "$newest" ] || run_gpg --with-colons --faked-system-time "$newest!" --show-keys "$1"
}
"""


def stored_script(names: str) -> str:
    """Asks what `stored` reads."""
    return rf"""{SHOW_KEYS}set -- {names}
for name do
  echo "== $name"
  file=/etc/apt/sources.list.d/gpustack-$name.sources key=/etc/apt/keyrings/gpustack-$name.gpg
  [ ! -e "$file" ] || {{ cat "$file"; echo; }}
  [ ! -e "$key" ] || show_keys "$key" || :
done
echo '== end'
"""


PACKAGES = Probe(
    "packages.installed",
    Lines("dpkg-query -Wf '${Package} ${db:Status-Want} ${db:Status-Status} ${Version}\\n' " + " ".join(PACKAGE_NAMES)),
    packages,
    ends=(0, 1),
    like="dpkg -l; apt-mark showhold",
)
REPOSITORIES = Probe(
    "packages.repositories",
    Lines(stored_script("containerd kubernetes")),
    repositories,
    like="cat /etc/apt/sources.list.d/*.sources",
)
