"""Debian packages, and the apt repositories that gpustack adds."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.sections import index_sections, split_sections

# What a host needs beside Kubernetes itself. `socat` and `conntrack`: port-forward and the clearing of UDP entries;
# apt and gpg for the repositories; the rest for what probes and kubeadm run.
HOST_PACKAGES = (
    "ca-certificates", "conntrack", "curl", "ethtool", "gpg", "iproute2", "ipset", "iptables", "kmod", "nftables",
    "procps", "socat",
)  # fmt: skip
FETCH_PACKAGES = ("ca-certificates", "curl", "gpg")
# Docker's own packages stand on containerd.io (docker-ce Depends: containerd.io), the very runtime that is wanted.
DOCKER_CE = "docker-ce"
# Runtimes of other origin: both own /usr/bin/containerd or the same socket.
DOCKER = ("docker.io", "docker-engine", "moby-engine")
FOREIGN_RUNTIMES = ("containerd", *DOCKER, "moby-containerd")
MAIN_PACKAGES = ("containerd.io", "cri-tools", "kubeadm", "kubectl", "kubelet", "kubernetes-cni")
PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*", re.ASCII)
"""The names of packages that dpkg accepts, of other vendors too (lib/dpkg/parsehelp.c, pkg_name_is_illegal); those of
Debian are narrower."""
MISSING_MESSAGE = "dpkg-query: no packages found matching "
PACKAGE_NAMES = (*HOST_PACKAGES, "apparmor", DOCKER_CE, *FOREIGN_RUNTIMES, *MAIN_PACKAGES)


@dataclass(frozen=True)
class Package:
    """Describe an installed package; `version` is the upstream part, without epoch and packaging revision."""

    version: str
    held: bool


@dataclass(frozen=True)
class Repository:
    """Describe a deb822 file of gpustack; `fingerprints` are the primary keys of its keyring."""

    uri: str
    suite: str
    components: str
    keyring: str
    fingerprints: tuple[str, ...]


@dataclass(frozen=True)
class Repositories:
    """Hold the repositories of gpustack by name, None for a missing one."""

    by_name: Mapping[str, Repository | None]


def parse_packages(answer: Answer) -> Mapping[str, Package | None]:
    """Parse packages by name; None for a package that is not, or not wholly, installed.

    dpkg-query ends with 1 when it misses one, and names it. Raise ValueError where a package is in neither output.
    """
    packages: dict[str, Package | None] = dict.fromkeys(PACKAGE_NAMES)
    expected = set(PACKAGE_NAMES) - {line.removeprefix(MISSING_MESSAGE) for line in answer.stderr.splitlines()}
    for line in answer.stdout.splitlines():
        name, want, status, version = line.split(" ")
        expected.discard(name)
        if name not in packages:
            raise ValueError(line)
        if status == "installed":
            packages[name] = Package(parse_upstream_version(version), held=want == "hold")
    if expected:
        raise ValueError(f"no line for {sorted(expected)}")
    return packages


def parse_upstream_version(version: str) -> str:
    """Parse the upstream part of a version: that of `5:1.36.4-1.1` is 1.36.4 (deb-version(7))."""
    return version.split(":", 1)[-1].rsplit("-", 1)[0]


def parse_repositories(*names: str) -> Callable[[Answer], Repositories]:
    """Return a parser of sections `== NAME` with a deb822 file and gpg's listing of its keyring; an empty section ends
    the answer. The parser raises KeyError or ValueError where a section is missing."""

    def parse(answer: Answer) -> Repositories:
        parts = index_sections(split_sections(answer.stdout))
        if not set(parts) - set(names):
            raise ValueError("cut off")
        return Repositories({name: parse_repository(parts[name]) for name in names})

    return parse


def parse_repository(lines: list[str]) -> Repository | None:
    """Parse a repository, or None where there is no file; the missing fields of a damaged file are empty."""
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    if not fields:
        return None
    uri, suite, components, keyring = (fields.get(key, "") for key in ("URIs", "Suites", "Components", "Signed-By"))
    return Repository(uri, suite, components, keyring, parse_primary_keys(lines))


def parse_primary_keys(lines: list[str]) -> tuple[str, ...]:
    """Parse primary keys of gpg's colon listing: a `pub` line is one, and the next `fpr` line has its fingerprint."""
    fingerprints: list[str] = []
    primary = False
    for line in lines:
        kind, *fields = line.split(":")
        if kind == "fpr" and primary:
            fingerprints.append(fields[8])
        primary = kind == "pub" or (primary and kind != "fpr")
    return tuple(fingerprints)


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


def build_repository_script(names: str) -> str:
    """Build the script whose output `parse_repositories` reads."""
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
    parse_packages,
    exit_codes=(0, 1),
    manual_command="dpkg -l; apt-mark showhold",
)
REPOSITORIES = Probe(
    "packages.repositories",
    Lines(build_repository_script("containerd kubernetes")),
    parse_repositories("containerd", "kubernetes"),
    manual_command="cat /etc/apt/sources.list.d/*.sources",
)
