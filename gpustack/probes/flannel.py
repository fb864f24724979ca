"""Flannel: what the cluster was told (API) and what the daemon on a host does."""

from collections.abc import Mapping
from dataclasses import dataclass
from json import loads

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.probes.kube import entries

DAEMON_SET, CONFIG_MAP = "kube-flannel-ds", "kube-flannel-cfg"
YES = {"yes": True, "no": False}


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
    """`running` is its own readiness endpoint; `network` the one it was started with; `conflist` is the CNI file."""

    running: bool
    network: str
    conflist: bool


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
    conf = loads(found["data"]["net-conf.json"])
    backend = conf["Backend"]
    return NetConf(conf["Network"], backend["Type"], backend.get("Port", 0))


def flanneld(answer: Answer) -> Flanneld:
    """Raises KeyError where there is no curl to ask with."""
    said: Mapping[str, str] = dict(line.split("=", 1) for line in answer.out.splitlines() if line)
    return Flanneld(YES[said["READY"]], said.get("FLANNEL_NETWORK", ""), YES[said["CONFLIST"]])


# 8081 is the port of the manifest's --healthz-port.
SCRIPT = """
[ ! -f /run/flannel/subnet.env ] || cat /run/flannel/subnet.env
if [ -s /etc/cni/net.d/10-flannel.conflist ]; then echo CONFLIST=yes; else echo CONFLIST=no; fi
curl -sSf -m 2 -o /dev/null http://127.0.0.1:8081/readyz 2>/dev/null
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
    "flannel.net-conf", Api("/api/v1/namespaces/kube-flannel/configmaps", ("metadata.name", "data")), net_conf
)
FLANNELD = Probe("flannel.host", Lines(SCRIPT), flanneld)
