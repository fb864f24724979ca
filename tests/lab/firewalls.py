"""Hosts with a firewall of their own, as operators write them: nothing in, through or out but what they named.

192.0.2.99 and port 9999 are the operator's own business and must come through everything unchanged; 192.0.2.66 is one
that a tool like fail2ban has shut out at run time, in the words of its actions iptables-multiport and nftables. What
the hosts themselves need, packages, images and names, is let out.
"""

import re
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from gpustack_lab import lab

DOWNLOAD = """set -e; apt-get -q update
for one in ufw firewalld iptables-persistent; do
  apt-get -qy install --download-only --no-install-recommends $one
done
"""
QUIET = (
    "export DEBIAN_FRONTEND=noninteractive\napt-get install -qy --no-install-recommends {} >/dev/null 2>&1 || exit 9\n"
)
UFW = QUIET.format("ufw") + (
    "ufw default deny incoming; ufw default deny routed; ufw default deny outgoing; ufw allow 22/tcp\n"
    "ufw deny from 192.0.2.99; ufw allow 9999/tcp; ufw allow out 9999/tcp; ufw allow out 80,443,8480/tcp\n"
    "ufw allow out 53; ufw --force enable"
)
# One host lives in the zone public, the other in drop.
FIREWALLD = (
    QUIET.format("firewalld")
    + r"""[ "$(hostname)" = host1 ] && zone=public || zone=drop
keep() { firewall-cmd --permanent "$@" || exit 9; }
# polkit brings user managers along, which do not notice in a container's cgroups of version 1 that they are empty.
mkdir -p /etc/systemd/system/user@.service.d
printf '[Service]\nTimeoutStopSec=5\n' >/etc/systemd/system/user@.service.d/lab.conf
systemctl daemon-reload
firewall-cmd --set-default-zone=$zone
keep --zone=$zone --add-service=ssh
keep --zone=$zone --add-port=9999/tcp
keep --zone=block --add-source=192.0.2.99
keep --new-policy=quiet
keep --policy=quiet --add-ingress-zone=HOST
keep --policy=quiet --add-egress-zone=ANY
keep --policy=quiet --set-target=DROP
keep --policy=quiet --add-port=9999/tcp
keep --policy=quiet --add-port=80/tcp --add-port=443/tcp --add-port=8480/tcp
keep --policy=quiet --add-service=dns
firewall-cmd --reload
"""
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
	chain output {
		type filter hook output priority filter; policy drop;
		ct state established,related accept
		oifname "lo" accept
		meta l4proto { icmp, ipv6-icmp } accept
		tcp dport { 80, 443, 8480, 9999 } accept
		meta l4proto { tcp, udp } th dport 53 accept
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
:OUTPUT DROP [0:0]
:LOGDROP - [0:0]
-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A INPUT -i lo -j ACCEPT
-A INPUT -p icmp -j ACCEPT
-A INPUT -s 192.0.2.99/32 -j DROP
-A INPUT -p tcp -m conntrack --ctstate NEW -m multiport --dports 22,9999 -j ACCEPT
-A INPUT -j LOGDROP
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -j REJECT --reject-with icmp-host-prohibited
-A OUTPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A OUTPUT -o lo -j ACCEPT
-A OUTPUT -p tcp -m multiport --dports 80,443,8480,9999 -j ACCEPT
-A OUTPUT -p udp -m udp --dport 53 -j ACCEPT
-A OUTPUT -j LOGDROP
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

BAN_BY_NFT = r"""nft -f - <<'RULES'
table inet f2b-table {
	set addr-set-sshd { type ipv4_addr; elements = { 192.0.2.66 } }
	chain f2b-chain {
		type filter hook input priority filter - 1; policy accept;
		tcp dport 22 ip saddr @addr-set-sshd reject
	}
}
RULES
"""
BAN_BY_IPTABLES = """iptables -N f2b-sshd; iptables -A f2b-sshd -j RETURN
iptables -I INPUT -p tcp -m multiport --dports ssh -j f2b-sshd; iptables -I f2b-sshd 1 -s 192.0.2.66 -j REJECT
"""
BANS = {"ufw": BAN_BY_IPTABLES, "firewalld": BAN_BY_NFT, "nftables": BAN_BY_NFT, "iptables": BAN_BY_IPTABLES}
BANNED_TRAFFIC = {
    BAN_BY_NFT: "nft list chain inet f2b-table f2b-chain && nft list set inet f2b-table addr-set-sshd",
    BAN_BY_IPTABLES: "iptables -S f2b-sshd && iptables -S INPUT 1",
}

# What takes ours out of the kernel or the store, or puts something before it; each is fixed by one play.
DRIFTS = {
    "ufw": (
        r"""ufw show added | sed -n "s/^ufw allow from \(.*\) comment 'gpustack-cluster'\$/\1/p" | head -n 1 |
        xargs ufw --force delete allow from
        ufw --force delete allow out to 10.244.0.0/16
        """,
        "iptables -S ufw-user-input | grep -m1 10250 | sed s/-A/-D/ | xargs iptables",
    ),
    "firewalld": (
        """for end in forward out; do firewall-cmd --permanent --delete-policy=gpustack-$end; done
        firewall-cmd --reload
        """,
        """rule='rule family="ipv4" source address="10.244.0.0/16" port port="10250" protocol="tcp" accept'
        firewall-cmd --policy=gpustack-in --remove-rich-rule="$rule"
        firewall-cmd --zone=trusted --remove-source=10.244.0.0/16
        """,
    ),
    "nftables": (
        "nft -f /etc/nftables.conf; rm /etc/systemd/system/nftables.service.d/gpustack.conf; systemctl daemon-reload",
        "nft flush chain inet filter gpustack_out; nft insert rule inet filter forward reject",
    ),
    "iptables": (
        "iptables -D INPUT -j GPUSTACK-IN; rm /usr/share/netfilter-persistent/plugins.d/50-gpustack",
        "iptables -F GPUSTACK-OUT; iptables -I FORWARD -j REJECT",
    ),
}
# What operators do with their firewall, saving included; ours is still there afterwards.
RELOADS = {
    "ufw": "ufw reload",
    "firewalld": "firewall-cmd --runtime-to-permanent && firewall-cmd --reload && systemctl restart firewalld",
    "nftables": "systemctl reload nftables && systemctl restart nftables",
    "iptables": "netfilter-persistent save && netfilter-persistent reload && systemctl restart netfilter-persistent",
}
SWITCHED_OFF = {
    "ufw": "ufw disable",
    "firewalld": "systemctl stop firewalld",
    "nftables": "systemctl stop nftables",
    "iptables": "netfilter-persistent flush",
}
SWITCHED_ON = {
    "ufw": "ufw --force enable",
    "firewalld": "systemctl start firewalld",
    "nftables": "systemctl start nftables",
    "iptables": "netfilter-persistent start",
}

STORES = "/etc/iptables /etc/nftables.conf /etc/ufw /etc/firewalld /etc/default/ufw"
# What the host has for rules, without counters. Firewalld makes its table anew at every change: its own words count.
RULES = r"""iptables -S; ! systemctl -q is-active nftables || nft -s list ruleset
cat /etc/iptables/rules.v4 /etc/nftables.conf /etc/default/ufw /etc/ufw/ufw.conf 2>/dev/null
for file in /etc/firewalld/zones/*.xml /etc/firewalld/policies/*.xml; do
  case $file in */gpustack-* | *\*.xml) ;; *) cat "$file" ;; esac
done
ufw show added 2>/dev/null; firewall-cmd --list-all-zones 2>/dev/null; :
"""
# Every file that a firewall reads at boot, with its time.
STORED_FILES = f"find {STORES} /usr/share/netfilter-persistent -type f -printf '%p %T@ %s\\n' 2>/dev/null | sort; :"
# All that names us or the pod network, in the kernel and in those files.
OWN_RULES = f"""nft list ruleset | grep -iE 'gpustack|10\\.244'; iptables-save 2>/dev/null | grep -E 'GPUSTACK|10\\.244'
grep -rsE 'gpustack|GPUSTACK|10\\.244' {STORES} /usr/share/netfilter-persistent /etc/systemd/system/nftables.service.d
ls -d /usr/local/lib/gpustack /etc/systemd/system/gpustack-* 2>/dev/null; :"""
RULES_BESIDE = r"""nft -f - <<'RULES'
table inet beside {
	chain input {
		type filter hook input priority 5; policy drop;
		ct state established,related accept
		iifname "lo" accept
		tcp dport 22 accept
	}
}
RULES
"""
# Of everybody but our tables for metrics and NodePorts.
BUT_OURS = "nft list ruleset | awk '/^table inet gpustack_/ {ours = 1} !ours; /^}/ {ours = 0}'"
# With the number that the kernel gave each rule: one that was taken out and put in again has another.
NUMBERED_RULES = r"nft -a list ruleset | sed -E 's/counter packets [0-9]+ bytes [0-9]+//'"


def run_as_root(running_lab: lab.Lab, host: str, script: str, limit: float = 600.0) -> str:
    # By its path: a hostile host has another `sh` before it.
    process = running_lab.exec(host, ["sudo", "/bin/sh"], text=script, limit=limit)
    assert process.returncode == 0, f"{host}: {process.stderr}\n{process.stdout}"
    return process.stdout


def install_firewall(running_lab: lab.Lab, *names: str) -> None:
    """Install the firewall of each host."""
    with follow_connections(running_lab), ThreadPoolExecutor() as pool:
        list(pool.map(lambda host, name: run_as_root(running_lab, host.name, MANAGERS[name]), running_lab.hosts, names))


@contextmanager
def follow_connections(running_lab: lab.Lab) -> Iterator[None]:
    """Make the kernel track connections from their beginning. Without a rule that asks for it, the SSH session that
    turns the firewall on would be a new connection to it, and be denied."""
    run_everywhere(running_lab, "iptables -A INPUT -m conntrack --ctstate ESTABLISHED")
    yield
    run_everywhere(running_lab, "iptables -D INPUT -m conntrack --ctstate ESTABLISHED 2>/dev/null || :")


def run_everywhere(running_lab: lab.Lab, script: str) -> dict[str, list[str]]:
    """Run a script on all hosts at once, and return its lines by host."""
    with ThreadPoolExecutor() as pool:
        results = pool.map(lambda host: (host.name, run_as_root(running_lab, host.name, script)), running_lab.hosts)
        return {name: [line.strip() for line in text.splitlines()] for name, text in results}


def find_lost(before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> list[str]:
    """Find lines that are not there any more, or not in their order."""
    lost_lines = []
    for host, lines in before.items():
        rest = iter(after[host])
        lost_lines += [f"{host}: {line}" for line in lines if line not in rest]
    return lost_lines


def list_rules(running_lab: lab.Lab) -> dict[str, list[str]]:
    """List all rules of each host. The pod network as a source of firewalld's zone `trusted` is ours."""
    own_flows = re.compile(r"10\.244\.0\.0/16$| \(active\)$")
    rules = run_everywhere(running_lab, RULES)
    return {host: [own_flows.sub("", line).strip() for line in lines] for host, lines in rules.items()}


def reboot(running_lab: lab.Lab) -> None:
    """Reboot hosts as an operator does, and wait until each host takes logins again."""
    before = run_everywhere(running_lab, "cat /proc/sys/kernel/random/boot_id")
    for host in running_lab.hosts:
        running_lab.exec(host.name, ["sudo", "systemctl", "reboot"])
    for host in running_lab.hosts:
        deadline = time.monotonic() + 200
        while (process := running_lab.exec(host.name, ["cat", "/proc/sys/kernel/random/boot_id"])).returncode or (
            [process.stdout.strip()] == before[host.name]
        ):
            assert time.monotonic() < deadline, f"{host.name} does not come back: {process.stderr}"
            time.sleep(0.3)
        running_lab.exec(host.name, ["sudo", "systemctl", "is-system-running", "--wait"], limit=90)
