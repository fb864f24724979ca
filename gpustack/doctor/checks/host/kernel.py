"""Faults of the layer `host` that the kernel tells: what its sysctls are now, and who will set them at boot."""

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.kernel.settings import MODULES, SYSCTL

FORWARD = "net.ipv4.ip_forward"
BRIDGE = ("net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables")


def set_by(here: View, key: str) -> str:
    """The file that has the last word at boot, as far as one names the key."""
    named = here[SYSCTL].at_boot[key]
    return f" ({named[-1].file} sets {named[-1].value})" if named else ""


@check("host-ip-forward-off", SYSCTL)
def ip_forward_off(here: View) -> Result:
    """The value that the kernel uses now, not that of a file."""
    value = here[SYSCTL].live[FORWARD]
    return Result(FORWARD, "1", f"{as_text(value)}{set_by(here, FORWARD) if value == '0' else ''}", ok=value != "0")


@check("bridge-nf-call-off", SYSCTL)
def bridge_nf_call_off(here: View) -> Result:
    """A missing key belongs to a module that is not loaded, which is another fault."""
    live = here[SYSCTL].live
    off = [f"{key} = 0{set_by(here, key)}" for key in BRIDGE if live[key] == "0"]
    return Result("iptables for bridged packets", "1", as_text(off) if off else as_text(live[BRIDGE[0]]), ok=not off)


@check("flannel-br-netfilter-missing", MODULES)
def br_netfilter_missing(here: View) -> Result:
    """By its effect: a kernel with it built in loads no module."""
    found = "br_netfilter" in here[MODULES].working
    return Result("br_netfilter", "working", "working" if found else "not working", ok=bool(found))


CHECKS = (ip_forward_off, bridge_nf_call_off, br_netfilter_missing)
