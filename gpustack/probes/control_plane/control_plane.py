"""The static pods of a control plane: the addresses they were made for, their proxy, how often they start, their CA."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.containerd.daemon import SOCKET
from gpustack.probes.control_plane.kubeadm import COMPONENTS
from gpustack.probes.log_lines import strip_prefix
from gpustack.probes.parsing import ipv4, number

CONTAINER = re.compile(r"name (\S+)\nattempt ([0-9]+)\nstate (CONTAINER_[A-Z]+)\ncreatedAt ([0-9]+)[0-9]{9}\n")
FLAG = re.compile(r"--(advertise-address|etcd-servers|listen-(?:peer|client)-urls)=(\S+)")
WORDS = re.compile(rf"({'|'.join(COMPONENTS)}) (?:(runs)|(silent)|said (\S.*))")
SUM = re.compile(r"[0-9a-f]{64}")
# How Kubernetes' components and etcd name a flag or a file of theirs that they cannot use. Others of their last words
# speak of what they depend on.
REFUSALS = "unknown (shorthand )?flag|flag provided but not defined|invalid argument|no such file or directory"


@dataclass(frozen=True)
class MadeFor:
    """Addresses in the manifests: that of the API, and those that etcd listens on. `serves` are address:port of etcd
    for its clients, `asks` host:port where the API server asks for one. Empty without a manifest."""

    api: str
    etcd: tuple[str, ...]
    serves: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()


@dataclass(frozen=True)
class ApiProxy:
    """Of the running API server: whether it has a proxy, and what goes past it."""

    set: bool
    past: tuple[str, ...]


@dataclass(frozen=True)
class Started:
    """One component: how often it was started in its pod, whether the newest one runs, its age in seconds; `lived` is
    how long the one before lasted until then, None where there is none."""

    attempt: int
    running: bool
    age: int
    lived: int | None


@dataclass(frozen=True)
class Authorities:
    """Hashes of the public keys of CAs: of the host's own, of the kubeconfig of root (None without one), and the one in
    the order to join that is still lying there (empty without)."""

    own: str
    root: tuple[str, ...] | None
    join: str


def made_for(answer: Answer) -> MadeFor:
    found = [FLAG.fullmatch(line) for line in answer.out.splitlines()]
    api, etcd = "", dict[str, list[str]]()
    for one in found:
        if one is None:
            raise ValueError(answer.out)
        if one[1] == "advertise-address":
            api = ipv4(one[2])
        else:
            etcd.setdefault(one[1], []).extend(url.split("//")[1] for url in one[2].split(","))
    asks, serves = etcd.pop("etcd-servers", []), etcd.get("listen-client-urls", [])
    listens = {ipv4(place.rsplit(":", 1)[0]) for places in etcd.values() for place in places}
    return MadeFor(api, tuple(sorted(listens)), tuple(serves), tuple(asks))


def api_proxy(answer: Answer) -> ApiProxy | None:
    """None where no API server has to run."""
    if not answer.out:
        return None
    words = answer.out.splitlines()
    if words[0] != "running" or not all(line == "proxy" or line.startswith("past ") for line in words[1:]):
        raise ValueError(answer.out)
    past = [entry for line in words[1:] if line.startswith("past ") for entry in line[5:].split(",")]
    return ApiProxy("proxy" in words, tuple(entry.strip() for entry in past if entry.strip()))


def read_started(answer: Answer) -> Mapping[str, Started]:
    """By component; crictl gives nanoseconds of the epoch. Raises ValueError for another shape."""
    first, _, rest = answer.out.partition("\n")
    now = number(first)
    if CONTAINER.sub("", rest):
        raise ValueError(answer.out)
    by_name: dict[str, list[tuple[int, int, bool]]] = {}
    for name, attempt, state, at in CONTAINER.findall(rest):
        by_name.setdefault(name, []).append((number(at), number(attempt), state == "CONTAINER_RUNNING"))
    if not set(by_name) <= set(COMPONENTS):
        raise ValueError(sorted(by_name))
    return {name: newest(now, sorted(found)) for name, found in by_name.items()}


def newest(now: int, found: list[tuple[int, int, bool]]) -> Started:
    at, attempt, runs = found[-1]
    return Started(attempt, runs, now - at, at - found[-2][0] if len(found) > 1 else None)


def last_words(answer: Answer) -> Mapping[str, str]:
    """Of components that have to run and do not, what they said of their settings before they ended, or the kubelet of
    their manifest; empty where that was nothing. Raises ValueError for another shape."""
    *lines, end = answer.out.splitlines() or [""]
    found = [WORDS.fullmatch(line) for line in lines]
    if end != "end" or None in found:
        raise ValueError(answer.out)
    return {one[1]: strip_prefix(one[4] or "") for one in found if one and not one[2]}


def authorities(answer: Answer) -> Authorities:
    """Lines `own SUM`, `root SUM` (`root -` without a file), `join SUM`."""
    own, join = "", ""
    root: list[str] | None = []
    for kind, value in (line.split(" ") for line in answer.out.splitlines()):
        if kind == "root" and value == "-":
            root = None
        elif not SUM.fullmatch(value):
            raise ValueError(value)
        elif kind == "root" and root is not None:
            root.append(value)
        elif kind == "own":
            own = value
        elif kind == "join":
            join = value
        else:
            raise ValueError(kind)
    if not answer.out:
        raise ValueError("nothing")
    return Authorities(own, None if root is None else tuple(root), join)


MADE_FOR = Probe(
    "kubeadm.manifest-addresses",
    Lines(r"""cd /etc/kubernetes/manifests 2>/dev/null || exit 0
grep -ohsE -- '--(advertise-address|etcd-servers|listen-(peer|client)-urls)=[^ ]+' kube-apiserver.yaml etcd.yaml
exit 0"""),
    made_for,
    like="grep -E 'advertise-address|etcd-servers|listen-' /etc/kubernetes/manifests/*.yaml",
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
    api_proxy,
    like="tr '\\0' '\\n' </proc/$(pgrep -x kube-apiserver)/environ",
)
# crictl has no template for its list, and of its JSON this is all that is read.
STARTED = Probe(
    "kubeadm.static-pods",
    Lines(rf"""date +%s
found=$(crictl --runtime-endpoint {SOCKET} ps -a -o json --name '^({"|".join(COMPONENTS)})$') || exit
echo "$found" | sed -nE 's/^ {{6}}"(state|createdAt)": "([^"]*)",?$/\1 \2/p
  s/^ {{8}}"(name|attempt)": "?([^",]*)"?,?$/\1 \2/p'"""),
    read_started,
    like="crictl ps -a",
)
# In a log of the CRI the words come after time, stream and tag. The kubelet looks at its manifests every 20 seconds.
LAST_WORDS = Probe(
    "kubeadm.last-log",
    Lines(
        read_script(__file__, "last_words.sh").replace("COMPONENTS", " ".join(COMPONENTS)).replace("REFUSALS", REFUSALS)
    ),
    last_words,
    like="crictl ps -a; journalctl -u kubelet | grep manifest",
)
# As kubeadm computes caCertHashes: SHA-256 of the public key in DER.
AUTHORITIES = Probe(
    "kubeadm.authorities",
    Lines(r"""sum() {
  key=$(openssl x509 -pubkey -noout 2>/dev/null) && [ -n "$key" ] || return 0
  key=${key#*-----BEGIN PUBLIC KEY-----}
  found=$(echo "${key%-----END*}" | base64 -d | sha256sum)
  echo "${found%% *}"
}
file=/etc/kubernetes/pki/ca.crt own='' encoded=''
[ ! -e "$file" ] || { own=$(sum <"$file") encoded=$(base64 -w 0 "$file"); }
[ -z "$own" ] || echo "own $own"
if [ -e /root/.kube/config ]; then
  sed -n 's/^ *certificate-authority-data: *//p' /root/.kube/config | while read -r data; do
    found=$own
    [ -n "$own" ] && [ "$data" = "$encoded" ] || found=$(echo "$data" | base64 -d 2>/dev/null | sum)
    [ -z "$found" ] || echo "root $found"
  done
else
  echo 'root -'
fi
file=/run/gpustack-join.yaml
[ ! -e "$file" ] || sed -nE '/.*sha256:([0-9a-f]{64}).*/{s//join \1/p;q}' "$file"
exit 0"""),
    authorities,
    like="openssl x509 -pubkey -noout -in /etc/kubernetes/pki/ca.crt | openssl pkey -pubin -outform der | sha256sum",
)
