"""The static pods of a control plane: the addresses they were made for, their proxy, how often they start, and their
CA."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.containerd.daemon import SOCKET
from gpustack.probes.control_plane.kubeadm import COMPONENTS
from gpustack.probes.log_lines import strip_prefix
from gpustack.probes.parsing import parse_integer, parse_ipv4

CONTAINER = re.compile(r"name (\S+)\nattempt ([0-9]+)\nstate (CONTAINER_[A-Z]+)\ncreatedAt ([0-9]+)[0-9]{9}\n")
FLAG = re.compile(r"--(advertise-address|etcd-servers|listen-(?:peer|client)-urls)=(\S+)")
WORDS = re.compile(rf"({'|'.join(COMPONENTS)}) (?:(runs)|(silent)|said (\S.*))")
SUM = re.compile(r"[0-9a-f]{64}")
# How Kubernetes' components and etcd name a flag or a file of theirs that they cannot use. Others of their last words
# speak of what they depend on.
REFUSALS = "unknown (shorthand )?flag|flag provided but not defined|invalid argument|no such file or directory"


@dataclass(frozen=True)
class ManifestAddresses:
    """Hold the addresses in the manifests: that of the API, and those that etcd listens on.

    `client_listeners` are address:port where etcd serves its clients, `etcd_servers` host:port where the API server
    asks for one. They are empty without a manifest.
    """

    api: str
    etcd: tuple[str, ...]
    client_listeners: tuple[str, ...] = ()
    etcd_servers: tuple[str, ...] = ()


@dataclass(frozen=True)
class ApiProxy:
    """Hold the proxy of the running API server: whether it has one, and the names that bypass it."""

    is_set: bool
    no_proxy: tuple[str, ...]


@dataclass(frozen=True)
class ComponentRun:
    """Hold the runs of one component: how often it was started in its pod, whether the newest run is going on, and its
    age in seconds.

    `previous_lifetime` is how long the run before lasted, None where there is none.
    """

    attempt: int
    running: bool
    age: int
    previous_lifetime: int | None


@dataclass(frozen=True)
class Authorities:
    """Hold hashes of the public keys of CAs: of the host's own, of the kubeconfig of root (None without one), and of
    the join order that is still on the host (empty without one)."""

    host_ca: str
    root: tuple[str, ...] | None
    join: str


def parse_manifest_addresses(answer: Answer) -> ManifestAddresses:
    matches = [FLAG.fullmatch(line) for line in answer.stdout.splitlines()]
    api, etcd = "", dict[str, list[str]]()
    for match in matches:
        if match is None:
            raise ValueError(answer.stdout)
        if match[1] == "advertise-address":
            api = parse_ipv4(match[2])
        else:
            etcd.setdefault(match[1], []).extend(url.split("//")[1] for url in match[2].split(","))
    etcd_servers, client_listeners = etcd.pop("etcd-servers", []), etcd.get("listen-client-urls", [])
    listen_addresses = {parse_ipv4(place.rsplit(":", 1)[0]) for places in etcd.values() for place in places}
    return ManifestAddresses(api, tuple(sorted(listen_addresses)), tuple(client_listeners), tuple(etcd_servers))


def parse_api_proxy(answer: Answer) -> ApiProxy | None:
    """Parse the proxy of the API server, or None where no API server has to run."""
    if not answer.stdout:
        return None
    words = answer.stdout.splitlines()
    if words[0] != "running" or not all(line == "proxy" or line.startswith("past ") for line in words[1:]):
        raise ValueError(answer.stdout)
    no_proxy = [entry for line in words[1:] if line.startswith("past ") for entry in line[5:].split(",")]
    return ApiProxy("proxy" in words, tuple(entry.strip() for entry in no_proxy if entry.strip()))


def parse_component_runs(answer: Answer) -> Mapping[str, ComponentRun]:
    """Parse the runs by component; crictl gives nanoseconds of the epoch. Raise ValueError where the answer has another
    shape."""
    first, _, rest = answer.stdout.partition("\n")
    current_time = parse_integer(first)
    if CONTAINER.sub("", rest):
        raise ValueError(answer.stdout)
    by_name: dict[str, list[tuple[int, int, bool]]] = {}
    for name, attempt, state, created_at in CONTAINER.findall(rest):
        by_name.setdefault(name, []).append(
            (parse_integer(created_at), parse_integer(attempt), state == "CONTAINER_RUNNING")
        )
    if not set(by_name) <= set(COMPONENTS):
        raise ValueError(sorted(by_name))
    return {name: build_newest_run(current_time, sorted(starts)) for name, starts in by_name.items()}


def build_newest_run(current_time: int, starts: list[tuple[int, int, bool]]) -> ComponentRun:
    created_at, attempt, is_running = starts[-1]
    return ComponentRun(
        attempt, is_running, current_time - created_at, created_at - starts[-2][0] if len(starts) > 1 else None
    )


def parse_last_logs(answer: Answer) -> Mapping[str, str]:
    """Parse the last words of components that have to run and do not: their own about their settings, or the kubelet's
    about their manifest.

    A text is empty where there are none. Raise ValueError where the answer has another shape.
    """
    *lines, end = answer.stdout.splitlines() or [""]
    matches = [WORDS.fullmatch(line) for line in lines]
    if end != "end" or None in matches:
        raise ValueError(answer.stdout)
    return {match[1]: shorten_message(strip_prefix(match[4] or "")) for match in matches if match and not match[2]}


def parse_authorities(answer: Answer) -> Authorities:
    """Parse lines `own SUM`, `root SUM` (`root -` without a file), `join SUM`."""
    host_ca, join = "", ""
    root: list[str] | None = []
    for kind, value in (line.split(" ") for line in answer.stdout.splitlines()):
        if kind == "root" and value == "-":
            root = None
        elif not SUM.fullmatch(value):
            raise ValueError(value)
        elif kind == "root" and root is not None:
            root.append(value)
        elif kind == "own":
            host_ca = value
        elif kind == "join":
            join = value
        else:
            raise ValueError(kind)
    if not answer.stdout:
        raise ValueError("nothing")
    return Authorities(host_ca, None if root is None else tuple(root), join)


MANIFEST_ADDRESSES = Probe(
    "kubeadm.manifest-addresses",
    Lines(r"""cd /etc/kubernetes/manifests 2>/dev/null || exit 0
grep -ohsE -- '--(advertise-address|etcd-servers|listen-(peer|client)-urls)=[^ ]+' kube-apiserver.yaml etcd.yaml
exit 0"""),
    parse_manifest_addresses,
    manual_command="grep -E 'advertise-address|etcd-servers|listen-' /etc/kubernetes/manifests/*.yaml",
)
# Of a proxy nothing is printed, since its address can have a login; what goes past it has none.
API_PROXY = Probe(
    "kubeadm.api-proxy",
    Lines(r"""[ -e /etc/kubernetes/manifests/kube-apiserver.yaml ] || exit 0
pid=$(pgrep -o -x kube-apiserver) || exit
echo running
grep -qziE '^(https?|no)_proxy=.' "/proc/$pid/environ" || exit 0
tr '\0' '\n' <"/proc/$pid/environ" | grep -qiE '^https?_proxy=.' && echo proxy
tr '\0' '\n' <"/proc/$pid/environ" | sed -nE 's/^(NO_PROXY|no_proxy)=(.*)/past \2/p'
exit 0"""),
    parse_api_proxy,
    manual_command="tr '\\0' '\\n' </proc/$(pgrep -x kube-apiserver)/environ",
)
# crictl has no template for its list, and of its JSON this is all that is read.
STATIC_PODS = Probe(
    "kubeadm.static-pods",
    Lines(rf"""date +%s
containers=$(crictl --runtime-endpoint {SOCKET} ps -a -o json --name '^({"|".join(COMPONENTS)})$') || exit
echo "$containers" | sed -nE 's/^ {{6}}"(state|createdAt)": "([^"]*)",?$/\1 \2/p
  s/^ {{8}}"(name|attempt)": "?([^",]*)"?,?$/\1 \2/p'"""),
    parse_component_runs,
    manual_command="crictl ps -a",
)
FIND_LOG = read_script(__file__, "find_log.sh")
# In a log of the CRI the words come after time, stream and tag. The kubelet looks at its manifests every 20 seconds.
LAST_LOGS = Probe(
    "kubeadm.last-log",
    Lines(
        FIND_LOG
        + read_script(__file__, "last_words.sh")
        .replace("COMPONENTS", " ".join(COMPONENTS))
        .replace("REFUSALS", REFUSALS)
    ),
    parse_last_logs,
    manual_command="crictl ps -a; journalctl -u kubelet | grep manifest",
)
# As kubeadm computes caCertHashes: SHA-256 of the public key in DER.
AUTHORITIES = Probe(
    "kubeadm.authorities",
    Lines(r"""sum() {
  key=$(openssl x509 -pubkey -noout 2>/dev/null) && [ -n "$key" ] || return 0
  key=${key#*-----BEGIN PUBLIC KEY-----}
  sum_line=$(echo "${key%-----END*}" | base64 -d | sha256sum)
  echo "${sum_line%% *}"
}
file=/etc/kubernetes/pki/ca.crt authority_sum='' authority_text=''
[ ! -e "$file" ] || { authority_sum=$(sum <"$file") authority_text=$(base64 -w 0 "$file"); }
[ -z "$authority_sum" ] || echo "own $authority_sum"
if [ -e /root/.kube/config ]; then
  sed -n 's/^ *certificate-authority-data: *//p' /root/.kube/config | while read -r data; do
    sum_line=$authority_sum
    [ -n "$authority_sum" ] && [ "$data" = "$authority_text" ] || sum_line=$(echo "$data" | base64 -d 2>/dev/null | sum)
    [ -z "$sum_line" ] || echo "root $sum_line"
  done
else
  echo 'root -'
fi
file=/run/gpustack-join.yaml
[ ! -e "$file" ] || sed -nE '/.*sha256:([0-9a-f]{64}).*/{s//join \1/p;q}' "$file"
exit 0"""),
    parse_authorities,
    manual_command="openssl x509 -pubkey -noout -in /etc/kubernetes/pki/ca.crt"
    " | openssl pkey -pubin -outform der | sha256sum",
)
