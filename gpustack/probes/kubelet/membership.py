"""Which cluster a host is part of, as which node, and what runs on it."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.containerd.daemon import SOCKET
from gpustack.probes.control_plane.kubeadm import CONFIG, UNFINISHED
from gpustack.probes.sections import named, sections

YES = {"yes": True, "no": False}


@dataclass(frozen=True)
class Membership:
    """`cluster` and `node` as the host's own credentials name them, empty without any; `made`: the control plane here
    was made by us; `etcd`: the data of a cluster lies here; `pods` as namespace/name, None when unknown."""

    cluster: str
    node: str
    made: bool
    etcd: bool
    pods: tuple[str, ...] | None


def membership(answer: Answer) -> Membership:
    """Raises ValueError or KeyError for an answer of another shape."""
    parts = named(sections(answer.out))
    subject = re.search(r"CN ?= ?system:node:(\S+)", " ".join(parts["node"]))
    (made,), (etcd,), pods = parts["made"], parts["etcd"], parts["pods"]
    if pods != ["unknown"] and not all(pod.count("/") == 1 for pod in pods):
        raise ValueError(pods)
    return Membership(
        cluster=parts["cluster"][0] if parts["cluster"] else "",
        node=subject[1] if subject else "",
        made=YES[made],
        etcd=YES[etcd],
        pods=None if pods == ["unknown"] else tuple(sorted(pods)),
    )


MEMBERSHIP = Probe(
    "owned.membership",
    Lines(
        read_script(__file__, "membership.sh")
        .replace("CONFIG", CONFIG)
        .replace("UNFINISHED", UNFINISHED)
        .replace("SOCKET", SOCKET)
    ),
    membership,
)
