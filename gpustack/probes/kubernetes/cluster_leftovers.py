"""Leftovers on a host: Kubernetes that somebody else installed, and files of an interrupted installation."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe

# A path that only this distribution makes, and its name.
DISTRIBUTIONS = {
    "/etc/rancher/k3s": "k3s",
    "/var/lib/rancher/k3s": "k3s",
    "/etc/rancher/rke2": "rke2",
    "/var/lib/rancher/rke2": "rke2",
    "/var/snap/microk8s": "microk8s",
    "/etc/k0s": "k0s",
    "/var/lib/k0s": "k0s",
    "/run/cri-dockerd.sock": "cri-dockerd",
}

# Where Ansible keeps what it copies to a host, in the home of the login: in a folder of our own, so that what a killed
# installation left is distinct from what other playbooks use.
TEMPORARY_FOLDER = "~/.ansible/gpustack"


@dataclass(frozen=True)
class Leftovers:
    """Hold the `distributions` found on the host; `servers` are the API addresses (host:port) that its kubelet files
    name."""

    distributions: tuple[str, ...]
    servers: tuple[str, ...]


def parse_leftovers(answer: Answer) -> Leftovers:
    lines = answer.stdout.split()
    paths = [line for line in lines if line in DISTRIBUTIONS]
    servers = [line.removeprefix("https://").rstrip("/") for line in lines if line.startswith("https://")]
    if len(paths) + len(servers) != len(lines):
        raise ValueError(answer.stdout)
    return Leftovers(tuple(sorted({DISTRIBUTIONS[path] for path in paths})), tuple(sorted(set(servers))))


LEFTOVERS = Probe(
    "leftovers.kubernetes",
    Lines(f"""for path in {" ".join(DISTRIBUTIONS)}; do
  [ ! -e "$path" ] || echo "$path"
done
set --
for file in /etc/kubernetes/kubelet.conf /etc/kubernetes/admin.conf; do
  [ ! -e "$file" ] || set -- "$@" "$file"
done
[ $# -eq 0 ] || awk '$1 == "server:" {{print $2}}' "$@" """),
    parse_leftovers,
    manual_command="ls -d /etc/rancher /var/lib/rancher /var/snap/microk8s; cat /etc/kubernetes/*.conf",
)


def parse_temporary_paths(answer: Answer) -> tuple[str, ...]:
    """Parse paths. Raise ValueError where the answer has another shape."""
    lines = answer.stdout.splitlines()
    if answer.rc != 0 or not all(line.startswith("/") for line in lines):
        raise ValueError(answer.stdout or answer.stderr)
    return tuple(lines)


# As root; the login that became root is in SUDO_USER.
TEMPORARIES = Probe(
    "leftovers.temporary",
    Lines(f"""set -- root ${{SUDO_USER:+"$SUDO_USER"}}
paths=$(getent passwd "$@" | while IFS=: read -r _ _ _ _ _ home _; do
  folder=$home{TEMPORARY_FOLDER.removeprefix("~")}
  [ ! -L "$folder" ] || continue
  for path in "$folder"/*; do
    [ ! -e "$path" ] || echo "$path"
  done
done)
[ -z "$paths" ] || printf '%s\n' "$paths" | sort -u"""),
    parse_temporary_paths,
    manual_command=f"ls {TEMPORARY_FOLDER}",
)
