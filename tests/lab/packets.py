"""Real packets: who reaches which ports of hosts and pods, tried by connecting, not by reading rules."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from socket import AF_INET, SOCK_STREAM, socket

from gpustack_lab import lab
from tests.lab.firewalls import run_as_root

PORTS = [
    *("tcp/6443", "tcp/10250", "tcp/10256", "tcp/8081", "tcp/9100", "tcp/30080", "tcp/10249", "tcp/10257", "tcp/10259"),
    *("tcp/2381", "udp/30080", "udp/8472", "tcp/9999", "tcp/7777", "tcp/2379"),
]
CONTROL_PLANE = {"tcp/6443", "tcp/10257", "tcp/10259", "tcp/2381"}
NOT_FROM_PODS = {"tcp/8081", "udp/8472"}
# For the clients of the spec: kube-proxy's health, and NodePorts, of which this lab has no Service. The stranger is the
# machine that installs: without clients in the spec it reaches the API.
FROM_CLIENTS = {"tcp/10256", "tcp/30080", "udp/30080"}
FROM_ANYWHERE = {"tcp/6443", "tcp/9999"}
# What monitoring has listen on all addresses: kept from strangers even where there is no firewall.
METRICS, OF_EVERY_NODE = {"tcp/2381", "tcp/10249", "tcp/10257", "tcp/10259"}, "tcp/10249"
# The operator's own rule opens 9999. Nobody opens 7777, and etcd is for control planes: here there is one, itself.
ALWAYS_OPEN, NEVER_OPEN = "tcp/9999", {"tcp/7777", "tcp/2379"}
FOREIGN_PORT = 30081

# A pod without Kubernetes: an address of the pod network behind an interface cni0, routed to between the hosts.
POD = r"""ip netns add pod
ip link add cni0 type veth peer name eth0 netns pod
ip addr add 10.244.{n}.1/24 dev cni0
ip link set cni0 up
ip netns exec pod ip addr add 10.244.{n}.5/24 dev eth0
ip netns exec pod ip link set eth0 up
ip netns exec pod ip route add default via 10.244.{n}.1
ip route replace 10.244.{m}.0/24 via {peer}
sysctl -qw net.ipv4.ip_forward=1
"""
LISTENER = r"""import select, socket, sys
poll, by = select.poll(), {}
for word in sys.argv[2:]:
    proto, port = word.split("/")
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if proto == "tcp" else socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((sys.argv[1], int(port)))
    if proto == "tcp":
        s.listen(16)
    by[s.fileno()] = s
    poll.register(s, select.POLLIN)
print("listening", flush=True)
while True:
    for fd, _ in poll.poll():
        if by[fd].type == socket.SOCK_STREAM:
            by[fd].accept()[0].close()
        else:
            _, peer = by[fd].recvfrom(64)
            by[fd].sendto(b"pong", peer)
"""
DIAL = r"""import json, socket, sys
from concurrent.futures import ThreadPoolExecutor
def dial(word):
    proto, address, port = word.split("/")
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if proto == "tcp" else socket.SOCK_DGRAM)
    s.settimeout(2)
    try:
        s.connect((address, int(port)))
        if proto == "tcp":
            return True
        for attempt in range(2):
            try:
                s.send(b"ping")
                return s.recv(64) == b"pong"
            except TimeoutError:
                pass
    except OSError:
        pass
    return False
with ThreadPoolExecutor(32) as pool:
    print(json.dumps(dict(zip(sys.argv[1:], pool.map(dial, sys.argv[1:])))))
"""


def listen(running_lab: lab.Lab, host: str, address: str, ports: Sequence[str], *, netns: str = "") -> None:
    """Answer on `tcp/N` and `udp/N` of the address until the host ends."""
    unit, prefix = f"listen-{netns or 'host'}", f"ip netns exec {netns} " if netns else ""
    run_as_root(
        running_lab,
        host,
        f"cat >/run/listen.py <<'PROGRAM'\n{LISTENER}PROGRAM\n"
        f"systemd-run --quiet --collect --unit={unit} {prefix}python3 /run/listen.py {address} {' '.join(ports)}\n"
        f"for i in 1 2 3 4 5 6 7 8 9 10; do journalctl -qu {unit} | grep -q listening && exit; sleep 1; done; exit 1\n",
    )


def give_pods(running_lab: lab.Lab) -> None:
    """Give each host one pod, 10.244.1.5 and 10.244.2.5, with listeners in pods and on hosts."""
    host1, two = running_lab.hosts
    for host, peer, n, m in ((host1, two, 1, 2), (two, host1, 2, 1)):
        run_as_root(running_lab, host.name, POD.format(n=n, m=m, peer=peer.address))
        listen(running_lab, host.name, host.address, PORTS)
        listen(running_lab, host.name, f"10.244.{n}.5", PORTS, netns="pod")


def dial_ports(command: Sequence[str], words: Sequence[str]) -> set[str]:
    """Dial each `PROTO/ADDRESS/PORT`, and return as PROTO/PORT those that answer."""
    process = subprocess.run(
        [*command, "-", *words], input=DIAL, capture_output=True, text=True, timeout=90, check=False
    )
    assert process.returncode == 0, f"{command}: {process.stderr}"
    answers: Mapping[str, bool] = json.loads(process.stdout)
    parts = (word.split("/") for word, ok in answers.items() if ok)
    return {f"{proto}/{port}" for proto, _, port in parts}


@contextmanager
def listen_outside(running_lab: lab.Lab) -> Iterator[str]:
    """Listen on this machine, which is on the hosts' network and no node."""
    with socket(AF_INET, SOCK_STREAM) as listening:
        listening.bind((running_lab.record.gateway, 0))
        listening.listen(64)
        yield "tcp/{}/{}".format(*listening.getsockname())


def list_tries(running_lab: lab.Lab, outside_port: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """List what is tried: its name, the command to try it with, and `PROTO/ADDRESS/PORT` of each."""
    host1, two = running_lab.hosts
    local_command = [sys.executable]
    for host, peer, foreign_address in ((host1, two, "10.244.2.5"), (two, host1, "10.244.1.5")):
        words = [port.replace("/", f"/{host.address}/") for port in PORTS]
        pods = [f"tcp/{foreign_address}/9100", f"udp/{foreign_address}/30080"]
        name, on, of_peer = (
            host.name,
            [*running_lab.build_ssh_command(host.name), "sudo", "python3"],
            [*running_lab.build_ssh_command(peer.name), "python3"],
        )
        pod_command = [*running_lab.build_ssh_command(host.name), "sudo", "ip", "netns", "exec", "pod", "python3"]
        yield f"{name} from the other node", of_peer, words
        yield f"{name} from itself", on, words
        yield f"{name} from a pod of its own", pod_command, words
        yield f"{name} from a stranger", local_command, words
        yield f"pod from pod of {name}", pod_command, pods
        yield f"pod from {name}", on, pods
        yield f"own pod from {name}", on, [f"tcp/10.244.{1 if host is host1 else 2}.5/9100"]
        yield f"node from pod of {name}", pod_command, [f"tcp/{peer.address}/10250"]
        yield f"stranger from {name}", on, [outside_port]


def find_reached(running_lab: lab.Lab) -> dict[str, set[str]]:
    """Find who reaches what, all tried at once. A stranger's port is written as tcp/0."""
    with listen_outside(running_lab) as outside_address, ThreadPoolExecutor(8) as pool:
        tries = list(list_tries(running_lab, outside_address))
        answers_of_tries = pool.map(lambda attempt: dial_ports(attempt[1], attempt[2]), tries)
        return {
            attempt[0]: {"tcp/0"} if attempt[0].startswith("stranger") and answers else answers
            for attempt, answers in zip(tries, answers_of_tries, strict=True)
        }


def count_tries(running_lab: lab.Lab) -> int:
    return sum(len(words) for _, _, words in list_tries(running_lab, "tcp/0/0"))


def list_open_before(running_lab: lab.Lab) -> dict[str, set[str]]:
    """List what the operator's own rules let pass before an installation."""
    expected_ports: dict[str, set[str]] = {}
    for host in running_lab.hosts:
        expected_ports |= {f"{host.name} from {source}": {ALWAYS_OPEN} for source in ("the other node", "a stranger")}
        expected_ports[f"{host.name} from itself"] = set(PORTS)
        expected_ports[f"{host.name} from a pod of its own"] = {ALWAYS_OPEN}
        expected_ports |= {f"pod from pod of {host.name}": set(), f"pod from {host.name}": set()}
        expected_ports |= {f"own pod from {host.name}": set(), f"node from pod of {host.name}": set()}
        expected_ports[f"stranger from {host.name}"] = set()
    return expected_ports


def list_expected(running_lab: lab.Lab, *, pods_are_trusted: bool = False) -> dict[str, set[str]]:
    """List what may pass after it: the flows of a cluster, the operator's own port, and nothing else."""
    expected_ports: dict[str, set[str]] = {}
    for host in running_lab.hosts:
        mine = {
            port
            for port in PORTS
            if port not in NEVER_OPEN | FROM_CLIENTS and (host is running_lab.hosts[0] or port not in CONTROL_PLANE)
        }
        expected_ports[f"{host.name} from the other node"] = mine
        # Loopback is open in each of these firewalls.
        expected_ports[f"{host.name} from itself"] = set(PORTS)
        expected_ports[f"{host.name} from a pod of its own"] = set(PORTS) if pods_are_trusted else mine - NOT_FROM_PODS
        expected_ports[f"{host.name} from a stranger"] = mine & FROM_ANYWHERE
        expected_ports |= {f"pod from {source}{host.name}": {"tcp/9100", "udp/30080"} for source in ("pod of ", "")}
        expected_ports |= {f"own pod from {host.name}": {"tcp/9100"}, f"node from pod of {host.name}": {"tcp/10250"}}
        expected_ports[f"stranger from {host.name}"] = set()
    return expected_ports


def list_all(running_lab: lab.Lab) -> dict[str, set[str]]:
    """List what passes without a firewall."""
    return {
        name: {"tcp/0"}
        if name.startswith("stranger")
        else {f"{p}/{n}" for p, _, n in (word.split("/") for word in words)}
        for name, _, words in list_tries(running_lab, "tcp/0/0")
    }


def list_guarded(running_lab: lab.Lab) -> dict[str, set[str]]:
    """List what passes without a firewall after the installation: strangers do not get at the metrics of this host."""
    plane, worker = (host.name for host in running_lab.hosts)
    shut = {f"{plane} from a stranger": METRICS, f"{worker} from a stranger": {OF_EVERY_NODE}}
    return {name: answers - shut.get(name, set()) for name, answers in list_all(running_lab).items()}
