"""Connections of pods on a host: the programs that containerd calls, and whether forwarded packets are accepted."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.sections import index_sections, split_sections

# What is called: loopback by containerd, flannel and portmap by Flannel's file, the others by flannel.
PROGRAMS = ("loopback", "flannel", "bridge", "host-local", "portmap")
# Flannel's and kubernetes-cni's folder, Debian's (package containernetworking-plugins), and that of Red Hat.
FOLDERS = ("/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni")
Vxlan = Literal["working", "loadable", "missing"]
ACCEPT_RULE = re.compile(r"-A FLANNEL-FWD -s (\S+) .*-j ACCEPT")
POLICY = re.compile(r"-P FORWARD (ACCEPT|DROP)")


@dataclass(frozen=True)
class Forwarding:
    """Hold the policy of iptables' chain FORWARD, empty without iptables, and the networks from which Flannel's rules
    at its end accept."""

    policy: str
    accepted_networks: frozenset[str]


def parse_cni_programs(answer: Answer) -> Mapping[str, frozenset[str]]:
    """Parse by folder the programs that this machine can run. Raise ValueError where a name was not asked for."""
    programs = {folder: frozenset(lines) for folder, lines in index_sections(split_sections(answer.stdout)).items()}
    if tuple(programs) != FOLDERS or not frozenset().union(*programs.values()) <= set(PROGRAMS):
        raise ValueError(shorten_message(answer.stdout))
    return programs


def parse_forwarding(answer: Answer) -> Forwarding:
    """Parse lines of `iptables -S`; Flannel's chain counts only where FORWARD leads to it. Raise ValueError where a
    line has another shape."""
    parts = index_sections(split_sections(answer.stdout))
    lines = parts["forward"]
    policy = next((match[1] for line in lines if (match := POLICY.fullmatch(line))), "")
    if lines and not policy:
        raise ValueError(lines[0])
    is_joined = any(line.endswith("-j FLANNEL-FWD") for line in lines)
    matches = (ACCEPT_RULE.fullmatch(line) for line in parts["flannel"] if is_joined)
    return Forwarding(policy, frozenset(str(IPv4Network(rule_match[1])) for rule_match in matches if rule_match))


def parse_vxlan(answer: Answer) -> Vxlan:
    word = answer.stdout.strip()
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
host_machine=$machine
for folder in {" ".join(FOLDERS)}; do
  echo "== $folder"
  for name in {" ".join(PROGRAMS)}; do
    [ -x "$folder/$name" ] || continue
    machine "$folder/$name"
    [ "$machine" != "$host_machine" ] || echo "$name"
  done
done"""),
    parse_cni_programs,
    manual_command="file /opt/cni/bin/*",
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
    parse_forwarding,
    manual_command="iptables -S FORWARD",
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
    parse_vxlan,
    manual_command="lsmod | grep vxlan",
)
