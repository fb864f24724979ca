"""Flannel: its configuration in the cluster (API) and the state of its daemon on a host."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.files.json_text import load_json
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.parsing import FLAGS, parse_ipv4

DAEMON_SET, CONFIG_MAP = "kube-flannel-ds", "kube-flannel-cfg"
# flannel pkg/subnet/kube/annotations.go, with the prefix of kube-flannel.yml.
ADDRESS, DATA = "flannel.alpha.coreos.com/public-ip", "flannel.alpha.coreos.com/backend-data"
OVERWRITE = f"{ADDRESS}-overwrite"
MAC = re.compile("[0-9a-f]{2}(:[0-9a-f]{2}){5}")
IMAGE = re.compile(r"(?:^|/)flannel[:@]")
"""The image of Flannel itself, which may have side-cars of others beside it."""


@dataclass(frozen=True)
class DaemonSet:
    """Describe the DaemonSet of Flannel. `current`: every scheduled pod runs the present template."""

    version: str
    desired_pods: int
    ready: int
    current: bool


@dataclass(frozen=True)
class NetConf:
    """Hold the configuration of the network. `port` is 0 when the backend's own is in force."""

    network: str
    backend: str
    port: int


@dataclass(frozen=True)
class Flanneld:
    """Describe Flannel's daemon on a host.

    `running` is its own readiness endpoint; `network` the one it was started with, and `subnet` the part of it that is
    this node's, as the address of its bridge (10.244.1.1/24): both empty without its file. `masquerades`: packets of
    pods to addresses outside of the network get the node's address. `conflist` is the CNI file.
    """

    running: bool
    network: str
    conflist: bool
    subnet: str = ""
    masquerades: bool = False


@dataclass(frozen=True)
class FlannelAnnotations:
    """Hold the announcements of a node's Flannel to all others: the address of its end, and the MAC of its link (vxlan
    only). `overwritten`: a person chose the address by an annotation; False in older recordings."""

    address: str
    mac: str
    overwritten: bool = False


@dataclass(frozen=True)
class Link:
    """Describe Flannel's link on a host, flannel.1 with vxlan."""

    name: str
    mac: str
    is_up: bool


def parse_daemon_set(answer: Answer) -> DaemonSet | None:
    daemon_set = next((entry for entry in list_objects(answer) if entry["metadata"]["name"] == DAEMON_SET), None)
    if daemon_set is None:
        return None
    images = [container["image"] for container in daemon_set["spec"]["template"]["spec"]["containers"]]
    image = next((image for image in images if IMAGE.search(image)), images[0])
    status = daemon_set["status"]
    desired_pods = status.get("desiredNumberScheduled", 0)
    is_observed = status.get("observedGeneration") == daemon_set["metadata"]["generation"]
    return DaemonSet(
        image.partition("@")[0].rpartition(":")[2].removeprefix("v"),
        desired_pods,
        status.get("numberReady", 0),
        is_observed and status.get("updatedNumberScheduled", 0) == desired_pods,
    )


def parse_net_conf(answer: Answer) -> NetConf | None:
    config_map = next((entry for entry in list_objects(answer) if entry["metadata"]["name"] == CONFIG_MAP), None)
    if config_map is None:
        return None
    conf = load_json(config_map["data"]["net-conf.json"])
    backend = conf["Backend"]
    return NetConf(conf["Network"], backend["Type"], backend.get("Port", 0))


def parse_flanneld(answer: Answer) -> Flanneld:
    """Parse the state of Flannel's daemon. Raise KeyError where there is no curl to ask with."""
    values: Mapping[str, str] = dict(line.split("=", 1) for line in answer.stdout.splitlines() if line)
    masquerades = values.get("FLANNEL_IPMASQ", "") == "true"
    network, subnet = values.get("FLANNEL_NETWORK", ""), values.get("FLANNEL_SUBNET", "")
    return Flanneld(FLAGS[values["READY"]], network, FLAGS[values["CONFLIST"]], subnet, masquerades)


def parse_flannel_annotations(answer: Answer) -> Mapping[str, FlannelAnnotations]:
    """Parse the annotations by node; a node whose Flannel has not registered is left out."""
    node_annotations = {}
    for entry in list_objects(answer):
        annotations = entry["metadata"].get("annotations") or {}
        if ADDRESS in annotations:
            data = load_json(annotations.get(DATA, "null")) or {}
            node_annotations[str(entry["metadata"]["name"])] = FlannelAnnotations(
                parse_ipv4(annotations[ADDRESS]), data.get("VtepMAC", "").lower(), OVERWRITE in annotations
            )
    return node_annotations


def format_annotation_path(key: str) -> str:
    return "metadata.annotations." + key.replace(".", r"\.")


def parse_links(answer: Answer) -> tuple[Link, ...]:
    """Parse lines `NAME MAC FLAGS`, flags as the kernel's hexadecimal number, of which the first bit says that the link
    is up."""
    links = []
    for line in answer.stdout.splitlines():
        name, mac, flags = line.split(" ")
        if not MAC.fullmatch(mac):
            raise ValueError(line)
        links.append(Link(name, mac, int(flags, 16) % 2 == 1))
    return tuple(links)


def parse_node_routes(answer: Answer) -> frozenset[str]:
    """Parse the networks to which the main table has a route, the default route and the bridge's left out."""
    return frozenset(str(IPv4Network(line)) for line in answer.stdout.splitlines())


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
        ("metadata.name", "metadata.generation", "spec.template.spec.containers.image", "status"),
    ),
    parse_daemon_set,
)
NET_CONF = Probe(
    "flannel.net-conf",
    Api("/api/v1/namespaces/kube-flannel/configmaps", ("metadata.name", r"data.net-conf\.json")),
    parse_net_conf,
)
FLANNELD = Probe("flannel.host", Lines(SCRIPT), parse_flanneld, manual_command="cat /run/flannel/subnet.env")
FLANNEL_ANNOTATIONS = Probe(
    "flannel.annotations",
    Api(
        "/api/v1/nodes",
        ("metadata.name", *(format_annotation_path(key) for key in (ADDRESS, DATA, OVERWRITE))),
        metadata=True,
    ),
    parse_flannel_annotations,
)
# That of wireguard has no MAC, and is none of these.
LINKS = Probe(
    "flannel.links",
    Lines(r"""for link in /sys/class/net/flannel.*; do
  [ -e "$link" ] || continue
  read -r mac <"$link/address" && read -r flags <"$link/flags" && echo "${link##*/} $mac $flags"
done"""),
    parse_links,
    manual_command="ip -d link show type vxlan",
)
NODE_ROUTES = Probe(
    "flannel.routes",
    Lines(r"ip -4 route show table main | awk '$1 ~ /^[0-9.]+\/[0-9]+$/ && !/ dev cni/ {print $1}' | sort -u"),
    parse_node_routes,
    manual_command="ip -4 route show dev flannel.1",
)
