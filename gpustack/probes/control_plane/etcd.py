"""Health of etcd, as its own member on a control plane reports it."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.files.json_text import load_json
from gpustack.probes.containerd.daemon import SOCKET
from gpustack.probes.parsing import parse_integer


@dataclass(frozen=True)
class Health:
    """Hold the health of etcd. `reason` is etcd's own, such as `ALARM NOSPACE`."""

    healthy: bool
    reason: str


@dataclass(frozen=True)
class SlowRequests:
    """Count in five minutes how often a write took longer than a second to be on disk, and how many images were pulled.

    `memory` is the memory available at the time of the question, in per cent.
    """

    times: int
    pulls: int
    memory: int


def parse_etcd_health(answer: Answer) -> Health | None:
    """Parse the health of etcd, or None where no etcd of a control plane has to run.

    Raise KeyError or ValueError where the answer has another shape.
    """
    if not answer.stdout:
        return None
    document = load_json(answer.stdout)
    return Health({"true": True, "false": False}[document["health"]], str(document.get("reason", "")))


def parse_slow_requests(answer: Answer) -> SlowRequests:
    return SlowRequests(*map(parse_integer, answer.stdout.split()))


def parse_file_system(answer: Answer) -> str:
    """Parse the type of a file system, as the kernel names it. Raise ValueError where the answer has another shape."""
    (word,) = answer.stdout.split()
    return word


# Before etcd has made its directory, the nearest one above it.
ETCD_FILE_SYSTEM = Probe(
    "etcd.file-system",
    Lines(r"""path=/var/lib/etcd
while [ ! -e "$path" ]; do path=${path%/*}; path=${path:-/}; done
findmnt -nro FSTYPE -T "$path" | tail -n 1"""),
    parse_file_system,
    manual_command="findmnt -T /var/lib/etcd",
)
HEALTH = Probe(
    "etcd.health",
    Lines(r"""file=/etc/kubernetes/manifests/etcd.yaml
[ -e "$file" ] || exit 0
place=$(sed -nE '/.*--listen-metrics-urls=([^, ]+).*/{s//\1/;s/0\.0\.0\.0/127.0.0.1/;p}' "$file")
curl -s --noproxy '*' -m "$((4 * ${TIMEOUT_FACTOR:-1}))" "$place/health" && echo"""),
    parse_etcd_health,
    manual_command="curl http://127.0.0.1:2381/health",
)
SLOW_REQUESTS = Probe(
    "etcd.slow-requests",
    Lines(rf"""while read -r name kilobytes _; do
  case $name in
    MemTotal:) all=$kilobytes ;;
    MemAvailable:) memory=$((100 * kilobytes / all)); break ;;
  esac
done </proc/meminfo
[ -e /etc/kubernetes/manifests/etcd.yaml ] || {{ echo "0 0 $memory"; exit 0; }}
id=$(crictl --runtime-endpoint {SOCKET} ps -a -q --name '^etcd$')
id=${{id%%
*}}
[ -n "$id" ] || exit
output=$(crictl --runtime-endpoint {SOCKET} logs --since 5m "$id" 2>&1) || exit
times=0 pulls=0
case $output in *'slow fdatasync'*) times=$(printf '%s\n' "$output" | grep -c 'slow fdatasync') ;; esac
output=$(journalctl -u containerd --since -5min -o cat --no-pager 2>/dev/null) || exit
case $output in *'msg="PullImage'*) pulls=$(printf '%s\n' "$output" | grep -c 'msg="PullImage') ;; esac
echo "$times $pulls $memory" """),
    parse_slow_requests,
    manual_command="crictl logs --since 5m ETCD | grep -c 'slow fdatasync'",
)
