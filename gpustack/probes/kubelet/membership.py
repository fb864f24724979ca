"""Membership of a host in a cluster: which cluster, as which node, and the pods that run on it."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.containerd.daemon import SOCKET
from gpustack.probes.control_plane.kubeadm import CONFIG, UNFINISHED_CONFIG
from gpustack.probes.parsing import FLAGS
from gpustack.probes.sections import index_sections, split_sections


@dataclass(frozen=True)
class Membership:
    """Describe the membership.

    `cluster` and `node` are those of the host's own credentials, empty without any; `is_managed`: gpustack made the
    control plane of this host; `etcd`: the host has the data of a cluster; `pods` as namespace/name, None when unknown.
    """

    cluster: str
    node: str
    is_managed: bool
    etcd: bool
    pods: tuple[str, ...] | None


def parse_membership(answer: Answer) -> Membership:
    """Parse the membership. Raise ValueError or KeyError where the answer has another shape."""
    parts = index_sections(split_sections(answer.stdout))
    subject = re.search(r"CN ?= ?system:node:(\S+)", " ".join(parts["node"]))
    (managed_flag,), (etcd,), pods = parts["made"], parts["etcd"], parts["pods"]
    if pods != ["unknown"] and not all(pod.count("/") == 1 for pod in pods):
        raise ValueError(pods)
    return Membership(
        cluster=parts["cluster"][0] if parts["cluster"] else "",
        node=subject[1] if subject else "",
        is_managed=FLAGS[managed_flag],
        etcd=FLAGS[etcd],
        pods=None if pods == ["unknown"] else tuple(sorted(pods)),
    )


MEMBERSHIP = Probe(
    "owned.membership",
    Lines(
        read_script(__file__, "membership.sh")
        .replace("CONFIG", CONFIG)
        .replace("UNFINISHED", UNFINISHED_CONFIG)
        .replace("SOCKET", SOCKET)
    ),
    parse_membership,
)
