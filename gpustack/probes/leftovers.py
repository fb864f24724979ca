"""Kubernetes that somebody else put on the host."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Probe, Shell

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


@dataclass(frozen=True)
class Leftovers:
    """`distributions` found on the host; `servers` are the API addresses (host:port) its kubelet files name."""

    distributions: tuple[str, ...]
    servers: tuple[str, ...]


def leftovers(answer: Answer) -> Leftovers:
    lines = answer.out.split()
    paths = [line for line in lines if line in DISTRIBUTIONS]
    servers = [line.removeprefix("https://").rstrip("/") for line in lines if line.startswith("https://")]
    if len(paths) + len(servers) != len(lines):
        raise ValueError(answer.out)
    return Leftovers(tuple(sorted({DISTRIBUTIONS[path] for path in paths})), tuple(sorted(set(servers))))


LEFTOVERS = Probe(
    "leftovers.kubernetes",
    Shell(f"""for path in {" ".join(DISTRIBUTIONS)}; do
  [ ! -e "$path" ] || echo "$path"
done
for file in /etc/kubernetes/kubelet.conf /etc/kubernetes/admin.conf; do
  [ ! -e "$file" ] || awk '$1 == "server:" {{print $2}}' "$file"
done"""),
    leftovers,
)
