"""Results of kubeadm: files on a host, the cluster's record of its settings, certificates, and listening components."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.ask.prune import keep_items
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.parsing import parse_integer, parse_yaml_mapping

ADMIN = "/etc/kubernetes/admin.conf"
SUPER_ADMIN = "/etc/kubernetes/super-admin.conf"
KUBELET_CONF = "/etc/kubernetes/kubelet.conf"
BOOTSTRAP = "/etc/kubernetes/bootstrap-kubelet.conf"
CA, CA_KEY = "/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/pki/ca.key"
CONFIG = "/etc/kubernetes/gpustack-kubeadm.yaml"
UNFINISHED_CONFIG = f"{CONFIG}.unfinished"
JOIN = "/run/gpustack-join.yaml"
ROOTS = "/root/.kube/config"
MODE, SERVER = re.compile(r"([0-7]{3,4}) (/.+)"), re.compile(r"(/[^:]+): *server: *(\S+)")
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
# What kubeadm keeps in kube-system, and under which key.
MAPS = {"kubeadm-config": "ClusterConfiguration", "kubelet-config": "kubelet", "kube-proxy": "config.conf"}
MANIFESTS = tuple(f"/etc/kubernetes/manifests/{name}.yaml" for name in COMPONENTS)
CONTROL_PLANE = (ADMIN, CA_KEY, *MANIFESTS)


@dataclass(frozen=True)
class Files:
    """Hold the `modes` (octal) of the files that exist; `servers` are the API addresses in the kubelet's
    kubeconfigs."""

    modes: Mapping[str, str]
    servers: Mapping[str, str]

    def lacks(self, *paths: str) -> list[str]:
        return [path for path in paths if path not in self.modes]

    @property
    def api_server(self) -> bool:
        """The manifest of an API server is on the host, so one has to run."""
        return MANIFESTS[COMPONENTS.index("kube-apiserver")] in self.modes


@dataclass(frozen=True)
class KubeadmSettings:
    """Hold the ConfigMaps of kube-system as parsed documents, None where one does not exist."""

    cluster: Mapping[str, Any] | None
    kubelet: Mapping[str, Any] | None
    proxy: Mapping[str, Any] | None


@dataclass(frozen=True)
class Certificate:
    """Hold a certificate: `subject` is the common name, or the whole subject where it has none; `names` are the subject
    alternative names without their kind."""

    subject: str
    expires: datetime
    names: tuple[str, ...] = ()


def parse_kubeadm_files(answer: Answer) -> Files:
    """Parse lines `mode path` of stat(1) and `path: server: address` of grep(1). Raise ValueError where a line is
    another one."""
    modes: dict[str, str] = {}
    servers: dict[str, str] = {}
    for line in answer.stdout.splitlines():
        if match := MODE.fullmatch(line):
            modes[match[2]] = match[1]
        elif match := SERVER.fullmatch(line):
            servers[match[1]] = match[2]
        else:
            raise ValueError(line)
    return Files(modes, servers)


def parse_kubeadm_settings(answer: Answer) -> KubeadmSettings:
    config_maps = {entry["metadata"]["name"]: entry.get("data", {}) for entry in list_objects(answer)}
    return KubeadmSettings(*(parse_config_map(config_maps, name, key) for name, key in MAPS.items()))


def prune_settings(text: str) -> str:
    """Drop the ConfigMaps of others."""
    return keep_items(text, lambda entry: entry["metadata"]["name"] in MAPS)


def parse_config_map(maps: Mapping[str, Any], name: str, key: str) -> Mapping[str, Any] | None:
    """Parse one key of a ConfigMap, or None without the ConfigMap.

    Raise KeyError where the ConfigMap has no such key, and ValueError where it is no YAML mapping.
    """
    return parse_yaml_mapping(maps[name][key]) if name in maps else None


def parse_certificates(answer: Answer) -> tuple[Certificate, ...]:
    """Parse the output of `openssl pkcs7 -print_certs -text`, in its order; none on a host without a control plane."""
    certificates: list[Certificate] = []
    expires: datetime | None = None
    for line in (raw.strip() for raw in answer.stdout.splitlines()):
        word, _, rest = line.partition(":")
        if word.rstrip() == "Not After":
            expires = datetime.strptime(rest.strip(), "%b %d %H:%M:%S %Y GMT").replace(tzinfo=UTC)
        elif word == "Subject":
            name = re.search(r"CN ?= ?([^,/]+)", rest)
            if expires is None:
                raise ValueError(line)
            certificates.append(Certificate((name[1] if name else rest).strip(), expires))
            expires = None
        elif word in ("DNS", "IP Address"):
            names = tuple(part.partition(":")[2].strip() for part in line.split(","))
            certificates[-1] = Certificate(certificates[-1].subject, certificates[-1].expires, names)
        else:
            raise ValueError(line)
    if expires is not None:
        raise ValueError("a certificate without a subject")
    return tuple(certificates)


def parse_component_listeners(answer: Answer) -> Mapping[int, tuple[str, ...]]:
    """Parse addresses by TCP port: `*`, `0.0.0.0`, `127.0.0.1`, … as ss(8) prints them."""
    addresses_by_port: dict[int, set[str]] = {}
    for line in answer.stdout.splitlines():
        address, _, port = line.split()[3].rpartition(":")
        addresses_by_port.setdefault(parse_integer(port), set()).add(address.partition("%")[0])
    return {port: tuple(sorted(addresses)) for port, addresses in sorted(addresses_by_port.items())}


def has_join_token(answer: Answer) -> bool:
    """Tell whether there is a token of gpustack that hosts can join with."""
    infos = [entry for entry in list_objects(answer) if entry["metadata"]["name"] == "cluster-info"]
    return any(SIGNATURE in (entry.get("data") or {}) for entry in infos)


# The controller-manager signs ConfigMap cluster-info once with each token that is valid, under the token's id, so that
# tokens are known without reading a secret. The id is that of playbooks/files/join-token.sh.
SIGNATURE = "jws-kubeconfig-gpstck"

PATHS = (*CONTROL_PLANE, CA, SUPER_ADMIN, KUBELET_CONF, BOOTSTRAP, UNFINISHED_CONFIG, JOIN, ROOTS)
FILES_SCRIPT = f"""
stat -c '%a %n' {" ".join(PATHS)} 2>/dev/null
grep -sHE '^ *server: ' {KUBELET_CONF} {BOOTSTRAP}
exit 0
"""
# Public certificates only; one openssl for all of them. Those in kubeconfigs were made in the same run of kubeadm.
CERTIFICATES_SCRIPT = """
[ -f /etc/kubernetes/pki/apiserver.crt ] || exit 0
cat /etc/kubernetes/pki/*.crt /etc/kubernetes/pki/etcd/*.crt |
  openssl crl2pkcs7 -nocrl -certfile /dev/stdin | openssl pkcs7 -print_certs -text -noout |
  grep -E '^ *(Not After|Subject|DNS|IP Address) ?:'
"""

FILES = Probe(
    "kubeadm.files",
    Lines(FILES_SCRIPT),
    parse_kubeadm_files,
    manual_command="ls -l /etc/kubernetes /etc/kubernetes/manifests /etc/kubernetes/pki",
)
SETTINGS = Probe(
    "kubeadm.settings",
    Api(
        "/api/v1/namespaces/kube-system/configmaps",
        ("metadata.name", "data.ClusterConfiguration", "data.kubelet", r"data.config\.conf"),
    ),
    parse_kubeadm_settings,
    pruner=prune_settings,
)
JOIN_TOKEN = Probe(
    "kubeadm.join-token",
    Api("/api/v1/namespaces/kube-public/configmaps", ("metadata.name", f"data.{SIGNATURE}")),
    has_join_token,
)
CERTIFICATES = Probe(
    "kubeadm.certificates",
    Lines(CERTIFICATES_SCRIPT),
    parse_certificates,
    manual_command="kubeadm certs check-expiration",
)
# etcd's metrics, kube-proxy's, the controller-manager and the scheduler.
COMPONENT_LISTENERS = Probe(
    "kubeadm.listeners",
    Lines("ss -Hltn 'sport = :2381 or sport = :10249 or sport = :10257 or sport = :10259'"),
    parse_component_listeners,
)
