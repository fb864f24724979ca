"""What connects pods on a host: the programs that containerd calls, and whether what they forward is let through."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.sections import named, sections

# What is called: loopback by containerd, flannel and portmap by Flannel's file, the others by flannel.
PROGRAMS = ("loopback", "flannel", "bridge", "host-local", "portmap")
# Flannel's and kubernetes-cni's folder, Debian's (package containernetworking-plugins), and that of Red Hat.
FOLDERS = ("/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni")
Vxlan = Literal["working", "loadable", "missing"]
ACCEPTED = re.compile(r"-A FLANNEL-FWD -s (\S+) .*-j ACCEPT")
POLICY = re.compile(r"-P FORWARD (ACCEPT|DROP)")


@dataclass(frozen=True)
class Forwarding:
    """Of iptables: the policy of its chain FORWARD, and from which networks Flannel's rules at its end accept. The
    policy is empty without iptables."""

    policy: str
    accepted: frozenset[str]


def programs(answer: Answer) -> Mapping[str, frozenset[str]]:
    """By folder, those that can be run on this machine. Raises ValueError for a name that was not asked for."""
    found = {folder: frozenset(lines) for folder, lines in named(sections(answer.out)).items()}
    if tuple(found) != FOLDERS or not frozenset().union(*found.values()) <= set(PROGRAMS):
        raise ValueError(answer.out[:200])
    return found


def read_forwarding(answer: Answer) -> Forwarding:
    """Lines of `iptables -S`; Flannel's chain counts only where FORWARD leads to it. Raises ValueError for others."""
    parts = named(sections(answer.out))
    lines = parts["forward"]
    policy = next((found[1] for line in lines if (found := POLICY.fullmatch(line))), "")
    if lines and not policy:
        raise ValueError(lines[0])
    joined = any(line.endswith("-j FLANNEL-FWD") for line in lines)
    matches = (ACCEPTED.fullmatch(line) for line in parts["flannel"] if joined)
    return Forwarding(policy, frozenset(str(IPv4Network(one[1])) for one in matches if one))


def vxlan(answer: Answer) -> Vxlan:
    word = answer.out.strip()
    if word not in ("working", "loadable", "missing"):
        raise ValueError(word)
    return word  # type: ignore[return-value]


# An ELF file names its machine in bytes 18 and 19 (elf(5)); sh is of this machine.
CNI_PROGRAMS = Probe(
    "cni.programs",
    Lines(rf"""machine() {{
  # shellcheck disable=SC2046 # words
  set -- $(od -An -tx1 -N20 "$1" 2>/dev/null)
  machine=${{1-}}${{2-}}${{3-}}${{4-}}${{19-}}${{20-}}
}}
machine /bin/sh
own=$machine
for folder in {" ".join(FOLDERS)}; do
  echo "== $folder"
  for name in {" ".join(PROGRAMS)}; do
    [ -x "$folder/$name" ] || continue
    machine "$folder/$name"
    [ "$machine" != "$own" ] || echo "$name"
  done
done"""),
    programs,
    like="file /opt/cni/bin/*",
)
FORWARDING = Probe(
    "cni.forwarding",
    Lines("""echo '== forward'
if command -v iptables >/dev/null; then
  rules=$(iptables -w 2 -S FORWARD) || exit
  echo "$rules"
fi
echo '== flannel'
iptables -w 2 -S FLANNEL-FWD 2>/dev/null
:"""),
    read_forwarding,
    like="iptables -S FORWARD",
)
# The kernel knows vxlan as soon as it is loaded or built in (Documentation/networking/vxlan.rst); what could be loaded
# modprobe(8) finds without loading it. A kernel without its folder of modules can load none.
VXLAN = Probe(
    "cni.vxlan",
    Lines("""if [ -e /sys/module/vxlan ] || ip -o link show type vxlan 2>/dev/null | grep -q .; then
  echo working
elif modprobe -n -q vxlan; then
  echo loadable
else
  echo missing
fi"""),
    vxlan,
    like="lsmod | grep vxlan",
)
