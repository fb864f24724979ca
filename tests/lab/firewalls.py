"""Hosts with a firewall of their own, as operators write them, each denying by default; and real packets to try it."""

import json
from collections.abc import Mapping, Sequence

from gpustack import lab

QUIET = (
    "export DEBIAN_FRONTEND=noninteractive\napt-get install -qy --no-install-recommends {} >/dev/null 2>&1 || exit 9\n"
)
# 192.0.2.99 and port 9999 are the operator's own business: they must come through everything unchanged.
UFW = QUIET.format("ufw") + "ufw allow 22/tcp; ufw deny from 192.0.2.99; ufw allow 9999/tcp; ufw --force enable"
FIREWALLD = (
    QUIET.format("firewalld")
    + "firewall-cmd --permanent --zone=public --add-port=9999/tcp; firewall-cmd --permanent --zone=drop"
    " --add-source=192.0.2.99; firewall-cmd --reload"
)
NFTABLES = r"""cat >/etc/nftables.conf <<'RULES'
#!/usr/sbin/nft -f
flush ruleset

table inet filter {
	chain input {
		type filter hook input priority filter; policy drop;
		ct state vmap { established : accept, related : accept, invalid : drop }
		iifname "lo" accept
		meta l4proto { icmp, ipv6-icmp } accept
		ip saddr 192.0.2.99 drop
		tcp dport { 22, 9999 } accept comment "ssh"
		counter log prefix "in: " flags all reject with icmpx admin-prohibited
	}
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
	}
}
RULES
systemctl enable -q nftables; systemctl restart nftables
"""
# The last rules are those of several cloud images.
IPTABLES = (
    r"""mkdir -p /etc/iptables
cat >/etc/iptables/rules.v4 <<'RULES'
*filter
:INPUT DROP [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:LOGDROP - [0:0]
-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A INPUT -p icmp -j ACCEPT
-A INPUT -s 192.0.2.99/32 -j DROP
-A INPUT -p tcp -m conntrack --ctstate NEW -m multiport --dports 22,9999 -j ACCEPT
-A INPUT -j LOGDROP
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -j REJECT --reject-with icmp-host-prohibited
-A LOGDROP -m limit --limit 5/min -j LOG --log-prefix "dropped: "
-A LOGDROP -j DROP
COMMIT
RULES
for family in v4 v6; do echo "iptables-persistent iptables-persistent/autosave_$family boolean false"; done |
  debconf-set-selections
"""
    + QUIET.format("iptables-persistent")
    + "systemctl restart netfilter-persistent"
)
MANAGERS = {"ufw": UFW, "firewalld": FIREWALLD, "nftables": NFTABLES, "iptables": IPTABLES}

# What takes ours out of the kernel or the store, or puts something before it; each is mended by one play.
DRIFTS = {
    "ufw": (
        "ufw --force delete allow 30000:32767/udp",
        "iptables -S ufw-user-input | grep -m1 10250 | sed s/-A/-D/ | xargs iptables",
    ),
    "firewalld": (
        "firewall-cmd --permanent --delete-policy=gpustack-forward; firewall-cmd --reload",
        "firewall-cmd --policy=gpustack-in --remove-rich-rule='rule family=ipv4 port port=10256 protocol=tcp accept'",
        "firewall-cmd --zone=trusted --remove-source=10.244.0.0/16",
    ),
    "nftables": (
        "nft -f /etc/nftables.conf",
        "nft flush chain inet filter gpustack_in",
        "nft insert rule inet filter forward reject",
        "rm /etc/systemd/system/nftables.service.d/gpustack.conf; systemctl daemon-reload",
    ),
    "iptables": (
        "iptables -D INPUT -j GPUSTACK-IN",
        "iptables -F GPUSTACK-FWD",
        "iptables -I FORWARD -j REJECT",
        "rm /usr/share/netfilter-persistent/plugins.d/50-gpustack",
    ),
}
# What operators do with their firewall; ours is still there afterwards.
RELOADS = {
    "ufw": "ufw reload",
    "firewalld": "firewall-cmd --reload && systemctl restart firewalld",
    "nftables": "systemctl reload nftables && systemctl restart nftables",
    "iptables": "netfilter-persistent reload && systemctl restart netfilter-persistent",
}

# What the host has for rules, without counters. Firewalld makes its table anew at every change: its own words count.
RULES = r"""iptables -S; systemctl -q is-active firewalld || nft -s list ruleset
cat /etc/iptables/rules.v4 /etc/nftables.conf /etc/default/ufw /etc/ufw/ufw.conf /etc/firewalld/zones/*.xml 2>/dev/null
ufw show added 2>/dev/null; firewall-cmd --list-all-zones 2>/dev/null; :
"""
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
LISTEN = r"""import select, socket, sys
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
        for attempt in range(1 if proto == "tcp" else 3):
            s.connect((address, int(port)))
            if proto == "tcp":
                return True
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


def root(at: lab.Lab, host: str, script: str) -> str:
    done = at.exec(host, ["sudo", "sh"], text=script)
    assert done.returncode == 0, f"{host}: {done.stderr}\n{done.stdout}"
    return done.stdout


def python(at: lab.Lab, host: str, program: str, words: Sequence[str], *, netns: str = "") -> str:
    inside = ["ip", "netns", "exec", netns] if netns else []
    done = at.exec(host, ["sudo", *inside, "python3", "-", *words], text=program)
    assert done.returncode == 0, f"{host}: {done.stderr}"
    return done.stdout


def listen(at: lab.Lab, host: str, address: str, ports: Sequence[str], *, netns: str = "") -> None:
    """Answers on `tcp/N` and `udp/N` of the address until the host ends."""
    unit, inside = f"listen-{netns or 'host'}", f"ip netns exec {netns} " if netns else ""
    root(
        at,
        host,
        f"cat >/run/listen.py <<'PROGRAM'\n{LISTEN}PROGRAM\n"
        f"systemd-run --quiet --collect --unit={unit} {inside}python3 /run/listen.py {address} {' '.join(ports)}\n"
        f"for i in 1 2 3 4 5 6 7 8 9 10; do journalctl -qu {unit} | grep -q listening && exit; sleep 1; done; exit 1\n",
    )


def dial(at: lab.Lab, host: str, words: Sequence[str], *, netns: str = "") -> Mapping[str, bool]:
    """Of each `PROTO/ADDRESS/PORT`, whether somebody answered."""
    answered: Mapping[str, bool] = json.loads(python(at, host, DIAL, words, netns=netns))
    return answered


def give_pods(at: lab.Lab, ports: Sequence[str]) -> None:
    """One pod per host, 10.244.1.5 and 10.244.2.5; listeners in pods and on hosts."""
    one, two = at.hosts
    for host, peer, n, m in ((one, two, 1, 2), (two, one, 2, 1)):
        root(at, host.name, POD.format(n=n, m=m, peer=peer.address))
        listen(at, host.name, host.address, ports)
        listen(at, host.name, f"10.244.{n}.5", ports, netns="pod")
