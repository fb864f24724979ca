"""Health of etcd, as its own member on a control plane reports it, and the disks that it is on."""

import re
import shlex
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.files.json_text import load_json
from gpustack.probes.containerd.daemon import SOCKET
from gpustack.probes.parsing import parse_integer

WORD = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)


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


@dataclass(frozen=True)
class EtcdDisk:
    """Describe a disk by its own word. `transport` is how it is attached in lsblk's word, empty where that is
    unknown."""

    name: str
    rotational: bool
    transport: str


@dataclass(frozen=True)
class FileSystem:
    """Hold the type of a file system, as the kernel names it, and the disks below it, none where they are unknown.

    `machine` is the hypervisor in the word of systemd-detect-virt(1), `none` on hardware, and empty where the host is
    in a cluster: then no disks were asked for.
    """

    kind: str
    machine: str
    disks: tuple[EtcdDisk, ...]


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


def parse_file_system(answer: Answer) -> FileSystem:
    """Parse the file system: its type, then the machine in systemd's word and lines of lsblk, or neither where the host
    is in a cluster. Raise KeyError or ValueError where the answer has another shape."""
    kind, *lines = answer.stdout.splitlines()
    machine, *rows = lines or [""]
    if not all(WORD.fullmatch(word) for word in (kind, *lines[:1])):
        raise ValueError(answer.stdout)
    columns = [dict(field.split("=", 1) for field in shlex.split(row)) for row in rows]
    disks = {row["NAME"]: parse_disk(row) for row in columns if row["TYPE"] in ("disk", "loop")}
    return FileSystem(kind, machine, tuple(disks.values()))


def parse_disk(row: dict[str, str]) -> EtcdDisk:
    return EtcdDisk(row["NAME"], {"0": False, "1": True}[row["ROTA"]], row["TRAN"])


# Before etcd has made its directory, the nearest one above it. lsblk looks through partitions, LVM, RAID and
# encryption; what it says of disks is asked only before the host is in a cluster.
ETCD_FILE_SYSTEM = Probe(
    "etcd.file-system",
    Lines(r"""path=/var/lib/etcd
while [ ! -e "$path" ]; do path=${path%/*}; path=${path:-/}; done
mount=$(findmnt -nro FSTYPE,SOURCE -T "$path") || exit
mount=${mount##*
}
echo "${mount%% *}"
[ ! -e /etc/kubernetes/kubelet.conf ] && [ ! -e /etc/kubernetes/admin.conf ] || exit 0
machine=$(systemd-detect-virt -v)
echo "${machine:-unknown}"
device=${mount#* }
case $device in /dev/*) lsblk -snPo NAME,TYPE,ROTA,TRAN "${device%%\[*}" 2>/dev/null ;; esac
exit 0"""),
    parse_file_system,
    manual_command="findmnt -T /var/lib/etcd; lsblk -so NAME,TYPE,ROTA,TRAN; systemd-detect-virt -v",
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
    MemTotal:) total=$kilobytes ;;
    MemAvailable:) memory=$((100 * kilobytes / total)); break ;;
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
