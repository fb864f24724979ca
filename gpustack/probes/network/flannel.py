"""Flannel: how the cluster is configured (API) and what the daemon on a host does."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.files.json_text import load_json
from gpustack.probes.kubernetes.nodes import entries
from gpustack.probes.parsing import ipv4

DAEMON_SET, CONFIG_MAP = "kube-flannel-ds", "kube-flannel-cfg"
YES = {"yes": True, "no": False}
# flannel pkg/subnet/kube/annotations.go, with the prefix of kube-flannel.yml.
ADDRESS, DATA = "flannel.alpha.coreos.com/public-ip", "flannel.alpha.coreos.com/backend-data"
MAC = re.compile("[0-9a-f]{2}(:[0-9a-f]{2}){5}")


@dataclass(frozen=True)
class DaemonSet:
    """`current` is whether every scheduled pod runs the present template."""

    version: str
    wanted: int
    ready: int
    current: bool


@dataclass(frozen=True)
class NetConf:
    """`port` is 0 when the backend's own is in force."""

    network: str
    backend: str
    port: int


@dataclass(frozen=True)
class Flanneld:
    """`running` is its own readiness endpoint; `network` the one it was started with, and `subnet` the part of it that
    is this node's, as the address of its bridge (10.244.1.1/24): both empty without its file. `masquerades`: what pods
    send out of the network has the node's address. `conflist` is the CNI file."""

    running: bool
    network: str
    conflist: bool
    subnet: str = ""
    masquerades: bool = False


@dataclass(frozen=True)
class Announced:
    """What a node's Flannel tells all others: the address of its end, and the MAC of its link (vxlan only)."""

    address: str
    mac: str


@dataclass(frozen=True)
class Link:
    """Flannel's link on a host, flannel.1 with vxlan."""

    name: str
    mac: str
    up: bool


def daemon_set(answer: Answer) -> DaemonSet | None:
    found = next((entry for entry in entries(answer) if entry["metadata"]["name"] == DAEMON_SET), None)
    if found is None:
        return None
    (container,) = found["spec"]["template"]["spec"]["containers"]
    status = found["status"]
    wanted = status.get("desiredNumberScheduled", 0)
    observed = status.get("observedGeneration") == found["metadata"]["generation"]
    return DaemonSet(
        container["image"].rpartition(":")[2].removeprefix("v"),
        wanted,
        status.get("numberReady", 0),
        observed and status.get("updatedNumberScheduled", 0) == wanted,
    )


def net_conf(answer: Answer) -> NetConf | None:
    found = next((entry for entry in entries(answer) if entry["metadata"]["name"] == CONFIG_MAP), None)
    if found is None:
        return None
    conf = load_json(found["data"]["net-conf.json"])
    backend = conf["Backend"]
    return NetConf(conf["Network"], backend["Type"], backend.get("Port", 0))


def flanneld(answer: Answer) -> Flanneld:
    """Raises KeyError where there is no curl to ask with."""
    values: Mapping[str, str] = dict(line.split("=", 1) for line in answer.out.splitlines() if line)
    masquerades = values.get("FLANNEL_IPMASQ", "") == "true"
    network, subnet = values.get("FLANNEL_NETWORK", ""), values.get("FLANNEL_SUBNET", "")
    return Flanneld(YES[values["READY"]], network, YES[values["CONFLIST"]], subnet, masquerades)


def read_annotations(answer: Answer) -> Mapping[str, Announced]:
    """By node; one whose Flannel has not registered is left out."""
    found = {}
    for entry in entries(answer):
        annotations = entry["metadata"].get("annotations") or {}
        if ADDRESS in annotations:
            data = load_json(annotations.get(DATA, "null")) or {}
            found[str(entry["metadata"]["name"])] = Announced(
                ipv4(annotations[ADDRESS]), data.get("VtepMAC", "").lower()
            )
    return found


def annotation(key: str) -> str:
    return "metadata.annotations." + key.replace(".", r"\.")


def links(answer: Answer) -> tuple[Link, ...]:
    """Lines `NAME MAC FLAGS`, flags as the kernel's hexadecimal number, of which the first bit says that it is up."""
    found = []
    for line in answer.out.splitlines():
        name, mac, flags = line.split(" ")
        if not MAC.fullmatch(mac):
            raise ValueError(line)
        found.append(Link(name, mac, int(flags, 16) % 2 == 1))
    return tuple(found)


# 8081 is the port of the manifest's --healthz-port.
SCRIPT = """
[ ! -f /run/flannel/subnet.env ] || cat /run/flannel/subnet.env
if [ -s /etc/cni/net.d/10-flannel.conflist ]; then echo CONFLIST=yes; else echo CONFLIST=no; fi
curl -sSf -m "$((2 * ${TIMEOUT_FACTOR:-1}))" -o /dev/null http://127.0.0.1:8081/readyz 2>/dev/null
case $? in 0) echo READY=yes ;; 127) ;; *) echo READY=no ;; esac
"""

FLANNEL_DAEMON_SET = Probe(
    "flannel.daemon-set",
    Api(
        "/apis/apps/v1/namespaces/kube-flannel/daemonsets",
        (
            "metadata.name",
            "metadata.generation",
            "spec.template.spec.containers.image",
            "status",
        ),
    ),
    daemon_set,
)
NET_CONF = Probe(
    "flannel.net-conf",
    Api("/api/v1/namespaces/kube-flannel/configmaps", ("metadata.name", r"data.net-conf\.json")),
    net_conf,
)
FLANNELD = Probe("flannel.host", Lines(SCRIPT), flanneld, like="cat /run/flannel/subnet.env")
ANNOUNCED = Probe(
    "flannel.annotations",
    Api(
        "/api/v1/nodes",
        ("metadata.name", *(annotation(key) for key in (ADDRESS, DATA))),
        metadata=True,
    ),
    read_annotations,
)
# That of wireguard has no MAC, and is none of these.
LINKS = Probe(
    "flannel.links",
    Lines(r"""for link in /sys/class/net/flannel.*; do
  [ -e "$link" ] || continue
  read -r mac <"$link/address" && read -r flags <"$link/flags" && echo "${link##*/} $mac $flags"
done"""),
    links,
    like="ip -d link show type vxlan",
)
