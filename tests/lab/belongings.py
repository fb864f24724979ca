"""Everything on a host is listed as lines that can be compared, with what a person put on it before, and what a reset
may leave."""

import re
from collections.abc import Iterable

from gpustack_lab import lab
from tests.lab.firewalls import run_as_root

# Things that look like ours and are a person's.
PERSON = r"""set -eu
iptables -N PERSON; iptables -A FORWARD -j PERSON
iptables -A PERSON -s 192.0.2.9 -m comment --comment "not \"x\" -j KUBE-SERVICES" -j DROP
nft 'add table inet person; add chain inet person in { type filter hook input priority 5; }'
nft add rule inet person in ip saddr 192.0.2.8 drop
mkdir -p /etc/containerd/conf.d /etc/containerd/certs.d/registry.example /etc/cni/net.d /root/.kube /etc/kubernetes
printf 'version = 3\n' >/etc/containerd/conf.d/person.toml
printf 'server = "https://registry.example"\n' >/etc/containerd/certs.d/registry.example/hosts.toml
printf '{"cniVersion":"1.0.0","name":"person","plugins":[{"type":"loopback"}]}\n' >/etc/cni/net.d/99-person.conflist
echo 'net.ipv4.conf.all.log_martians = 1' >/etc/sysctl.d/99-person.conf
install -m 640 /dev/null /root/.kube/config; echo person >/root/.kube/config
echo audit >/etc/kubernetes/person.yaml
# Copies of the site's own playbooks, and a choice of its own.
for file in fstab crictl.yaml containerd/config.toml; do echo '# ours' >"/etc/$file.1234.2024-03-01@10:00:00~"; done
printf '/swapfile none swap sw 0 0\n' >'/etc/fstab.1234.2024-03-01@10:00:00~'
echo '# /swapfile none swap sw 0 0' >>/etc/fstab
echo 'UUID=3d1b3f0a-8f3f-4d57-9d3b-2c5f7a0c1e11 none swap sw 0 0' >>/etc/fstab
"""
OUTLINE = r"""cd /; export LC_ALL=C
find /etc /usr/local /opt /root/.kube /usr/libexec/kubernetes /usr/share/netfilter-persistent -type f \
  -printf 'file %p %m %u ' -exec sh -c 'sha256sum <"$1"' _ {} \; 2>/dev/null
find /etc /usr/local /opt /root/.kube -type d -printf 'folder %p %m\n' -o -type l -printf 'symlink %p %l\n' 2>/dev/null
find /var/lib /var/log -maxdepth 2 -printf '%y %p\n'
dpkg-query -Wf 'package ${Package} ${db:Status-Abbrev} ${Version}\n'
apt-mark showhold | sed 's/^/hold /'; apt-mark showmanual | sed 's/^/manual /'
systemctl list-unit-files --no-legend --plain | awk '{print "unit-file", $1, $2}'
systemctl list-units --no-legend --plain --state=active,activating,failed --type=service,socket,slice,timer,mount,swap |
  awk '{print "unit", $1, $3}'
for tool in iptables ip6tables; do $tool-save | sed -n "s/^\(-A .*\|:.* -\) \[.*/$tool \1/p; s/^-A/$tool -A/p"; done
nft -s list tables | sed 's/^/nft /'; nft -s list table inet person | sed 's/^/nft /'
ip -br link | awk '{print "link", $1}'; ip route | sed 's/^/route /'; ls /run/netns 2>/dev/null | sed 's/^/netns /'
findmnt -rno TARGET | sed 's/^/mount /'
sysctl -a 2>/dev/null | grep -E '^net\.(ipv4\.(ip_forward|conf)|bridge)' | sed 's/^/sysctl /'
ps -e -o comm= | grep -E '^(kube|etcd|flanneld|coredns|pause|containerd-shim)' | sed 's/^/process /'
:
"""
# The documented list (docs/reset.md): lines that may differ, and why.
ALWAYS_ALLOWED = {
    r"(folder|file) /etc/cni(/net\.d)?( |$)": "never removed",
    r"sysctl net\.ipv4\.(ip_forward|conf\.\S+\.(route_localnet|forwarding)) ": "until the next boot",
    r"sysctl net\.bridge\.": "until the next boot",
    r"sysctl net\.ipv4\.conf\.\S+\.(accept_\w+|secure_redirects|send_redirects) ": "they follow forwarding",
    r"nft table ip6? (nat|mangle|filter)$": "empty tables of iptables",
    r"(mount /run/netns|unit run-netns\.mount)": "until the next boot",
    r"[df] /var/lib/(apt|dpkg|systemd|containerd|private|logrotate|ucf)(/|$)": "records; images",
    r"[df] /var/log(/|$)": "records",
    r"unit (systemd-\w+|apt-\S+|dpkg-\S+|logrotate|man-db|e2scrub\S+|fstrim)\.": "time passes",
    r"(unit|mount) \S*(user|session|credentials)": "logins come and go",
    r"(folder|file) /root/\.kube/cache": "kubectl's",
}
# While the packages stay.
PACKAGE_FILES = {
    r"(package|manual|hold) ": "packages",
    r"unit-file (containerd|kubelet|nftables|ipset\S*|conntrack\S*)\.service": "units of packages",
    r"unit containerd\.service": "runs as its package has it",
    r"folder /(opt/(cni|containerd)|usr/local)": "of packages",
    r"(file|symlink|folder) /etc/(alternatives|ld\.so|bash_completion|init\.d|rc\S*|ca-certificates)": "of packages",
    r"folder /etc/(containerd|iproute2|conntrackd|default|ssl|nftables|apparmor\S*)": "of packages",
    r"symlink /etc/systemd/system/multi-user\.target\.wants/containerd\.service": "runs as its package has it",
    r"file /opt/cni/bin/": "kubernetes-cni",
    r"[df] /var/lib/\S+": "of packages",
}


def list_outline(running_lab: lab.Lab, host: str) -> set[str]:
    return {line for line in run_as_root(running_lab, host, OUTLINE).splitlines() if line.strip()}


def list_packaged_files(running_lab: lab.Lab, host: str) -> set[str]:
    """List the files that packages own."""
    text = run_as_root(
        running_lab,
        host,
        "dpkg-query -Wf '${Package}\\n' | xargs dpkg -L | sort -u | grep -E '^/(etc|opt|usr/local|var)'",
    )
    return set(text.splitlines())


def find_differences(
    before: set[str],
    after: set[str],
    patterns: Iterable[str],
    packaged_files: set[str] = frozenset(),  # type: ignore[assignment]
) -> list[str]:
    """Find the lines that are new (`+`) or gone (`-`), without what may differ and what packages own."""
    may = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
    differences = [f"+ {line}" for line in sorted(after - before)] + [f"- {line}" for line in sorted(before - after)]
    return [line for line in differences if not may.match(line[2:]) and not {*line.split()[2:3]} & packaged_files]
